#include "alias.h"

#include "dtypes.h"

#include <c10/core/CPUAllocator.h>

#include <algorithm>

namespace accelplug_sim {
namespace {

// A tensor over `storage` with the shape and bits of `like`.
at::Tensor tensor_over(c10::Storage storage, c10::DispatchKey key, const c10::TensorImpl* like) {
  auto tensor =
      at::detail::make_tensor<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(key), like->dtype());
  auto* impl = tensor.unsafeGetTensorImpl();
  impl->set_sizes_and_strides(like->sizes(), like->strides(), like->storage_offset());
  if (C10_UNLIKELY(like->is_conj() || like->is_neg())) {
    impl->_set_conj(like->is_conj());
    impl->_set_neg(like->is_neg());
  }
  return tensor;
}

const c10::StorageImpl* storage_of(const at::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
}

// Memory from outside has no twin: an alias that keeps the owner alive and can't be resized stands for it.
c10::intrusive_ptr<c10::StorageImpl> twin_of_foreign(const c10::Storage& storage) {
  auto* owner = new c10::Storage(storage);
  auto release = [](void* owner) { delete static_cast<c10::Storage*>(owner); };
  return c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), storage.nbytes(),
      c10::DataPtr(storage.mutable_data(), owner, release, c10::Device(c10::DeviceType::CPU)),
      c10::GetCPUAllocator(), false);
}

} // namespace

c10::intrusive_ptr<c10::StorageImpl> twin_of(const c10::Storage& storage) {
  if (auto* block = block_of(storage)) {
    return block->twin;
  }
  return twin_of_foreign(storage);
}

at::Tensor host_alias(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.device().type() != kDevice) {
    return tensor;
  }
  auto* impl = tensor.unsafeGetTensorImpl();
  return tensor_over(c10::Storage(twin_of(impl->unsafe_storage())), c10::DispatchKey::CPU, impl);
}

at::Tensor Loan::lend(const at::Tensor& tensor, bool written) {
  if (!tensor.defined()) {
    return tensor;
  }
  if (tensor.device().type() != kDevice) {
    from_cpu_ |= tensor.dim() > 0; // scalars of the CPU may be mixed in, as on any device
    return tensor;
  }
  const auto device = tensor.device().index();
  if (device_ == -1) {
    device_ = device;
  }
  several_devices_ |= device != device_;
  auto* impl = tensor.unsafeGetTensorImpl();
  bytes_ += static_cast<int64_t>(impl->numel() * impl->itemsize());
  on_device_.push_back(tensor);
  written_.push_back(written);
  on_host_.push_back(tensor_over(c10::Storage(twin_of(impl->unsafe_storage())), c10::DispatchKey::CPU, impl));
  return on_host_.back();
}

at::Tensor Loan::adopt(const at::Tensor& result) {
  if (!result.defined() || result.device().type() != c10::DeviceType::CPU) {
    return result;
  }
  for (size_t i = 0; i < on_host_.size(); i++) {
    if (on_host_[i].is_same(result)) {
      return on_device_[i];
    }
  }
  TORCH_CHECK_NOT_IMPLEMENTED(
      result.layout() == c10::kStrided && !result.is_quantized(),
      "the simulated device holds strided tensors only, no sparse and no quantized ones; compute this one on the CPU");
  auto* impl = result.unsafeGetTensorImpl();
  auto* storage = impl->unsafe_storage().unsafeGetStorageImpl();
  for (size_t i = 0; i < on_host_.size(); i++) {
    if (storage_of(on_host_[i]) == storage) {
      return tensor_over(on_device_[i].storage(), kDispatchKey, impl);
    }
  }
  dtypes::check(result.scalar_type());
  dtypes::narrow(result);
  bytes_ += static_cast<int64_t>(impl->numel() * impl->itemsize());
  auto twin = c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(storage);
  return tensor_over(device_storage(std::move(twin), device_), kDispatchKey, impl);
}

void Loan::give_back() {
  for (size_t i = 0; i < on_device_.size(); i++) {
    if (!written_[i]) {
      continue;
    }
    auto* host = on_host_[i].unsafeGetTensorImpl();
    auto* device = on_device_[i].unsafeGetTensorImpl();
    refresh(device->unsafe_storage());
    if (C10_UNLIKELY(
            host->sizes() != device->sizes() || host->strides() != device->strides() ||
            host->storage_offset() != device->storage_offset())) {
      const auto elements = device->numel();
      device->set_sizes_and_strides(host->sizes(), host->strides(), host->storage_offset());
      bytes_ += static_cast<int64_t>(std::max<int64_t>(0, host->numel() - elements) * host->itemsize());
    }
    dtypes::narrow(on_host_[i]);
  }
}

} // namespace accelplug_sim
