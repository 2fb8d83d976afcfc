// PyTorch's way to the current device, streams and events.
#include "dtypes.h"
#include "registration.h"
#include "streams.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace accelplug_sim {
namespace {

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override {
    return kDevice;
  }
  c10::Device exchangeDevice(c10::Device device) const override {
    return c10::Device(kDevice, exchange_device(or_current(device.index())));
  }
  c10::Device getDevice() const override {
    return c10::Device(kDevice, current_device());
  }
  void setDevice(c10::Device device) const override {
    exchange_device(or_current(device.index()));
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    set_device_unchecked(device.index());
  }
  c10::DeviceIndex deviceCount() const noexcept override {
    return device_count();
  }
  c10::DeviceCapability getDeviceCapability(c10::Device) const override {
    c10::DeviceCapability capability;
    capability.capability_data.capability_bits &= ~dtypes::refused();
    return capability;
  }

  c10::Stream getStream(c10::Device device) const noexcept override {
    return current_stream(device.index());
  }
  c10::Stream getDefaultStream(c10::Device device) const override {
    return default_stream(device.index());
  }
  c10::Stream getNewStream(c10::Device device, int /*priority*/) const override {
    return new_stream(device.index());
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool /*high priority*/) const override {
    return new_stream(device.index());
  }
  c10::Stream exchangeStream(c10::Stream stream) const noexcept override {
    return exchange_stream(stream);
  }
  void* getStreamNativeHandle(const c10::Stream stream) const override {
    return reinterpret_cast<void*>(stream.id());
  }
  bool queryStream(const c10::Stream&) const override {
    return true;
  }
  void synchronizeStream(const c10::Stream&) const override {}
  void synchronizeDevice(const c10::DeviceIndex) const override {}

  void record(void** event, const c10::Stream&, const c10::DeviceIndex, const c10::EventFlag) const override {
    record_event(event);
  }
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override {
    return true;
  }
  void synchronizeEvent(void*) const override {}
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override {
    destroy_event(event);
  }
  double elapsedTime(void* from, void* to, const c10::DeviceIndex) const override {
    return elapsed_milliseconds(from, to);
  }
};

} // namespace

void register_guard() {
  c10::impl::registerDeviceGuard(kDevice, new Guard()); // never freed: used until the process has ended
}

} // namespace accelplug_sim
