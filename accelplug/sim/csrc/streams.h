// Streams and events. Work runs at once, in order: a stream is a number, an event a point in time.
#pragma once

#include "device.h"

#include <c10/core/Stream.h>

namespace accelplug_sim {

c10::Stream default_stream(c10::DeviceIndex device);
c10::Stream current_stream(c10::DeviceIndex device) noexcept;
c10::Stream new_stream(c10::DeviceIndex device);
// Makes `stream` the thread's current one on its device; returns the one before.
c10::Stream exchange_stream(c10::Stream stream) noexcept;

void record_event(void** event);
void destroy_event(void* event) noexcept;
double elapsed_milliseconds(void* from, void* to);

} // namespace accelplug_sim
