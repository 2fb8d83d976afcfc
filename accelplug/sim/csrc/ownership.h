// Exclusive devices: one process at a time may use each, as with cards that are opened through VFIO.
#pragma once

#include <c10/core/Device.h>

#include <atomic>
#include <string>
#include <vector>

namespace accelplug_sim::ownership {

// The lock file of each device. Without any, every process may use them all.
void set(std::vector<std::string> lock_files);

namespace detail {
extern std::atomic<bool> any;
void open(c10::DeviceIndex device);
} // namespace detail

// Called for each allocation. The first one on a device makes it this process's, until the process ends; throws where
// another process has it.
inline void on_allocation(c10::DeviceIndex device) {
  if (detail::any.load(std::memory_order_relaxed)) {
    detail::open(device);
  }
}

} // namespace accelplug_sim::ownership
