#include "streams.h"

#include <c10/util/Exception.h>

#include <array>
#include <atomic>
#include <chrono>

namespace accelplug_sim {
namespace {

using Clock = std::chrono::steady_clock;
struct Event {
  Clock::time_point recorded;
};

std::atomic<int64_t> next_id{1};
thread_local std::array<c10::StreamId, kMaxDevices> current_ids{}; // 0 is the default stream

c10::Stream make(c10::DeviceIndex device, c10::StreamId id) noexcept {
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(kDevice, device), id);
}

} // namespace

c10::Stream default_stream(c10::DeviceIndex device) {
  return make(or_current(device), 0);
}

c10::Stream current_stream(c10::DeviceIndex device) noexcept {
  device = or_current(device);
  return make(device, current_ids[device]);
}

c10::Stream new_stream(c10::DeviceIndex device) {
  return make(or_current(device), next_id++);
}

c10::Stream exchange_stream(c10::Stream stream) noexcept {
  const auto device = stream.device_index();
  const auto before = current_ids[device];
  current_ids[device] = stream.id();
  return make(device, before);
}

void record_event(void** event) {
  if (!*event) {
    *event = new Event();
  }
  static_cast<Event*>(*event)->recorded = Clock::now();
}

void destroy_event(void* event) noexcept {
  delete static_cast<Event*>(event);
}

double elapsed_milliseconds(void* from, void* to) {
  TORCH_CHECK(from && to, "both events must be recorded before the time between them is asked for");
  const auto elapsed = static_cast<Event*>(to)->recorded - static_cast<Event*>(from)->recorded;
  return std::chrono::duration<double, std::milli>(elapsed).count();
}

} // namespace accelplug_sim
