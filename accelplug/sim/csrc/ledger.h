// What the ledger does while an op falls back to the CPU: policy, budgets, and the first notice of it. Python decides
// what is said; nothing is asked of it but in the moments named here.
#pragma once

#include "counters.h"

#include <string>

namespace accelplug_sim::ledger {

// Whether Python has kernels for accelplug_sim::fallback_noticed and ::fallback_refused, which api.cpp defines.
void listen(bool on);

// Refuses, from now on, what the vendor doesn't run on the device.
void forbid(bool forbidden);

// From now on fallbacks of the ops that match `pattern` fail beyond so many calls or bytes; -1 is no limit. Returns the
// budget's number. There may be 64 at a time.
int64_t add_budget(const std::string& pattern, int64_t calls, int64_t bytes);
void remove_budget(int64_t number);
// What the budgets have spent starts again from nothing.
void reset_budgets();

// Before the process ends: nothing is refused any more, and nothing told.
void end();

// For the bits of Op::budgets.
uint64_t budgets_for(const std::string& name);

namespace detail {
extern std::atomic<bool> forbidden;
void refuse_forbidden(const Op& op, c10::DeviceIndex device, const std::string& site);
void spend_calls(const Op& op, c10::DeviceIndex device, uint64_t calls, const std::string& site);
void spend_bytes(const Op& op, c10::DeviceIndex device, uint64_t bytes, const std::string& site);
void notice(const Op& op, c10::DeviceIndex device, Counts& counts, uint64_t calls, const std::string& site);
} // namespace detail

// `site` is where in the user's code the op is, "" where Python's stack says so.

// Before an op falls back: throws where that is forbidden.
inline void check(const Op& op, c10::DeviceIndex device, const std::string& site = {}) {
  if (C10_UNLIKELY(detail::forbidden.load(std::memory_order_relaxed))) {
    detail::refuse_forbidden(op, device, site);
  }
}

// Counts calls of an op that falls back. Throws where a budget doesn't allow it.
inline void count_calls(
    const Op& op, c10::DeviceIndex device, Counts& counts, uint64_t calls = 1, const std::string& site = {}) {
  if (C10_UNLIKELY(op.budgets.load(std::memory_order_relaxed) != 0)) {
    detail::spend_calls(op, device, calls, site);
  }
  const auto now = counts.calls.fetch_add(calls, std::memory_order_relaxed) + calls;
  if (C10_UNLIKELY(now >= counts.next_notice.load(std::memory_order_relaxed))) {
    detail::notice(op, device, counts, now, site);
  }
}

// Counts the bytes of an op that fell back, and throws if that was beyond a budget: results' sizes aren't known before.
inline void count_bytes(
    const Op& op, c10::DeviceIndex device, Counts& counts, uint64_t bytes, const std::string& site = {}) {
  counts.bytes.fetch_add(bytes, std::memory_order_relaxed);
  if (C10_UNLIKELY(op.budgets.load(std::memory_order_relaxed) != 0)) {
    detail::spend_bytes(op, device, bytes, site);
  }
}

} // namespace accelplug_sim::ledger
