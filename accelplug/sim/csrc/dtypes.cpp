#include "dtypes.h"

#include "device.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ops/copy_ops.h>

#include <algorithm>
#include <atomic>

namespace accelplug_sim::dtypes {
namespace {

constexpr int kCount = static_cast<int>(c10::ScalarType::NumOptions);
std::vector<std::string>& supported_names = *new std::vector<std::string>();
std::atomic<uint64_t> to_warn_of{0}; // dtypes whose narrowing hasn't been said yet

// PyTorch's name of a dtype ("int64"), not C++'s ("Long").
std::string name_of(c10::ScalarType dtype) {
  return std::string(c10::getDtypeNames(dtype).first);
}

uint64_t bits(const std::vector<std::string>& names) {
  uint64_t found = 0;
  for (int i = 0; i < kCount; i++) {
    const auto dtype = static_cast<c10::ScalarType>(i);
    if (dtype == c10::ScalarType::Undefined) {
      continue;
    }
    const auto name = name_of(dtype);
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      found |= uint64_t{1} << i;
    }
  }
  return found;
}

c10::ScalarType narrower(c10::ScalarType dtype) {
  return dtype == c10::ScalarType::Long ? c10::ScalarType::Int : c10::ScalarType::Float;
}

template <typename Wide, typename Narrow>
void narrow_in_place(const at::Tensor& host) {
  auto* values = static_cast<Wide*>(host.mutable_data_ptr());
  for (int64_t i = 0, n = host.numel(); i < n; i++) {
    values[i] = static_cast<Wide>(static_cast<Narrow>(values[i]));
  }
}

} // namespace

namespace detail {

uint64_t refused = 0;
uint64_t narrowed = 0;

void refuse(c10::ScalarType dtype) {
  std::string known;
  for (const auto& name : supported_names) {
    known += (known.empty() ? "" : ", ") + name;
  }
  TORCH_CHECK_TYPE(
      false, c10::DeviceTypeName(kDevice, true), " (simulated) has no ", name_of(dtype), "; it has ", known,
      ". Convert on the CPU, before moving: tensor.to(torch.float32).to(\"", c10::DeviceTypeName(kDevice, true), "\")");
}

void narrow(const at::Tensor& host) {
  const auto dtype = host.scalar_type();
  const auto bit = uint64_t{1} << static_cast<int>(dtype);
  if (C10_UNLIKELY(to_warn_of.load(std::memory_order_relaxed) & bit) && (to_warn_of.fetch_and(~bit) & bit)) {
    TORCH_WARN(
        c10::DeviceTypeName(kDevice, true), " (simulated) holds ", name_of(dtype), " as ", name_of(narrower(dtype)),
        ": values that don't fit are changed without an error");
  }
  if (!host.is_non_overlapping_and_dense()) {
    at::Tensor less = at::detail::empty_cpu(host.sizes(), at::TensorOptions().dtype(narrower(dtype)));
    at::Tensor wide = host;
    at::_ops::copy_::redispatch(c10::DispatchKeySet(c10::DispatchKey::CPU), less, wide, false);
    at::_ops::copy_::redispatch(c10::DispatchKeySet(c10::DispatchKey::CPU), wide, less, false);
  } else if (dtype == c10::ScalarType::Long) {
    narrow_in_place<int64_t, int32_t>(host);
  } else {
    narrow_in_place<double, float>(host);
  }
}

} // namespace detail

void set(const std::vector<std::string>& supported, const std::vector<std::string>& narrowed, bool warn) {
  supported_names = supported;
  detail::narrowed = bits(narrowed);
  to_warn_of = warn ? detail::narrowed : 0;
  detail::refused = supported.empty() ? 0 : ~(bits(supported) | detail::narrowed);
}

} // namespace accelplug_sim::dtypes
