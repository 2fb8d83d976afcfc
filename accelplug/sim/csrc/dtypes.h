// The dtypes that the device has. Others are refused, or kept under their name at less precision, as the vendors do:
// an int64 tensor stays int64 in PyTorch, but only 32 bits of each value reach the device.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <string>
#include <vector>

namespace accelplug_sim::dtypes {

// Names as PyTorch prints them, without "torch.". `narrowed` may be int64 (held as int32) and float64 (as float32).
void set(const std::vector<std::string>& supported, const std::vector<std::string>& narrowed, bool warn);

namespace detail {
extern uint64_t refused;
extern uint64_t narrowed;
[[noreturn]] void refuse(c10::ScalarType dtype);
void narrow(const at::Tensor& host);
} // namespace detail

inline bool in(uint64_t set, c10::ScalarType dtype) {
  return (set >> static_cast<int>(dtype)) & 1;
}

// One bit for each dtype that the device doesn't have, by its number in ScalarType.
inline uint64_t refused() {
  return detail::refused;
}

// Throws TypeError for a dtype that the device doesn't have.
inline void check(c10::ScalarType dtype) {
  if (C10_UNLIKELY(in(detail::refused, dtype))) {
    detail::refuse(dtype);
  }
}

// Rounds what was just written through the CPU alias `host` of a device tensor to what the device would hold.
inline void narrow(const at::Tensor& host) {
  if (C10_UNLIKELY(in(detail::narrowed, host.scalar_type()))) {
    detail::narrow(host);
  }
}

} // namespace accelplug_sim::dtypes
