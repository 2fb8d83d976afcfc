// What is the same for each call of an op, however it is then run.
#pragma once

#include "counters.h"

#include <ATen/core/Tensor.h>

namespace accelplug_sim {

// Counts the call and makes it cost what a launch costs. Throws where the device is lost, or where the profile's vendor
// doesn't run this op and falling back is forbidden.
void begin_call(Op& op);

// The fault "wrong answer": puts the first element of a floating-point result off by one.
void spoil(const at::Tensor& result);

} // namespace accelplug_sim
