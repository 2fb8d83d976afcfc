// Copies between host and device, counted by direction.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace accelplug_sim {

at::Tensor& copy_into(at::Tensor& to, const at::Tensor& from, bool non_blocking);

// Calls and bytes, of host to device, device to host, device to device.
std::vector<int64_t> read_transfers();
void reset_transfers();

} // namespace accelplug_sim
