// Matrix products of what has been lent: where PyTorch's own mm takes a BLAS that is slower than oneDNN.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

namespace accelplug_sim::products {

// mm(self, mat2) of CPU tensors.
at::Tensor mm(const at::Tensor& self, const at::Tensor& mat2);

// Whether it has run the mm whose two operands are on the stack; if not, the stack is as it was.
bool run(torch::jit::Stack& stack);

} // namespace accelplug_sim::products
