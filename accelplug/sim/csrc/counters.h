// One record for each op: what its schema says of it, what the profile says of it, and how often it ran on the device.
#pragma once

#include <ATen/core/function_schema.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace accelplug_sim {

struct Op {
  explicit Op(const c10::FunctionSchema& schema);

  c10::OperatorName operator_name;
  std::string name; // "aten::add.Tensor"
  std::atomic<uint64_t> calls{0}, bytes{0}, nanoseconds{0};

  // From the profile: whether the vendor runs it on the device, and whether it answers wrong (a fault).
  std::atomic<bool> native{false}, wrong{false};

  // From the schema.
  size_t arguments, returns;
  int generator = -1, device = -1; // the argument of that name
  bool takes_mixed_devices = false;
  std::vector<bool> writes; // for each argument
  bool writes_any = false;
};

// Patterns as in a shell ("aten::mm*"), for ops that are there and ops that come. `except` takes out again.
void set_native(const std::vector<std::string>& patterns, const std::vector<std::string>& except);
void set_wrong(const std::vector<std::string>& patterns);

// Op records live until the process ends. `op_for` finds or makes one; it takes a lock, so callers keep the pointer.
Op* op_for(const c10::FunctionSchema& schema);

// Refuses, from now on, what the vendor doesn't run on the device.
void forbid_fallback(bool forbidden);
bool fallback_is_forbidden();
// Measures each call's time, which costs some 30 ns a call.
void measure_time(bool on);
bool time_is_measured();

// Of the ops that ran: names, and for each whether it is native, calls, bytes, nanoseconds.
std::tuple<std::vector<std::string>, std::vector<int64_t>> read_counters();
void reset_counters();

} // namespace accelplug_sim
