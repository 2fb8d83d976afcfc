// The zero-copy twin at work: device tensors are lent to a CPU kernel as aliases of the same bytes, and what the kernel
// returns is adopted by the device. No byte is copied either way.
#pragma once

#include "allocator.h"

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

namespace accelplug_sim {

// The CPU storage of a device storage's bytes.
c10::intrusive_ptr<c10::StorageImpl> twin_of(const c10::Storage& storage);

// A CPU tensor over the bytes of a device tensor; any other tensor as it is.
at::Tensor host_alias(const at::Tensor& tensor);

// The tensors of one call, there and back.
class Loan {
 public:
  // A CPU alias of a device tensor; a tensor of the CPU as it is. `written` says that the call changes it.
  at::Tensor lend(const at::Tensor& tensor, bool written = false);

  // What the call returned, on the device: a lent tensor itself, a view of one, or the owner of new memory.
  at::Tensor adopt(const at::Tensor& result);

  // Gives what the call did to written tensors (out= and resize_ change sizes and storage) back to the device's.
  void give_back();

  // Where results go where no tensor was lent: factories, and ops on no tensor at all.
  void set_device(c10::DeviceIndex device) {
    device_ = device;
  }
  // -1 before the first device tensor.
  c10::DeviceIndex device() const {
    return device_;
  }
  // Whether tensors of several devices were lent, or some of the CPU that are more than a scalar.
  bool mixes_devices() const {
    return several_devices_ || (from_cpu_ && device_ >= 0);
  }
  // What hardware would move if this call ran on the CPU: operands and results. An upper bound.
  int64_t bytes() const {
    return bytes_;
  }

 private:
  c10::SmallVector<at::Tensor, 6> on_device_, on_host_;
  c10::SmallVector<bool, 6> written_;
  c10::DeviceIndex device_ = -1;
  bool several_devices_ = false, from_cpu_ = false;
  int64_t bytes_ = 0;
};

} // namespace accelplug_sim
