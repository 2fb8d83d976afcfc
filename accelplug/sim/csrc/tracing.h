// What runs on the device, for torch.profiler: while it records, each call becomes an activity of the device's.
#pragma once

#include "device.h"

#include <atomic>
#include <cstdint>
#include <string>

namespace accelplug_sim::tracing {

namespace detail {
extern std::atomic<bool> recording;
int64_t now();
} // namespace detail

// The time at which something begins, in nanoseconds since 1970; 0 while nobody records.
inline int64_t begin() {
  return C10_UNLIKELY(detail::recording.load(std::memory_order_relaxed)) ? detail::now() : 0;
}

// What began at `began` has ended now. `kind` is what a viewer colours: "native", "fallback", "kernel", "graph",
// "graph with fallbacks" or "transfer". Does nothing where `began` is 0.
void end(int64_t began, const std::string& name, const char* kind, c10::DeviceIndex device, int64_t bytes);

// Makes the simulator one of PyTorch's profilers. Nothing where the installed torch (before 2.12) has no place for it.
void register_profiler();

} // namespace accelplug_sim::tracing
