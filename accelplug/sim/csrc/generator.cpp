#include "generator.h"

#include <ATen/CPUGeneratorImpl.h>

#include <vector>

namespace accelplug_sim {
namespace {

struct DeviceGenerator final : c10::GeneratorImpl {
  explicit DeviceGenerator(c10::DeviceIndex device, at::Generator host = at::detail::createCPUGenerator())
      : GeneratorImpl(c10::Device(kDevice, device), c10::DispatchKeySet(kDispatchKey)), host(std::move(host)) {}

  void set_current_seed(uint64_t seed) override {
    host.set_current_seed(seed);
  }
  uint64_t current_seed() const override {
    return host.current_seed();
  }
  uint64_t seed() override {
    return host.seed();
  }
  void set_offset(uint64_t) override {
    TORCH_CHECK_NOT_IMPLEMENTED(false, "the simulated device's generator has no offset: it draws the CPU's sequence");
  }
  uint64_t get_offset() const override {
    TORCH_CHECK_NOT_IMPLEMENTED(false, "the simulated device's generator has no offset: it draws the CPU's sequence");
  }
  void set_state(const c10::TensorImpl& state) override {
    host.unsafeGetGeneratorImpl()->set_state(state);
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    return host.unsafeGetGeneratorImpl()->get_state();
  }
  DeviceGenerator* clone_impl() const override {
    return new DeviceGenerator(device_.index(), host.clone());
  }
  static c10::DeviceType device_type() {
    return kDevice;
  }

  at::Generator host;
};

std::vector<at::Generator> one_for_each_device() {
  std::vector<at::Generator> all;
  for (int device = 0; device < kMaxDevices; device++) {
    all.push_back(new_generator(static_cast<c10::DeviceIndex>(device)));
  }
  return all;
}

} // namespace

const at::Generator& default_generator(c10::DeviceIndex device) {
  static auto& all = *new std::vector<at::Generator>(one_for_each_device());
  return all[or_current(device)];
}

at::Generator new_generator(c10::DeviceIndex device) {
  return at::make_generator<DeviceGenerator>(or_current(device));
}

at::Generator host_generator(const at::Generator& generator) {
  if (!generator.defined() || generator.device().type() != kDevice) {
    return generator;
  }
  return static_cast<DeviceGenerator*>(generator.unsafeGetGeneratorImpl())->host;
}

} // namespace accelplug_sim
