// Device memory. Each device storage owns a twin: a CPU storage of the same bytes. Everything else follows from that:
// a CPU kernel can be run on the twin, and its result adopted, without a copy.
#pragma once

#include "device.h"

#include <c10/core/Allocator.h>
#include <c10/core/Storage.h>
#include <c10/core/StorageImpl.h>

namespace accelplug_sim {

// The context of every DataPtr of this device.
struct Block {
  c10::intrusive_ptr<c10::StorageImpl> twin;
  int64_t bytes; // as accounted: a multiple of the alignment
  c10::DeviceIndex device;
};

c10::Allocator* allocator();
void register_allocator();

// Puts CPU bytes on a device, and on its account. Throws OutOfMemoryError beyond the limit.
c10::DataPtr on_device(c10::intrusive_ptr<c10::StorageImpl> twin, c10::DeviceIndex device);
c10::Storage device_storage(c10::intrusive_ptr<c10::StorageImpl> twin, c10::DeviceIndex device);
c10::intrusive_ptr<c10::StorageImpl> new_host_storage(size_t bytes);

// The block of a storage, nullptr where its memory is not this allocator's (from_blob, dlpack).
Block* block_of(const c10::Storage& storage);

void resize_bytes(const c10::Storage& storage, size_t bytes);
// After the twin was resized (out=, resize_): makes the device storage agree with it again.
void refresh(const c10::Storage& storage);

// For each device: bytes there are (0: no limit), and the multiple of bytes that an allocation takes.
void set_memory(int64_t limit, int64_t alignment);

} // namespace accelplug_sim
