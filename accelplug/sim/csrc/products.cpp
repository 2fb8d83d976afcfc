#include "products.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/mm_cpu_dispatch.h>

namespace accelplug_sim::products {
namespace {

using Linear = at::Tensor(
    const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&, c10::string_view,
    c10::List<std::optional<at::Scalar>>, std::optional<c10::string_view>);

// oneDNN's x @ w.T, which PyTorch's compiler uses; a build of PyTorch without oneDNN hasn't it.
const c10::TypedOperatorHandle<Linear>* linear() {
  static const auto found = [] {
    const auto handle = c10::Dispatcher::singleton().findSchema({"mkldnn::_linear_pointwise", ""});
    return handle && handle->hasKernelForDispatchKey(c10::DispatchKey::CPU)
        ? std::optional(handle->typed<Linear>())
        : std::nullopt;
  }();
  return found ? &*found : nullptr;
}

// Below that many elements a weight is in the cache, and either way is quick.
constexpr int64_t kSmallest = 1 << 16;

// The activations and the weight of a linear layer, as F.linear hands them to mm.
bool is_linear(const at::Tensor& self, const at::Tensor& mat2) {
  return self.dim() == 2 && mat2.dim() == 2 && self.scalar_type() == at::kFloat && mat2.scalar_type() == at::kFloat &&
      self.size(0) > 1 && self.size(1) == mat2.size(0) && mat2.numel() >= kSmallest && self.is_contiguous() &&
      mat2.stride(0) == 1 && mat2.stride(1) == mat2.size(0) && !self.is_neg() && !mat2.is_neg();
}

} // namespace

at::Tensor mm(const at::Tensor& self, const at::Tensor& mat2) {
  const auto* fast = linear();
  if (fast == nullptr || !is_linear(self, mat2)) {
    return at::cpu::mm(self, mat2);
  }
  return fast->redispatch(
      c10::DispatchKeySet(c10::DispatchKey::CPU), self, mat2.t(), std::nullopt, "none",
      c10::List<std::optional<at::Scalar>>(), std::nullopt);
}

} // namespace accelplug_sim::products
