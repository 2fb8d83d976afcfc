// What Python sees: one function that loads the library, and torch.ops.accelplug_dispatch.
#include "dispatch.h"
#include "predicate.h"
#include "scope.h"

#include <accelplug_library.h>
#include <torch/library.h>

#include <mutex>

namespace accelplug_kernels {
namespace {

// Numbered for Python; calls have their own pointers.
std::mutex& mutex = *new std::mutex();
auto& tables = *new std::vector<Table*>();
auto& entries = *new std::vector<Entry*>();

struct TableKernel final : c10::OperatorKernel {
  explicit TableKernel(const Table* table) : table(table) {}
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    table->call(op, keys, stack);
  }
  const Table* table;
};

c10::OperatorHandle handle(const std::string& name, const std::string& overload) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name.c_str(), overload.c_str());
}

Table& table_of(int64_t number) {
  std::lock_guard<std::mutex> lock(mutex);
  return *tables.at(number);
}

Entry& entry_of(int64_t number) {
  std::lock_guard<std::mutex> lock(mutex);
  return *entries.at(number);
}

void register_table(const Table* table, const c10::OperatorHandle& op, c10::DispatchKey key) {
  const accelplug_library::Replacing an_sdks_kernel;
  const auto& name = op.operator_name();
  auto& library = *new torch::Library(
      torch::Library::IMPL, name.name.substr(0, name.name.find("::")), key, __FILE__, __LINE__);
  library.impl(
      accelplug_library::within_namespace(name).c_str(),
      torch::CppFunction::makeFromBoxedFunctor(std::make_unique<TableKernel>(table)));
}

int64_t take_over(const std::string& name, const std::string& overload, const std::string& key_name) {
  const auto key = c10::parseDispatchKey(key_name);
  const auto op = handle(name, overload);
  auto* table = new Table(op, key);
  register_table(table, op, key);
  std::lock_guard<std::mutex> lock(mutex);
  tables.push_back(table);
  return static_cast<int64_t>(tables.size()) - 1;
}

int64_t add_kernel(
    const std::string& kernel, const std::string& overload, const std::string& refuses,
    const std::vector<int64_t>& clauses, const std::vector<std::string>& values) {
  const auto refusing = refuses.empty() ? std::nullopt : std::make_optional(handle(refuses, overload));
  auto op = handle(kernel, overload);
  std::lock_guard<std::mutex> lock(mutex);
  const auto number = static_cast<int64_t>(entries.size());
  entries.push_back(new Entry(number, std::move(op), refusing, Predicate(clauses, values)));
  return number;
}

void set_order(int64_t table, int64_t scope, const std::vector<int64_t>& kernels) {
  Order order;
  for (const auto number : kernels) {
    order.push_back(&entry_of(number));
  }
  table_of(table).set_order(scope, std::move(order));
}

void call_directly(int64_t entry, const std::string& kernel, const std::string& overload) {
  entry_of(entry).kernel.store(new c10::OperatorHandle(handle(kernel, overload)), std::memory_order_release);
}

std::vector<int64_t> read_counters(int64_t number) {
  const Entry& entry = entry_of(number);
  std::vector<int64_t> counted;
  for (const auto* counter : {&entry.calls, &entry.refused, &entry.unsupported}) {
    counted.push_back(static_cast<int64_t>(counter->load()));
  }
  for (const auto& counter : entry.failed) {
    counted.push_back(static_cast<int64_t>(counter.load()));
  }
  return counted;
}

void reset_counters(int64_t number) {
  Entry& entry = entry_of(number);
  for (auto* counter : {&entry.calls, &entry.refused, &entry.unsupported}) {
    counter->store(0);
  }
  for (auto& counter : entry.failed) {
    counter.store(0);
  }
}

void define(torch::Library& library) {
  library.def("dtype_bits(str[] names) -> int", [](std::vector<std::string> names) { return dtype_bits(names); });

  // A table for an operator, on a dispatch key; its number.
  library.def("take_over(str op, str overload, str key) -> int",
      [](std::string op, std::string overload, std::string key) { return take_over(op, overload, key); });
  // A kernel, and the function that refuses calls where there is one; its number.
  library.def("add_kernel(str op, str overload, str refuses, int[] clauses, str[] values) -> int",
      [](std::string op, std::string overload, std::string refuses, std::vector<int64_t> clauses,
         std::vector<std::string> values) { return add_kernel(op, overload, refuses, clauses, values); });
  library.def("set_order(int table, int scope, int[] kernels) -> ()",
      [](int64_t table, int64_t scope, std::vector<int64_t> kernels) { set_order(table, scope, kernels); });
  library.def("call_directly(int kernel, str op, str overload) -> ()",
      [](int64_t kernel, std::string op, std::string overload) { call_directly(kernel, op, overload); });

  library.def("pass_on(int kernel) -> bool", &pass_on);

  library.def("enter_scope(int scope) -> ()", &enter_scope);
  library.def("leave_scope() -> ()", &leave_scope);
  library.def("current_scope() -> int", &current_scope);

  library.def("read_counters(int kernel) -> int[]", &read_counters);
  library.def("reset_counters(int kernel) -> ()", &reset_counters);
}

} // namespace
} // namespace accelplug_kernels

extern "C" const char* accelplug_kernels_load() {
  return accelplug_library::load("accelplug_dispatch", &accelplug_kernels::define);
}
