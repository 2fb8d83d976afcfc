#include "allocator.h"

#include "faults.h"
#include "ownership.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <array>
#include <atomic>
#include <cstring>

namespace accelplug_sim {
namespace {

struct Account {
  std::atomic<int64_t> current{0}, peak{0}, allocated{0}, freed{0}, allocations{0}, frees{0};
};

// All state that shutdown may still use is leaked on purpose: tensors outlive static destructors.
auto& accounts = *new std::array<Account, kMaxDevices>();
std::atomic<int64_t> memory_limit{0};
std::atomic<int64_t> memory_alignment{1};

// What get_memory_info says of a device without a limit.
constexpr int64_t kUnlimited = int64_t{1} << 40;

void free_block(void* context) {
  auto* block = static_cast<Block*>(context);
  auto& account = accounts[block->device];
  account.current -= block->bytes;
  account.freed += block->bytes;
  account.frees++;
  delete block;
}

int64_t charge(int64_t bytes, c10::DeviceIndex device) {
  ownership::on_allocation(device);
  const auto alignment = memory_alignment.load(std::memory_order_relaxed);
  const auto taken = (bytes + alignment - 1) / alignment * alignment;
  auto& account = accounts[device];
  const auto now = account.current += taken;
  const auto limit = memory_limit.load(std::memory_order_relaxed);
  const bool fault = faults::memory_runs_out();
  if (C10_UNLIKELY((limit && now > limit) || fault)) {
    account.current -= taken;
    TORCH_CHECK_WITH(
        OutOfMemoryError, false, device_name(device), " is out of memory: ", taken, " bytes wanted, ", now - taken,
        " in use, and its profile gives it ", limit ? std::to_string(limit) : "no limit of", " memory_bytes",
        fault ? " (a fault that the profile asks for)" : "");
  }
  account.allocated += taken;
  account.allocations++;
  auto peak = account.peak.load(std::memory_order_relaxed);
  while (now > peak && !account.peak.compare_exchange_weak(peak, now)) {
  }
  return taken;
}

// DeviceAllocator, not Allocator: torch.accelerator.memory_* asserts it.
struct DeviceMemory final : c10::DeviceAllocator {
  c10::DataPtr allocate(size_t bytes) override {
    return on_device(new_host_storage(bytes), current_device());
  }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
  bool initialized() override {
    return true;
  }
  void emptyCache(c10::MempoolId_t) override {} // nothing is cached
  void recordStream(const c10::DataPtr&, c10::Stream) override {} // streams run in order, so nothing is freed too early

  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    const auto& account = accounts[or_current(device)];
    c10::CachingDeviceAllocator::DeviceStats stats;
    for (auto* bytes : {&stats.allocated_bytes, &stats.active_bytes, &stats.reserved_bytes, &stats.requested_bytes}) {
      (*bytes)[0].current = account.current;
      (*bytes)[0].peak = account.peak;
      (*bytes)[0].allocated = account.allocated;
      (*bytes)[0].freed = account.freed;
    }
    stats.allocation[0].current = account.allocations - account.frees;
    stats.allocation[0].allocated = account.allocations;
    stats.allocation[0].freed = account.frees;
    return stats;
  }
  void resetAccumulatedStats(c10::DeviceIndex device) override {
    auto& account = accounts[or_current(device)];
    account.allocated = 0;
    account.freed = 0;
  }
  void resetPeakStats(c10::DeviceIndex device) override {
    auto& account = accounts[or_current(device)];
    account.peak = account.current.load();
  }
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex device) override {
    const auto limit = memory_limit.load();
    const auto total = limit ? limit : kUnlimited;
    return {static_cast<size_t>(total - accounts[or_current(device)].current), static_cast<size_t>(total)};
  }
};

DeviceMemory& device_memory = *new DeviceMemory();

} // namespace

c10::Allocator* allocator() {
  return &device_memory;
}

void register_allocator() {
  c10::SetAllocator(kDevice, &device_memory, 0);
}

c10::DataPtr on_device(c10::intrusive_ptr<c10::StorageImpl> twin, c10::DeviceIndex device) {
  const auto taken = charge(static_cast<int64_t>(twin->nbytes()), device);
  void* data = twin->mutable_data();
  return {data, new Block{std::move(twin), taken, device}, &free_block, c10::Device(kDevice, device)};
}

c10::Storage device_storage(c10::intrusive_ptr<c10::StorageImpl> twin, c10::DeviceIndex device) {
  const auto bytes = twin->nbytes();
  return c10::Storage(c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), bytes, on_device(std::move(twin), device), &device_memory, true));
}

c10::intrusive_ptr<c10::StorageImpl> new_host_storage(size_t bytes) {
  try {
    return c10::make_intrusive<c10::StorageImpl>(
        c10::StorageImpl::use_byte_size_t(), bytes, c10::GetCPUAllocator(), true);
  } catch (const c10::Error& error) { // the machine may have less memory than the device that it simulates
    TORCH_CHECK_WITH(
        OutOfMemoryError, false, "this machine can't give a simulated device ", bytes,
        " bytes: ", error.what_without_backtrace());
  }
}

Block* block_of(const c10::Storage& storage) {
  const auto& pointer = storage.data_ptr();
  return pointer.get_deleter() == &free_block ? static_cast<Block*>(pointer.get_context()) : nullptr;
}

void resize_bytes(const c10::Storage& storage, size_t bytes) {
  auto* block = block_of(storage);
  TORCH_CHECK(block, "memory that was handed to the simulated device from outside can't be resized");
  auto larger = new_host_storage(bytes);
  std::memcpy(larger->mutable_data(), block->twin->data(), std::min(bytes, block->twin->nbytes()));
  block->twin->set_data_ptr_noswap(std::move(larger->mutable_data_ptr()));
  block->twin->set_nbytes(bytes);
  refresh(storage);
}

void refresh(const c10::Storage& storage) {
  auto* block = block_of(storage);
  if (!block || (block->twin->data() == storage.data() && block->twin->nbytes() == storage.nbytes())) {
    return;
  }
  auto twin = block->twin; // the assignment below deletes the block
  const auto device = block->device;
  auto* impl = storage.unsafeGetStorageImpl();
  impl->set_nbytes(twin->nbytes());
  impl->set_data_ptr_noswap(on_device(std::move(twin), device));
}

void set_memory(int64_t limit, int64_t alignment) {
  memory_limit = limit;
  memory_alignment = alignment;
}

} // namespace accelplug_sim
