#include "costs.h"

#include <atomic>
#include <chrono>

namespace accelplug_sim::costs {
namespace {

using Clock = std::chrono::steady_clock;
std::atomic<double> launch_seconds{0}, seconds_per_byte{0};

void wait(double seconds) {
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  while (Clock::now() < until) {
  }
}

} // namespace

void set(double launch_us, double transfer_bytes_per_second) {
  launch_seconds = launch_us * 1e-6;
  seconds_per_byte = transfer_bytes_per_second > 0 ? 1 / transfer_bytes_per_second : 0;
}

void launch() {
  if (const auto seconds = launch_seconds.load(std::memory_order_relaxed); seconds > 0) {
    wait(seconds);
  }
}

void transfer(int64_t bytes) {
  if (const auto each = seconds_per_byte.load(std::memory_order_relaxed); each > 0) {
    wait(each * static_cast<double>(bytes));
  }
}

} // namespace accelplug_sim::costs
