#include "host_memory.h"

#include "device.h"

#include <c10/core/CPUAllocator.h>

#include <map>
#include <mutex>

namespace accelplug_sim {
namespace {

std::mutex& pinned_mutex = *new std::mutex();
auto& pinned = *new std::map<uintptr_t, size_t>(); // start and length of each piece

void unpin(void* context) {
  auto* memory = static_cast<c10::DataPtr*>(context);
  {
    std::lock_guard<std::mutex> lock(pinned_mutex);
    pinned.erase(reinterpret_cast<uintptr_t>(memory->get()));
  }
  delete memory;
}

struct PinnedMemory final : at::HostAllocator {
  c10::DataPtr allocate(size_t bytes) override {
    auto* memory = new c10::DataPtr(c10::GetCPUAllocator()->allocate(bytes));
    void* data = memory->get();
    if (data) {
      std::lock_guard<std::mutex> lock(pinned_mutex);
      pinned[reinterpret_cast<uintptr_t>(data)] = bytes;
    }
    return {data, memory, &unpin, c10::Device(c10::DeviceType::CPU)};
  }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
  bool record_event(void*, void*, c10::Stream) override {
    return true;
  }
  void empty_cache() override {}
  at::HostStats get_stats() override {
    return {};
  }
  void reset_accumulated_stats() override {}
  void reset_peak_stats() override {}
};

PinnedMemory& pinned_memory = *new PinnedMemory();

} // namespace

at::HostAllocator* host_allocator() {
  return &pinned_memory;
}

void register_host_allocator() {
  at::setHostAllocator(kDevice, &pinned_memory, 0);
}

bool is_pinned(const void* data) {
  const auto address = reinterpret_cast<uintptr_t>(data);
  std::lock_guard<std::mutex> lock(pinned_mutex);
  auto after = pinned.upper_bound(address);
  if (after == pinned.begin()) {
    return false;
  }
  const auto& [start, bytes] = *--after;
  return address < start + bytes;
}

} // namespace accelplug_sim
