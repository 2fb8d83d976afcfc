#include "counters.h"

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
std::atomic<bool> forbidden{false}, timed{false};

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
      takes_mixed_devices(may_mix_devices(name)) {
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
    known = fresh.get();
    ops.push_back(std::move(fresh));
  }
  return known;
}

void forbid_fallback(bool on) {
  forbidden = on;
}

bool fallback_is_forbidden() {
  return forbidden.load(std::memory_order_relaxed);
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
  std::lock_guard<std::mutex> lock(mutex);
  for (const auto& op : ops) {
    if (!op->calls) {
      continue;
    }
    names.push_back(op->name);
    for (const uint64_t value : {uint64_t{op->native}, op->calls.load(), op->bytes.load(), op->nanoseconds.load()}) {
      values.push_back(static_cast<int64_t>(value));
    }
  }
  return {names, values};
}

void reset_counters() {
  std::lock_guard<std::mutex> lock(mutex);
  for (auto& op : ops) {
    op->calls = 0;
    op->bytes = 0;
    op->nanoseconds = 0;
  }
}

} // namespace accelplug_sim
