// torch.autocast: boxed, with CUDA's lists of ops, as the vendors' own are. One functor for each list is smaller and
// compiles faster than PyTorch's macros, which want a wrapper for each op.
#include "device.h"
#include "registration.h"

#include <ATen/autocast_mode.h>

namespace accelplug_sim {
namespace {

constexpr auto kAutocast = c10::DispatchKey::AutocastPrivateUse1;

// Casts the floating-point tensors of the device, then runs the op below autocast.
struct Cast final : c10::OperatorKernel {
  explicit Cast(bool to_float32) : to_float32(to_float32) {}

  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet, torch::jit::Stack* stack) {
    c10::impl::ExcludeDispatchKeyGuard below{c10::DispatchKeySet(kAutocast)};
    const auto dtype = to_float32 ? at::kFloat : at::autocast::get_autocast_dtype(kDevice);
    auto cast = [&](const at::Tensor& tensor) {
      const bool ours = tensor.defined() && tensor.device().type() == kDevice;
      return ours ? at::autocast::cached_cast(dtype, tensor, kDevice) : tensor;
    };
    for (size_t i = stack->size() - handle.schema().arguments().size(); i < stack->size(); i++) {
      c10::IValue& value = (*stack)[i];
      if (value.isTensor()) {
        value = cast(value.toTensor());
      } else if (value.isTensorList()) {
        c10::List<at::Tensor> tensors;
        for (const at::Tensor& tensor : value.toTensorVector()) {
          tensors.push_back(cast(tensor));
        }
        value = std::move(tensors);
      }
    }
    handle.callBoxed(stack);
  }

  bool to_float32;
};

constexpr const char* kLowerPrecision[] = {
    "_convolution", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d.input",
    "conv_transpose3d.input", "convolution", "prelu", "addmm", "addmv", "addr", "matmul", "einsum", "mm", "mv",
    "linear", "addbmm", "baddbmm", "bmm", "chain_matmul", "linalg_multi_dot", "linalg_vecdot",
    "scaled_dot_product_attention"};

constexpr const char* kFloat32[] = {
    "acos", "asin", "cosh", "erfinv", "exp", "expm1", "log", "log10", "log2", "log1p", "reciprocal", "rsqrt", "sinh",
    "tan", "pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow.Scalar", "softplus", "layer_norm", "group_norm",
    "norm.Scalar", "nuclear_norm", "cosine_similarity", "poisson_nll_loss", "cosine_embedding_loss", "nll_loss",
    "nll_loss2d", "hinge_embedding_loss", "kl_div", "l1_loss", "smooth_l1_loss", "huber_loss", "mse_loss",
    "margin_ranking_loss", "multilabel_margin_loss", "soft_margin_loss", "triplet_margin_loss", "multi_margin_loss",
    "binary_cross_entropy_with_logits", "dist", "pdist", "cdist", "renorm", "logsumexp", "softmax.int",
    "log_softmax.int", "cumprod", "cumsum", "prod", "sum"};

} // namespace

void register_autocast() {
  auto& others = *new torch::Library(torch::Library::IMPL, "_", kAutocast, __FILE__, __LINE__);
  others.fallback(torch::CppFunction::makeFallthrough());
  auto& aten = *new torch::Library(torch::Library::IMPL, "aten", kAutocast, __FILE__, __LINE__);
  for (const auto* name : kLowerPrecision) {
    aten.impl(name, torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Cast>(false)));
  }
  for (const auto* name : kFloat32) {
    aten.impl(name, torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Cast>(true)));
  }
}

} // namespace accelplug_sim
