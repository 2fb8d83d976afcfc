#include "calls.h"

#include "costs.h"
#include "device.h"
#include "faults.h"

namespace accelplug_sim {

void begin_call(Op& op) {
  faults::on_call();
  TORCH_CHECK_NOT_IMPLEMENTED(
      op.native.load(std::memory_order_relaxed) || !fallback_is_forbidden(),
      op.name, " is not among the ops that ", c10::DeviceTypeName(kDevice, true),
      " (simulated) runs on the device, and falling back to the CPU is forbidden");
  op.calls.fetch_add(1, std::memory_order_relaxed);
  costs::launch();
}

void spoil(const at::Tensor& result) {
  if (result.defined() && result.numel() > 0 && result.is_floating_point()) {
    auto first = result.as_strided({}, {});
    first.add_(1);
  }
}

} // namespace accelplug_sim
