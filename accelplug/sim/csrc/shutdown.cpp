#include "shutdown.h"

#include "allocator.h"
#include "device.h"
#include "faults.h"
#include "ledger.h"
#include "ownership.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/ones.h>

#include <future>

namespace accelplug_sim {
namespace {

void one_more_pass(c10::DeviceIndex device) {
  auto leaf = at::ones({1}, at::TensorOptions().device(c10::Device(kDevice, device)));
  leaf.requires_grad_(true).mul(2).backward();
}

} // namespace

void settle_autograd() {
  // Nothing that a profile does to the device matters any more, and none of it may stop the passes.
  faults::arm(0, 0);
  faults::lose_with({});
  set_memory(0, 1);
  ownership::set({});
  ledger::end();
  auto passes = std::async(std::launch::async, [] { // a thread, whose exceptions get() passes on
    for (int device = 0; device < device_count(); device++) {
      one_more_pass(static_cast<c10::DeviceIndex>(device));
    }
  });
  passes.get();
}

} // namespace accelplug_sim
