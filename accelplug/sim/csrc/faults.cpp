#include "faults.h"

#include "device.h"

#include <c10/util/Exception.h>

namespace accelplug_sim::faults {
namespace {
std::atomic<int64_t> lost_at{0}, out_of_memory_at{0};
std::atomic<int64_t> calls{0}, allocations{0};
constexpr int32_t kDeviceLost = 1;
} // namespace

namespace detail {
std::atomic<bool> any{false};

void count_call() {
  const auto lost = lost_at.load();
  if (lost && ++calls >= lost) {
    throw c10::AcceleratorError(
        {__func__, __FILE__, static_cast<uint32_t>(__LINE__)}, kDeviceLost,
        device_name(current_device()) + " is lost: its profile says so from call " + std::to_string(lost) +
            " on; nothing runs on it again in this process");
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
  detail::any = lost_at_call || out_of_memory_at_allocation;
}

} // namespace accelplug_sim::faults
