#include "graphs.h"

#include "ledger.h"
#include "tracing.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <memory>
#include <mutex>

namespace accelplug_sim::graphs {
namespace {

struct Entry {
  Op* op;
  c10::DeviceIndex device;
  uint64_t calls, bytes;
  std::string site;
};
using Graph = std::vector<Entry>;

std::mutex& mutex = *new std::mutex();
auto& graphs = *new std::vector<std::unique_ptr<Graph>>();

Op* named(const std::string& full_name) {
  const auto point = full_name.find('.');
  const auto name = full_name.substr(0, point);
  const auto overload = point == std::string::npos ? "" : full_name.substr(point + 1);
  return op_for(c10::Dispatcher::singleton().findSchemaOrThrow(name.c_str(), overload.c_str()).schema());
}

c10::DeviceIndex checked(int64_t device) {
  TORCH_CHECK_INDEX(device >= 0 && device < device_count(), "there is no device ", device);
  return static_cast<c10::DeviceIndex>(device);
}

const Graph& graph(int64_t number) {
  std::lock_guard<std::mutex> lock(mutex);
  TORCH_CHECK_INDEX(number >= 0 && number < static_cast<int64_t>(graphs.size()), "there is no graph ", number);
  return *graphs[number];
}

} // namespace

int64_t add(
    const std::vector<std::string>& ops, const std::vector<int64_t>& numbers, const std::vector<std::string>& sites) {
  TORCH_CHECK_VALUE(
      numbers.size() == 3 * ops.size() && sites.size() == ops.size(), "each op has three numbers and a site");
  auto made = std::make_unique<Graph>();
  for (size_t i = 0; i < ops.size(); i++) {
    made->push_back(
        {named(ops[i]), checked(numbers[3 * i]), static_cast<uint64_t>(numbers[3 * i + 1]),
         static_cast<uint64_t>(numbers[3 * i + 2]), sites[i]});
  }
  std::lock_guard<std::mutex> lock(mutex);
  graphs.push_back(std::move(made));
  return static_cast<int64_t>(graphs.size()) - 1;
}

void count(int64_t number) {
  const auto& entries = graph(number);
  for (const auto& [op, device, calls, bytes, site] : entries) {
    if (!op->native.load(std::memory_order_relaxed)) {
      ledger::check(*op, device, site);
    }
  }
  for (const auto& [op, device, calls, bytes, site] : entries) {
    auto& counts = op->counts(device, kCompiled);
    if (op->native.load(std::memory_order_relaxed)) {
      counts.calls.fetch_add(calls, std::memory_order_relaxed);
      counts.bytes.fetch_add(bytes, std::memory_order_relaxed);
    } else {
      ledger::count_calls(*op, device, counts, calls, site);
      ledger::count_bytes(*op, device, counts, bytes, site);
    }
  }
}

void ran(int64_t number, int64_t began) {
  const auto& entries = graph(number);
  uint64_t calls = 0, bytes = 0;
  bool native = true;
  for (const auto& entry : entries) {
    calls += entry.calls;
    bytes += entry.bytes;
    native = native && entry.op->native.load(std::memory_order_relaxed);
  }
  tracing::end(
      began, "compiled graph " + std::to_string(number) + " (" + std::to_string(calls) + " ops)",
      native ? "graph" : "graph with fallbacks", entries.front().device, static_cast<int64_t>(bytes));
}

} // namespace accelplug_sim::graphs
