#include "counters.h"

#include "ledger.h"

#include <fnmatch.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace accelplug_sim {
namespace {

std::mutex& mutex = *new std::mutex();
auto& ops = *new std::vector<std::unique_ptr<Op>>();
auto& by_name = *new std::unordered_map<std::string, Op*>();
auto& native_patterns = *new std::vector<std::string>();
auto& native_exceptions = *new std::vector<std::string>();
auto& wrong_patterns = *new std::vector<std::string>();
std::atomic<bool> timed{false};

bool matches(const std::string& name, const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  });
}

bool is_native(const std::string& name) {
  return matches(name, native_patterns) && !matches(name, native_exceptions);
}

// Ops of other libraries decide for themselves, in their CPU kernels; in aten these take indices or sources of the CPU.
bool may_mix_devices(const std::string& name) {
  if (name.rfind("aten::", 0) != 0) {
    return true;
  }
  for (const char* start :
       {"aten::copy_", "aten::_copy_from", "aten::set_", "aten::index", "aten::_index_put", "aten::_pin"}) {
    if (name.rfind(start, 0) == 0) {
      return true;
    }
  }
  return false;
}

} // namespace

Op::Op(const c10::FunctionSchema& schema)
    : operator_name(schema.operator_name()),
      name(c10::toString(operator_name)),
      arguments(schema.arguments().size()),
      returns(schema.returns().size()),
      takes_mixed_devices(may_mix_devices(name)),
      counts_(std::make_unique<Counts[]>(device_count() * kWays)) {
  for (size_t i = 0; i < arguments; i++) {
    const auto& argument = schema.arguments()[i];
    writes.push_back(argument.alias_info() && argument.alias_info()->isWrite());
    writes_any |= writes.back();
    if (argument.name() == "generator") {
      generator = static_cast<int>(i);
    } else if (argument.name() == "device") {
      device = static_cast<int>(i);
    }
  }
}

void set_native(const std::vector<std::string>& patterns, const std::vector<std::string>& except) {
  std::lock_guard<std::mutex> lock(mutex);
  native_patterns = patterns;
  native_exceptions = except;
  for (auto& op : ops) {
    op->native = is_native(op->name);
  }
}

void set_wrong(const std::vector<std::string>& patterns) {
  std::lock_guard<std::mutex> lock(mutex);
  wrong_patterns = patterns;
  for (auto& op : ops) {
    op->wrong = matches(op->name, patterns);
  }
}

Op* op_for(const c10::FunctionSchema& schema) {
  auto fresh = std::make_unique<Op>(schema);
  std::lock_guard<std::mutex> lock(mutex);
  auto& known = by_name[fresh->name];
  if (!known) {
    fresh->native = is_native(fresh->name);
    fresh->wrong = matches(fresh->name, wrong_patterns);
    fresh->budgets = ledger::budgets_for(fresh->name);
    known = fresh.get();
    ops.push_back(std::move(fresh));
  }
  return known;
}

void for_each_op(const std::function<void(Op&)>& each) {
  std::lock_guard<std::mutex> lock(mutex);
  for (auto& op : ops) {
    each(*op);
  }
}

void measure_time(bool on) {
  timed = on;
}

bool time_is_measured() {
  return timed.load(std::memory_order_relaxed);
}

std::tuple<std::vector<std::string>, std::vector<int64_t>> read_counters() {
  std::vector<std::string> names;
  std::vector<int64_t> values;
  for_each_op([&](Op& op) {
    for (c10::DeviceIndex device = 0; device < device_count(); device++) {
      for (const Way way : {kEager, kCompiled}) {
        const auto& counts = op.counts(device, way);
        if (!counts.calls) {
          continue;
        }
        names.push_back(op.name);
        for (const uint64_t value :
             {uint64_t(device), uint64_t{way == kCompiled}, uint64_t{op.native}, counts.calls.load(),
              counts.bytes.load(), counts.nanoseconds.load()}) {
          values.push_back(static_cast<int64_t>(value));
        }
      }
    }
  });
  return {names, values};
}

void reset_counters() {
  for_each_op([](Op& op) {
    for (c10::DeviceIndex device = 0; device < device_count(); device++) {
      for (const Way way : {kEager, kCompiled}) {
        auto& counts = op.counts(device, way);
        counts.calls = 0;
        counts.bytes = 0;
        counts.nanoseconds = 0;
        counts.next_notice = 1;
      }
    }
  });
}

} // namespace accelplug_sim
