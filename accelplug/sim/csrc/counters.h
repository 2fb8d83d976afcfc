// One record for each op: what its schema says of it, what the profile says of it, and how often it ran on each device.
#pragma once

#include "device.h"

#include <ATen/core/function_schema.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace accelplug_sim {

// Called by itself, or part of a compiled graph.
enum Way { kEager, kCompiled, kWays };

// What there is to count of one op on one device, in one way.
struct Counts {
  std::atomic<uint64_t> calls{0}, bytes{0}, nanoseconds{0};
  std::atomic<uint64_t> next_notice{1}; // the number of calls at which ledger.h tells of it
};

struct Op {
  explicit Op(const c10::FunctionSchema& schema);

  c10::OperatorName operator_name;
  std::string name; // "aten::add.Tensor"

  Counts& counts(c10::DeviceIndex device, Way way) {
    return counts_[device * kWays + way];
  }

  // From the profile: whether the vendor runs it on the device, and whether it answers wrong (a fault).
  std::atomic<bool> native{false}, wrong{false};

  // Which of ledger.h's budgets it is under, one a bit.
  std::atomic<uint64_t> budgets{0};

  // From the schema.
  size_t arguments, returns;
  int generator = -1, device = -1; // the argument of that name
  bool takes_mixed_devices = false;
  std::vector<bool> writes; // for each argument
  bool writes_any = false;

 private:
  std::unique_ptr<Counts[]> counts_; // the number of devices is set before the first op is made
};

// Patterns as in a shell ("aten::mm*"), for ops that are there and ops that come. `except` takes out again.
void set_native(const std::vector<std::string>& patterns, const std::vector<std::string>& except);
void set_wrong(const std::vector<std::string>& patterns);

// Op records live until the process ends. `op_for` finds or makes one; it takes a lock, so callers keep the pointer.
Op* op_for(const c10::FunctionSchema& schema);
void for_each_op(const std::function<void(Op&)>& each);

// Measures each call's time, which costs some 30 ns a call.
void measure_time(bool on);
bool time_is_measured();

// Of what ran: names, and for each the device, whether compiled, whether native, calls, bytes, nanoseconds.
std::tuple<std::vector<std::string>, std::vector<int64_t>> read_counters();
void reset_counters();

} // namespace accelplug_sim
