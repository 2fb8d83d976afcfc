#include "calls.h"

#include "costs.h"
#include "faults.h"
#include "ledger.h"
#include "tracing.h"

namespace accelplug_sim {

Call::Call(Op& op, c10::DeviceIndex device)
    : op_(op),
      device_(device),
      counts_(op.counts(device, kEager)),
      native_(op.native.load(std::memory_order_relaxed)),
      timed_(time_is_measured()) {
  faults::on_call(device);
  if (native_) {
    counts_.calls.fetch_add(1, std::memory_order_relaxed);
  } else {
    ledger::check(op, device);
    ledger::count_calls(op, device, counts_);
  }
  traced_ = tracing::begin();
  costs::launch();
  if (timed_) {
    started_ = Clock::now();
  }
}

void Call::finish(int64_t bytes) {
  if (timed_) {
    counts_.nanoseconds.fetch_add(std::chrono::nanoseconds(Clock::now() - started_).count(), std::memory_order_relaxed);
  }
  tracing::end(traced_, op_.name, native_ ? "native" : "fallback", device_, bytes);
  if (native_) {
    counts_.bytes.fetch_add(bytes, std::memory_order_relaxed);
  } else {
    ledger::count_bytes(op_, device_, counts_, bytes);
  }
}

void spoil(const at::Tensor& result) {
  if (result.defined() && result.numel() > 0 && result.is_floating_point()) {
    auto first = result.as_strided({}, {});
    first.add_(1);
  }
}

} // namespace accelplug_sim
