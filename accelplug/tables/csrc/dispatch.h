// The kernels of each operator, tried in their order; at last what PyTorch had for it before.
#pragma once

#include "predicate.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace accelplug_kernels {

// A kernel: an operator that takes the calls which a predicate accepts. Lives until the process ends.
struct Entry {
  Entry(
      int64_t number, c10::OperatorHandle kernel, std::optional<c10::OperatorHandle> refuses, Predicate predicate);

  const int64_t number; // what Python calls it
  std::atomic<const c10::OperatorHandle*> kernel;
  const std::optional<c10::OperatorHandle> refuses; // the kernel's arguments to a bool, in Python
  const Predicate predicate;

  // How often it ran, was refused by its function, raised that it doesn't take the call, and failed at each clause.
  std::atomic<uint64_t> calls{0}, refused{0}, unsupported{0};
  std::vector<std::atomic<uint64_t>> failed;
};

using Order = std::vector<Entry*>;

// One operator on one device.
class Table {
 public:
  // Takes over the operator: what was registered for `key` is called where no kernel takes a call.
  Table(const c10::OperatorHandle& op, c10::DispatchKey key);

  // The kernels that are tried in a scope. Calls that run meanwhile finish with the order that they began with.
  void set_order(int64_t scope, Order order);

  void call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) const;

 private:
  bool run(Entry& entry, torch::jit::Stack* stack, size_t first) const;
  void call_what_was_before(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) const;

  const size_t arguments_;
  const c10::DispatchKey key_;
  const c10::DispatchKeySet keys_;
  std::optional<c10::SafeKernelFunction> before_;
  std::atomic<const std::vector<Order>*> orders_;
};

// Called by a kernel that doesn't take the call that it is running for. False where no table has called it: the
// exception is then the caller's.
bool pass_on(int64_t kernel);

} // namespace accelplug_kernels
