// Faults that a profile asks for, so that what handles them can be tested.
#pragma once

#include <c10/core/Device.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace accelplug_sim::faults {

// Numbers count from 1, from now on; 0 is never.
void arm(int64_t lost_at_call, int64_t out_of_memory_at_allocation);

// One file for each device, which is lost for good once its file is there; no files: none ever is.
void lose_with(std::vector<std::string> files);

namespace detail {
extern std::atomic<bool> any;
void count_call(c10::DeviceIndex device);
bool count_allocation();
} // namespace detail

inline bool armed() {
  return detail::any.load(std::memory_order_relaxed);
}

// Called for each op and copy. Throws AcceleratorError from the call on at which the device is lost.
inline void on_call(c10::DeviceIndex device) {
  if (armed()) {
    detail::count_call(device);
  }
}

// Called for each allocation: whether this is the one that fails.
inline bool memory_runs_out() {
  return armed() && detail::count_allocation();
}

} // namespace accelplug_sim::faults
