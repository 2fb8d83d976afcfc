#include "faults.h"

#include "device.h"

#include <c10/util/Exception.h>

#include <unistd.h>

#include <array>

namespace accelplug_sim::faults {
namespace {
std::atomic<int64_t> lost_at{0}, out_of_memory_at{0};
std::atomic<int64_t> calls{0}, allocations{0};
auto& files = *new std::vector<std::string>(); // set once, before the device can be used
auto& is_lost = *new std::array<std::atomic<bool>, kMaxDevices>();
constexpr int32_t kDeviceLost = 1;

[[noreturn]] void lose(c10::DeviceIndex device, const std::string& why) {
  throw c10::AcceleratorError(
      {__func__, __FILE__, static_cast<uint32_t>(__LINE__)}, kDeviceLost,
      device_name(device) + " is lost: its profile says so " + why + "; nothing runs on it again in this process");
}

void look() {
  detail::any = lost_at || out_of_memory_at || !files.empty();
}
} // namespace

namespace detail {
std::atomic<bool> any{false};

void count_call(c10::DeviceIndex device) {
  const auto lost = lost_at.load();
  if (lost && ++calls >= lost) {
    lose(device, "from call " + std::to_string(lost) + " on");
  }
  if (files.empty()) {
    return;
  }
  const auto& file = files.at(device);
  if (is_lost[device] || !access(file.c_str(), F_OK)) {
    is_lost[device] = true;
    lose(device, "once " + file + " is there");
  }
}

bool count_allocation() {
  const auto fails = out_of_memory_at.load();
  return fails && ++allocations == fails;
}
} // namespace detail

void arm(int64_t lost_at_call, int64_t out_of_memory_at_allocation) {
  lost_at = lost_at_call;
  out_of_memory_at = out_of_memory_at_allocation;
  calls = 0;
  allocations = 0;
  look();
}

void lose_with(std::vector<std::string> of_each_device) {
  files = std::move(of_each_device);
  look();
}

} // namespace accelplug_sim::faults
