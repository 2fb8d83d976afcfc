// The few ops that can't go through the fallback: they make memory, or change what a tensor is and not what is in it.
#include "alias.h"
#include "calls.h"
#include "dtypes.h"
#include "registration.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/view_native.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/DeviceGuard.h>
#include <c10/util/accumulate.h>

namespace accelplug_sim {
namespace {

using c10::SymInt;
using c10::SymIntArrayRef;
using OptionalTensor = std::optional<at::Tensor>;

// Memory

at::Tensor empty(
    c10::IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
    std::optional<c10::Device> device, std::optional<bool>, std::optional<at::MemoryFormat> format) {
  dtypes::check(c10::dtype_or_default(dtype));
  c10::DeviceGuard guard(device.value_or(c10::Device(kDevice)));
  return at::detail::empty_generic(
      size, allocator(), c10::DispatchKeySet(kDispatchKey), c10::dtype_or_default(dtype), format);
}

at::Tensor empty_strided(
    c10::IntArrayRef size, c10::IntArrayRef stride, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
    std::optional<c10::Device> device, std::optional<bool>) {
  dtypes::check(c10::dtype_or_default(dtype));
  c10::DeviceGuard guard(device.value_or(c10::Device(kDevice)));
  return at::detail::empty_strided_generic(
      size, stride, allocator(), c10::DispatchKeySet(kDispatchKey), c10::dtype_or_default(dtype));
}

// A tensor of zeros without memory, which autograd uses. Without a kernel of its own, sgn's backward crashes.
struct NoMemory final : c10::Allocator {
  explicit NoMemory(c10::Device device) : device(device) {}
  c10::DataPtr allocate(size_t) override {
    return {nullptr, nullptr, &c10::detail::deleteNothing, device};
  }
  void copy_data(void*, const void*, std::size_t) const override {}
  c10::Device device;
};

at::Tensor efficient_zeros(
    SymIntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
    std::optional<c10::Device> device, std::optional<bool>) {
  const auto index = or_current(device.value_or(c10::Device(kDevice)).index());
  NoMemory none(c10::Device(kDevice, index));
  const auto keys = c10::DispatchKeySet(kDispatchKey) | c10::DispatchKeySet(c10::DispatchKey::ZeroTensor);
  return at::detail::empty_generic(
      C10_AS_INTARRAYREF_SLOW(size), &none, keys, c10::dtype_or_default(dtype), std::nullopt);
}

const at::Tensor& resize_(const at::Tensor& self, SymIntArrayRef size, std::optional<at::MemoryFormat> format) {
  const auto wanted = C10_AS_INTARRAYREF_SLOW(size);
  auto* impl = self.unsafeGetTensorImpl();
  if (self.sizes() != wanted) {
    const auto elements = c10::multiply_integers(wanted);
    const auto bytes = elements ? (elements + impl->storage_offset()) * impl->itemsize() : 0;
    if (static_cast<size_t>(bytes) > impl->unsafe_storage().nbytes()) {
      resize_bytes(impl->unsafe_storage(), bytes);
    }
    impl->set_sizes_contiguous(wanted);
  }
  if (format) {
    impl->empty_tensor_restride(*format);
  }
  return self;
}

// Views: the device's storage, another shape

at::Tensor view(const at::Tensor& self, SymIntArrayRef size) {
  return at::native::view(self, C10_AS_INTARRAYREF_SLOW(size));
}

at::Tensor as_strided(
    const at::Tensor& self, SymIntArrayRef size, SymIntArrayRef stride, std::optional<SymInt> offset) {
  const auto from = offset ? std::optional<int64_t>(offset->expect_int()) : std::nullopt;
  return at::native::as_strided_tensorimpl(
      self, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride), from);
}

at::Tensor reshape_alias(const at::Tensor& self, SymIntArrayRef size, SymIntArrayRef stride) {
  return at::native::_reshape_alias(self, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride));
}

at::Tensor& set_to_tensor(at::Tensor& self, const at::Tensor& source) {
  return at::native::set_tensor_(self, source);
}

at::Tensor& set_to_storage(at::Tensor& self, at::Storage source) {
  return at::native::set_(self, source);
}

at::Tensor& set_to_storage_at(
    at::Tensor& self, at::Storage source, SymInt offset, SymIntArrayRef size, SymIntArrayRef stride) {
  const auto sizes = C10_AS_INTARRAYREF_SLOW(size);
  const auto strides = C10_AS_INTARRAYREF_SLOW(stride);
  auto* impl = self.unsafeGetTensorImpl();
  impl->set_storage_keep_dtype(std::move(source));
  if (strides.empty() && !sizes.empty()) {
    impl->set_storage_offset(offset.expect_int());
    impl->set_sizes_contiguous(sizes);
  } else {
    impl->set_sizes_and_strides(sizes, strides, offset.expect_int());
  }
  return self;
}

at::Tensor& set_to_nothing(at::Tensor& self) {
  auto* impl = self.unsafeGetTensorImpl();
  impl->set_storage_keep_dtype(device_storage(new_host_storage(0), self.device().index()));
  impl->set_storage_offset(0);
  impl->set_sizes_contiguous({0});
  return self;
}

void record_stream(at::Tensor&, c10::Stream) {} // streams run in order

// Convolutions: PyTorch sends those of out-of-tree devices to ops that have no CPU kernel

Op& op_named(const char* name) {
  return *op_for(c10::Dispatcher::singleton().findSchemaOrThrow(name, "").schema());
}

std::vector<at::Tensor> finish(Op& op, Call& call, Loan& loan, const std::vector<at::Tensor>& results) {
  std::vector<at::Tensor> adopted;
  for (const auto& result : results) {
    if (op.wrong) {
      spoil(result);
    }
    adopted.push_back(loan.adopt(result));
  }
  call.finish(loan.bytes());
  return adopted;
}

at::Tensor convolution(
    const at::Tensor& input, const at::Tensor& weight, const OptionalTensor& bias, SymIntArrayRef stride,
    SymIntArrayRef padding, SymIntArrayRef dilation, bool transposed, SymIntArrayRef output_padding, SymInt groups) {
  static auto& op = op_named("aten::convolution_overrideable");
  Loan loan;
  const auto x = loan.lend(input), w = loan.lend(weight);
  const auto b = bias && bias->defined() ? OptionalTensor(loan.lend(*bias)) : std::nullopt;
  Call call(op, or_current(loan.device()));
  const auto result =
      at::convolution_symint(x, w, b, stride, padding, dilation, transposed, output_padding, groups);
  return finish(op, call, loan, {result})[0];
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> convolution_backward(
    const at::Tensor& grad_output, const at::Tensor& input, const at::Tensor& weight, SymIntArrayRef stride,
    SymIntArrayRef padding, SymIntArrayRef dilation, bool transposed, SymIntArrayRef output_padding, SymInt groups,
    std::array<bool, 3> wanted) {
  static auto& op = op_named("aten::convolution_backward_overrideable");
  Loan loan;
  const auto g = loan.lend(grad_output), x = loan.lend(input), w = loan.lend(weight);
  Call call(op, or_current(loan.device()));
  const std::vector<SymInt> bias_size{transposed ? weight.sym_size(1) * groups : weight.sym_size(0)};
  const auto [to_input, to_weight, to_bias] = at::convolution_backward_symint(
      g, x, w, bias_size, stride, padding, dilation, transposed, output_padding, groups, wanted);
  const auto grads = finish(op, call, loan, {to_input, to_weight, to_bias});
  return {grads[0], grads[1], grads[2]};
}

} // namespace

void register_handwritten(torch::Library& aten) {
  aten.impl("empty.memory_format", empty);
  aten.impl("empty_strided", empty_strided);
  aten.impl("_efficientzerotensor", efficient_zeros);
  aten.impl("resize_", resize_);
  aten.impl("view", view);
  aten.impl("as_strided", as_strided);
  aten.impl("_reshape_alias", reshape_alias);
  aten.impl("set_.source_Tensor", set_to_tensor);
  aten.impl("set_.source_Storage", set_to_storage);
  aten.impl("set_.source_Storage_storage_offset", set_to_storage_at);
  aten.impl("set_", set_to_nothing);
  aten.impl("record_stream", record_stream);
  aten.impl("convolution_overrideable", convolution);
  aten.impl("convolution_backward_overrideable", convolution_backward);
}

} // namespace accelplug_sim
