#include "device.h"

#include <c10/util/Exception.h>

#include <atomic>

namespace accelplug_sim {
namespace {
std::atomic<c10::DeviceIndex> how_many{1};
thread_local c10::DeviceIndex current_index = 0;
} // namespace

c10::DeviceIndex device_count() noexcept {
  return how_many.load(std::memory_order_relaxed);
}

void set_device_count(int64_t wanted) {
  TORCH_CHECK_VALUE(
      wanted >= 1 && wanted <= kMaxDevices, "a simulator has 1 to ", kMaxDevices, " devices, not ", wanted);
  how_many = static_cast<c10::DeviceIndex>(wanted);
}

c10::DeviceIndex current_device() noexcept {
  return current_index;
}

c10::DeviceIndex exchange_device(c10::DeviceIndex index) {
  TORCH_CHECK(
      index >= 0 && index < device_count(),
      "invalid device ordinal ", static_cast<int>(index), " of ", c10::DeviceTypeName(kDevice, true),
      " (simulated): there are ", static_cast<int>(device_count()), ", counted from 0");
  const auto before = current_index;
  current_index = index;
  return before;
}

void set_device_unchecked(c10::DeviceIndex index) noexcept {
  if (index >= 0) {
    current_index = index;
  }
}

std::string device_name(c10::DeviceIndex index) {
  return c10::Device(kDevice, index).str() + " (simulated)";
}

} // namespace accelplug_sim
