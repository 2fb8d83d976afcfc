// PyTorch's own fallback to the CPU, at::native::cpu_fallback, in the place of the simulator's for one operator.
#include <ATen/native/CPUFallback.h>
#include <torch/library.h>

namespace {

void stock(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  at::native::cpu_fallback(op, stack);
}

} // namespace

extern "C" void use_stock_fallback() {
  static torch::Library aten(torch::Library::IMPL, "aten", c10::DispatchKey::PrivateUse1, __FILE__, __LINE__);
  aten.impl("neg", torch::CppFunction::makeFromBoxedFunction<&stock>());
}
