// What launching an op and moving bytes cost on the device. Nothing by default.
#pragma once

#include <cstdint>

namespace accelplug_sim::costs {

// Microseconds that each op takes longer, and bytes a second between host and device (0: without limit).
void set(double launch_us, double transfer_bytes_per_second);

// Both wait, without sleeping: the times are shorter than a scheduler's.
void launch();
void transfer(int64_t bytes);

} // namespace accelplug_sim::costs
