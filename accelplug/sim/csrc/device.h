// What every part of the simulator shares: how many devices there are, and which one this thread is on.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/DispatchKey.h>

#include <cstdint>
#include <string>

namespace accelplug_sim {

constexpr c10::DeviceType kDevice = c10::DeviceType::PrivateUse1;
constexpr c10::DispatchKey kDispatchKey = c10::DispatchKey::PrivateUse1;
constexpr int kMaxDevices = 64;

c10::DeviceIndex device_count() noexcept;
void set_device_count(int64_t count);

c10::DeviceIndex current_device() noexcept;
// Makes `index` the thread's device and returns the one before. Throws for a device that is not there.
c10::DeviceIndex exchange_device(c10::DeviceIndex index);
void set_device_unchecked(c10::DeviceIndex index) noexcept;

// `index`, or the thread's device where it is -1 ("neuron" without a number).
inline c10::DeviceIndex or_current(c10::DeviceIndex index) noexcept {
  return index < 0 ? current_device() : index;
}

// "neuron:0 (simulated)", for messages.
std::string device_name(c10::DeviceIndex index);

} // namespace accelplug_sim
