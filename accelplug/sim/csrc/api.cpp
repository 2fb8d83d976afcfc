// What Python sees: one function that loads the library, and torch.ops.accelplug_sim.
#include "alias.h"
#include "allocator.h"
#include "costs.h"
#include "counters.h"
#include "device.h"
#include "dtypes.h"
#include "faults.h"
#include "generator.h"
#include "graphs.h"
#include "host_memory.h"
#include "ledger.h"
#include "ownership.h"
#include "products.h"
#include "registration.h"
#include "shutdown.h"
#include "tracing.h"
#include "transfers.h"

#include <accelplug_library.h>

namespace accelplug_sim {
namespace {

// Registers the device with PyTorch, for good. The second call does nothing.
void init() {
  static bool done = false;
  if (done) {
    return;
  }
  done = true;
  register_allocator();
  register_host_allocator();
  register_guard();
  register_hooks();
  auto& aten = *new torch::Library(torch::Library::IMPL, "aten", kDispatchKey, __FILE__, __LINE__);
  auto& every_namespace = *new torch::Library(torch::Library::IMPL, "_", kDispatchKey, __FILE__, __LINE__);
  register_handwritten(aten);
  register_transfers(aten);
  register_attention_choice(aten);
  register_fallbacks(aten, every_namespace);
  register_collectives();
  register_autocast();
  tracing::register_profiler();
}

at::Tensor adopt(const at::Tensor& tensor, int64_t device) {
  Loan loan;
  loan.set_device(static_cast<c10::DeviceIndex>(device));
  return loan.adopt(tensor);
}

// Of many tensors at once, as a compiled graph has them: a call from Python costs more than the alias.
std::vector<at::Tensor> host_aliases(at::TensorList tensors) {
  std::vector<at::Tensor> aliases;
  aliases.reserve(tensors.size());
  for (const auto& tensor : tensors) {
    aliases.push_back(host_alias(tensor));
  }
  return aliases;
}

std::vector<at::Tensor> adopt_all(at::TensorList tensors, at::IntArrayRef devices) {
  TORCH_CHECK(tensors.size() == devices.size(), tensors.size(), " tensors for ", devices.size(), " devices");
  std::vector<at::Tensor> adopted;
  adopted.reserve(tensors.size());
  for (size_t i = 0; i < tensors.size(); i++) {
    adopted.push_back(adopt(tensors[i], devices[i]));
  }
  return adopted;
}

void define(torch::Library& library) {
  library.def("init() -> ()", &init);

  library.def("settle_autograd() -> ()", &settle_autograd);

  library.def("device_count() -> int", [] { return static_cast<int64_t>(device_count()); });
  library.def("current_device() -> int", [] { return static_cast<int64_t>(current_device()); });
  library.def("exchange_device(int index) -> int", [](int64_t index) {
    return static_cast<int64_t>(exchange_device(static_cast<c10::DeviceIndex>(index)));
  });
  library.def("default_generator(int index) -> Generator?", [](int64_t index) -> std::optional<at::Generator> {
    return default_generator(static_cast<c10::DeviceIndex>(index));
  });

  // The bytes of a tensor seen from the other side, without a copy.
  library.def("host_alias(Tensor tensor) -> Tensor", [](const at::Tensor& tensor) { return host_alias(tensor); });
  library.def("host_aliases(Tensor[] tensors) -> Tensor[]",
      [](at::TensorList tensors) { return host_aliases(tensors); });
  library.def("adopt(Tensor tensor, int device) -> Tensor", &adopt);
  library.def("adopt_all(Tensor[] tensors, int[] devices) -> Tensor[]",
      [](at::TensorList tensors, at::IntArrayRef devices) { return adopt_all(tensors, devices); });

  // mm in compiled graphs: on the CPU, over lent bytes
  library.def("mm(Tensor self, Tensor mat2) -> Tensor");
  library.impl("mm", c10::DispatchKey::CPU, &products::mm);
  library.impl("mm", c10::DispatchKey::Meta, [](const at::Tensor& self, const at::Tensor& mat2) {
    return self.new_empty_symint({self.sym_size(0), mat2.sym_size(1)});
  });

  // The profile
  library.def("set_device_count(int count) -> ()", &set_device_count);
  library.def("set_lock_files(str[] files) -> ()", [](std::vector<std::string> files) { ownership::set(files); });
  library.def("set_memory(int limit, int alignment) -> ()", &set_memory);
  library.def("set_dtypes(str[] supported, str[] narrowed, bool warn) -> ()",
      [](std::vector<std::string> supported, std::vector<std::string> narrowed, bool warn) {
        dtypes::set(supported, narrowed, warn);
      });
  library.def("set_native(str[] patterns, str[] exceptions) -> ()",
      [](std::vector<std::string> patterns, std::vector<std::string> exceptions) { set_native(patterns, exceptions); });
  library.def("set_wrong(str[] patterns) -> ()", [](std::vector<std::string> patterns) { set_wrong(patterns); });
  library.def("set_costs(float launch_us, float transfer_bytes_per_second) -> ()", &costs::set);
  library.def("arm(int lost_at_call, int out_of_memory_at_allocation) -> ()", &faults::arm);
  library.def("lose_with(str[] files) -> ()", [](std::vector<std::string> files) { faults::lose_with(files); });

  // The account
  library.def("read_counters() -> (str[], int[])", &read_counters);
  library.def("read_transfers() -> int[]", &read_transfers);
  library.def("reset_counters() -> ()", [] {
    reset_counters();
    reset_transfers();
    ledger::reset_budgets();
  });
  library.def("forbid_fallback(bool forbidden) -> ()", &ledger::forbid);
  library.def("add_budget(str pattern, int calls, int bytes) -> int", &ledger::add_budget);
  library.def("remove_budget(int number) -> ()", &ledger::remove_budget);
  library.def("measure_time(bool on) -> ()", &measure_time);
  library.def("add_graph(str[] ops, int[] numbers, str[] sites) -> int", &graphs::add);
  library.def("count_graph(int number) -> ()", &graphs::count);

  // The timeline: see tracing.h
  library.def("began() -> int", &tracing::begin);
  library.def("kernel_ran(str name, int device, int began) -> ()",
      [](const std::string& name, int64_t device, int64_t began) {
        tracing::end(began, name, "kernel", static_cast<c10::DeviceIndex>(device), 0);
      });
  library.def("graph_ran(int number, int began) -> ()", &graphs::ran);

  // Python's part of the account: it gives these kernels, and says so with listen.
  library.def("fallback_noticed(str op, int device, int calls, bool first, str site) -> ()");
  library.def("fallback_refused(str op, int device, int budget, int spent, str site) -> ()");
  library.def("listen(bool on) -> ()", &ledger::listen);
}

} // namespace
} // namespace accelplug_sim

extern "C" const char* accelplug_sim_load() {
  return accelplug_library::load("accelplug_sim", &accelplug_sim::define);
}
