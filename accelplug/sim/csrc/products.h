// Matrix products in compiled graphs, on lent bytes: where PyTorch's mm takes a BLAS that may be slower than oneDNN.
#pragma once

#include <ATen/core/Tensor.h>

namespace accelplug_sim::products {

// mm(self, mat2) of CPU tensors. It rounds otherwise than PyTorch's, so op by op the device takes that, whose bits are
// the CPU's.
at::Tensor mm(const at::Tensor& self, const at::Tensor& mat2);

} // namespace accelplug_sim::products
