// "Pinned" host memory: plain memory that is remembered, so that is_pinned() tells the truth.
#pragma once

#include <ATen/core/CachingHostAllocator.h>

namespace accelplug_sim {

at::HostAllocator* host_allocator();
// Without it torch.accelerator.empty_host_cache() dereferences a null pointer, often in an atexit handler.
void register_host_allocator();
bool is_pinned(const void* data);

} // namespace accelplug_sim
