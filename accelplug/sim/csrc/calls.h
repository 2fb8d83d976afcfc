// What is the same for each call of an op, however it is then run.
#pragma once

#include "counters.h"

#include <ATen/core/Tensor.h>

#include <chrono>

namespace accelplug_sim {

// One call of an op on a device, once that is known: counts it, and makes it cost what a launch costs. Throws where the
// device is lost, or where the profile's vendor doesn't run this op and that is forbidden or beyond a budget.
class Call {
 public:
  Call(Op& op, c10::DeviceIndex device);

  // Counts what the call has moved. Throws where a budget of bytes doesn't allow it.
  void finish(int64_t bytes);

 private:
  using Clock = std::chrono::steady_clock;

  Op& op_;
  c10::DeviceIndex device_;
  Counts& counts_;
  bool native_, timed_;
  Clock::time_point started_;
  int64_t traced_; // when it began, 0 where nobody records
};

// The fault "wrong answer": puts the first element of a floating-point result off by one.
void spoil(const at::Tensor& result);

} // namespace accelplug_sim
