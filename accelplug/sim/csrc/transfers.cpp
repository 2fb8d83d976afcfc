#include "transfers.h"

#include "alias.h"
#include "costs.h"
#include "dtypes.h"
#include "faults.h"
#include "registration.h"
#include "tracing.h"

#include <ATen/ops/copy_ops.h>

#include <array>
#include <atomic>

namespace accelplug_sim {
namespace {

struct Direction {
  std::atomic<int64_t> calls{0}, bytes{0};
};
enum { kToDevice, kToHost, kWithin, kDirections };
std::array<Direction, kDirections> directions;
constexpr const char* kNames[kDirections] = {"Memcpy HtoD", "Memcpy DtoH", "Memcpy DtoD"}; // as profilers call them

int direction_of(bool from_device, bool to_device) {
  return !from_device ? kToDevice : to_device ? kWithin : kToHost;
}

void count_transfer(bool from_device, bool to_device, int64_t bytes) {
  auto& direction = directions[direction_of(from_device, to_device)];
  direction.calls.fetch_add(1, std::memory_order_relaxed);
  direction.bytes.fetch_add(bytes, std::memory_order_relaxed);
  if (from_device != to_device) {
    costs::transfer(bytes);
  }
}

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool non_blocking) {
  auto target = to;
  copy_into(target, from, non_blocking);
  return to;
}

at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
  auto target = to;
  target.resize_(from.sizes());
  copy_into(target, from, false);
  return to;
}

} // namespace

at::Tensor& copy_into(at::Tensor& to, const at::Tensor& from, bool non_blocking) {
  const bool from_device = from.device().type() == kDevice, to_device = to.device().type() == kDevice;
  const auto device = (to_device ? to : from).device().index();
  faults::on_call(device);
  const auto began = tracing::begin();
  const auto bytes = static_cast<int64_t>(from.numel() * from.itemsize());
  count_transfer(from_device, to_device, bytes);
  auto target = host_alias(to);
  at::_ops::copy_::redispatch(
      c10::DispatchKeySet(c10::DispatchKey::CPU), target, host_alias(from), non_blocking);
  if (to_device) {
    dtypes::narrow(target);
  }
  tracing::end(began, kNames[direction_of(from_device, to_device)], "transfer", device, bytes);
  return to;
}

std::vector<int64_t> read_transfers() {
  std::vector<int64_t> values;
  for (const auto& direction : directions) {
    values.push_back(direction.calls);
    values.push_back(direction.bytes);
  }
  return values;
}

void reset_transfers() {
  for (auto& direction : directions) {
    direction.calls = 0;
    direction.bytes = 0;
  }
}

// copy_ itself, which saves the way through _copy_from and its second dispatch.
void register_transfers(torch::Library& aten) {
  aten.impl("copy_", copy_into);
  aten.impl("_copy_from", copy_from);
  aten.impl("_copy_from_and_resize", copy_from_and_resize);
}

} // namespace accelplug_sim
