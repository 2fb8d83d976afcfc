// Which attention kernel scaled_dot_product_attention takes: the CPU's choice. Without this it silently takes the
// composed one: ten ops instead of one, and other roundings than the CPU's.
#include "registration.h"

#include <ATen/native/DispatchStub.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/ops/_fused_sdp_choice_native.h>

namespace {

int64_t as_on_the_cpu(
    const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const std::optional<at::Tensor>& mask,
    double dropout, bool causal, std::optional<double> scale, bool grouped_queries) {
  return at::native::_fused_sdp_choice_cpp(query, key, value, mask, dropout, causal, scale, grouped_queries);
}

} // namespace

namespace at::native {
// Only stores a pointer, so a static initialiser is harmless here.
REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &as_on_the_cpu)
} // namespace at::native

namespace accelplug_sim {

void register_attention_choice(torch::Library& aten) {
  aten.impl("_fused_sdp_choice", as_on_the_cpu);
}

} // namespace accelplug_sim
