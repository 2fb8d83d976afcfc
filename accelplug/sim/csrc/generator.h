// Random numbers: each device has a generator that delegates to a CPU generator of its own, so that with the same seed
// the device draws the CPU's numbers.
#pragma once

#include "device.h"

#include <ATen/core/Generator.h>

namespace accelplug_sim {

const at::Generator& default_generator(c10::DeviceIndex device);
at::Generator new_generator(c10::DeviceIndex device);
// The CPU generator behind one of this device's; any other generator as it is.
at::Generator host_generator(const at::Generator& generator);

} // namespace accelplug_sim
