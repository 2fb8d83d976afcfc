// Runs every op on the CPU kernel that PyTorch has for it, through the zero-copy alias, and counts it.
#include "alias.h"
#include "calls.h"
#include "generator.h"
#include "registration.h"

#include <ATen/core/List.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <accelplug_library.h>
#include <c10/util/flat_hash_map.h>

namespace accelplug_sim {
namespace {

using accelplug_library::within_namespace;
using c10::IValue;

bool is_list_of_tensor_lists(const IValue& value) {
  return value.isList() && !value.toListRef().empty() && value.toListRef()[0].isTensorList();
}

template <typename Each>
c10::List<at::Tensor> each_tensor(const IValue& list, const Each& each) {
  c10::List<at::Tensor> result;
  for (const at::Tensor& tensor : list.toTensorVector()) {
    result.push_back(each(tensor));
  }
  return result;
}

// Puts `each(tensor)` in the place of each tensor in a value: Tensor, Tensor[], Tensor?[] and, for c10d, Tensor[][].
template <typename Each>
void replace_tensors(IValue& value, const Each& each) {
  if (value.isTensor()) {
    value = each(value.toTensor());
  } else if (value.isTensorList()) {
    value = each_tensor(value, each);
  } else if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> result;
    for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector()) {
      result.push_back(tensor ? std::optional<at::Tensor>(each(*tensor)) : std::nullopt);
    }
    value = std::move(result);
  } else if (is_list_of_tensor_lists(value)) {
    c10::List<c10::List<at::Tensor>> result;
    for (const IValue& list : value.toListRef()) {
      result.push_back(each_tensor(list, each));
    }
    value = std::move(result);
  }
}

void lend_arguments(const Op& op, torch::jit::Stack& stack, size_t first, Loan& loan) {
  for (size_t i = 0; i < op.arguments; i++) {
    IValue& value = stack[first + i];
    if (C10_UNLIKELY(value.isStorage())) {
      if (const auto storage = value.toStorage(); storage.device_type() == kDevice) {
        value = c10::Storage(twin_of(storage));
      }
    } else {
      const bool written = op.writes[i];
      replace_tensors(value, [&](const at::Tensor& tensor) { return loan.lend(tensor, written); });
    }
  }
}

// Factories: the tensor is made on the CPU, and adopted by the device that was asked for.
void redirect_device(const Op& op, torch::jit::Stack& stack, size_t first, Loan& loan) {
  if (op.device >= 0) {
    IValue& value = stack[first + op.device];
    if (value.isDevice() && value.toDevice().type() == kDevice) {
      if (loan.device() < 0) {
        loan.set_device(or_current(value.toDevice().index()));
      }
      value = c10::Device(c10::DeviceType::CPU);
    }
  }
  if (loan.device() < 0) {
    loan.set_device(current_device());
  }
}

void redirect_generator(const Op& op, torch::jit::Stack& stack, size_t first, const Loan& loan) {
  if (op.generator >= 0) {
    IValue& value = stack[first + op.generator];
    value = host_generator(value.isGenerator() ? value.toGenerator() : default_generator(loan.device()));
  }
}

void refuse_mixed_devices(const Op& op, const Loan& loan) {
  TORCH_CHECK(
      !loan.mixes_devices() || op.takes_mixed_devices,
      "Expected all tensors to be on the same device, but ", op.name, " was given tensors of ",
      c10::Device(kDevice, loan.device()).str(), " and of another device");
}

void run(const c10::OperatorHandle& handle, Op& op, torch::jit::Stack* stack) {
  const size_t first = stack->size() - op.arguments;

  Loan loan;
  lend_arguments(op, *stack, first, loan);
  refuse_mixed_devices(op, loan);
  redirect_device(op, *stack, first, loan);
  Call call(op, loan.device());
  redirect_generator(op, *stack, first, loan);
  handle.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  if (op.writes_any) {
    loan.give_back();
  }
  const bool wrong = op.wrong.load(std::memory_order_relaxed);
  for (size_t i = stack->size() - op.returns; i < stack->size(); i++) {
    replace_tensors((*stack)[i], [&](const at::Tensor& result) {
      if (C10_UNLIKELY(wrong)) {
        spoil(result);
      }
      return loan.adopt(result);
    });
  }
  call.finish(loan.bytes());
}

// One for each op, so that nothing is looked up in a call.
struct Fallback final : c10::OperatorKernel {
  explicit Fallback(Op* op) : op(op) {}
  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet, torch::jit::Stack* stack) {
    run(handle, *op, stack);
  }
  Op* op;
};

// For ops of other libraries, and those that are defined after this one was loaded.
struct CatchAll final : c10::OperatorKernel {
  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet, torch::jit::Stack* stack) {
    // By address, and by name too: a library that is taken down may leave its schema's address to another one's.
    static thread_local ska::flat_hash_map<const void*, Op*> known;
    auto& op = known[&handle.schema()];
    if (!op || op->operator_name != handle.operator_name()) {
      op = op_for(handle.schema());
    }
    TORCH_CHECK_NOT_IMPLEMENTED(
        handle.hasKernelForDispatchKey(c10::DispatchKey::CPU),
        op->name, " has no kernel for ", c10::DeviceTypeName(kDevice, true), " (simulated) and none for the CPU");
    run(handle, *op, stack);
  }
};

torch::CppFunction fallback_for(Op* op) {
  return torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Fallback>(op));
}

// Every op of a namespace that has a kernel for the CPU.
template <typename Each>
void for_each_cpu_op(const std::string& name_space, const Each& each) {
  for (const auto& name : c10::Dispatcher::singleton().getAllOpNames()) {
    if (name.name.rfind(name_space + "::", 0) != 0) {
      continue;
    }
    const auto handle = c10::Dispatcher::singleton().findOp(name);
    if (handle && handle->hasSchema() && handle->hasKernelForDispatchKey(c10::DispatchKey::CPU)) {
      each(*handle);
    }
  }
}

} // namespace

void register_fallbacks(torch::Library& aten, torch::Library& every_namespace) {
  for_each_cpu_op("aten", [&](const c10::OperatorHandle& handle) {
    if (!handle.hasKernelForDispatchKey(kDispatchKey)) { // the hand-written ones have been registered before
      aten.impl(within_namespace(handle.operator_name()).c_str(), fallback_for(op_for(handle.schema())));
    }
  });
  every_namespace.fallback(torch::CppFunction::makeFromBoxedFunctor(std::make_unique<CatchAll>()));
}

void register_collectives() {
  const accelplug_library::Replacing pytorchs_kernels;
  auto& c10d = *new torch::Library(torch::Library::IMPL, "c10d", kDispatchKey, __FILE__, __LINE__);
  for_each_cpu_op("c10d", [&](const c10::OperatorHandle& handle) {
    c10d.impl(within_namespace(handle.operator_name()).c_str(), fallback_for(op_for(handle.schema())));
  });
}

} // namespace accelplug_sim
