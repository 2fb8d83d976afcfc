#include "ledger.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <fnmatch.h>

#include <array>
#include <limits>
#include <mutex>

namespace accelplug_sim::ledger {
namespace {

constexpr int kBudgets = 64; // bits of Op::budgets
constexpr int64_t kPolicy = -1; // in a budget's place: what is refused is forbidden as such
constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

// They stay where they are, so that a call may look at one while it is removed.
struct Budget {
  std::atomic<uint64_t> calls_limit{kUnlimited}, bytes_limit{kUnlimited}, calls{0}, bytes{0};
};
auto& budgets = *new std::array<Budget, kBudgets>();

std::mutex& mutex = *new std::mutex(); // over the patterns; "" is a budget that isn't used
auto& patterns = *new std::array<std::string, kBudgets>();

std::atomic<bool> listening{false};

bool matches(const std::string& name, const std::string& pattern) {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

// Calls a function that Python has registered as an op's kernel; it may throw.
void call_python(const char* function, std::vector<c10::IValue> arguments) {
  const auto handle = c10::Dispatcher::singleton().findSchemaOrThrow(function, "");
  handle.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &arguments);
}

[[noreturn]] void refuse(
    const Op& op, c10::DeviceIndex device, int64_t budget, uint64_t spent, const std::string& site) {
  if (listening.load(std::memory_order_relaxed)) {
    call_python(
        "accelplug_sim::fallback_refused",
        {op.name, static_cast<int64_t>(device), budget, static_cast<int64_t>(spent), site});
  }
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, op.name, " is not among the ops that ", device_name(device), " runs on the device, and ",
      budget == kPolicy ? "falling back to the CPU is forbidden" : "its budget for falling back to the CPU is spent");
}

template <typename Each>
void for_each_budget(const Op& op, const Each& each) {
  for (auto left = op.budgets.load(std::memory_order_relaxed); left != 0; left &= left - 1) {
    const int number = __builtin_ctzll(left);
    each(number, budgets[number]);
  }
}

} // namespace

namespace detail {
std::atomic<bool> forbidden{false};

void refuse_forbidden(const Op& op, c10::DeviceIndex device, const std::string& site) {
  refuse(op, device, kPolicy, 0, site);
}

void spend_calls(const Op& op, c10::DeviceIndex device, uint64_t calls, const std::string& site) {
  for_each_budget(op, [&](int number, Budget& budget) {
    const auto spent = budget.calls.fetch_add(calls, std::memory_order_relaxed) + calls;
    if (spent > budget.calls_limit.load(std::memory_order_relaxed)) {
      refuse(op, device, number, spent, site);
    }
  });
}

void spend_bytes(const Op& op, c10::DeviceIndex device, uint64_t bytes, const std::string& site) {
  for_each_budget(op, [&](int number, Budget& budget) {
    const auto spent = budget.bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    if (spent > budget.bytes_limit.load(std::memory_order_relaxed)) {
      refuse(op, device, number, spent, site);
    }
  });
}

// Tells Python of the first call, and of the first that makes ten, a hundred and so on. One thread of several wins.
void notice(const Op& op, c10::DeviceIndex device, Counts& counts, uint64_t calls, const std::string& site) {
  auto next = counts.next_notice.load();
  auto after = next;
  do {
    if (calls < next) {
      return;
    }
    for (after = next; after <= calls; after *= 10) {
    }
  } while (!counts.next_notice.compare_exchange_weak(next, after));
  if (listening.load(std::memory_order_relaxed)) {
    call_python(
        "accelplug_sim::fallback_noticed",
        {op.name, static_cast<int64_t>(device), static_cast<int64_t>(calls), next == 1, site});
  }
}
} // namespace detail

void listen(bool on) {
  listening = on;
}

void forbid(bool on) {
  detail::forbidden = on;
}

int64_t add_budget(const std::string& pattern, int64_t calls, int64_t bytes) {
  int64_t number = 0;
  {
    std::lock_guard<std::mutex> lock(mutex);
    while (number < kBudgets && !patterns[number].empty()) {
      number++;
    }
    TORCH_CHECK_VALUE(number < kBudgets, "there are ", kBudgets, " budgets for fallbacks already, the most there may be");
    auto& budget = budgets[number];
    budget.calls_limit = calls < 0 ? kUnlimited : static_cast<uint64_t>(calls);
    budget.bytes_limit = bytes < 0 ? kUnlimited : static_cast<uint64_t>(bytes);
    budget.calls = 0;
    budget.bytes = 0;
    patterns[number] = pattern;
  }
  for_each_op([&](Op& op) {
    if (matches(op.name, pattern)) {
      op.budgets |= uint64_t{1} << number;
    }
  });
  return number;
}

void remove_budget(int64_t number) {
  TORCH_CHECK_INDEX(number >= 0 && number < kBudgets, "there is no budget ", number);
  for_each_op([&](Op& op) { op.budgets &= ~(uint64_t{1} << number); });
  std::lock_guard<std::mutex> lock(mutex);
  patterns[number].clear();
}

void reset_budgets() {
  for (auto& budget : budgets) {
    budget.calls = 0;
    budget.bytes = 0;
  }
}

void end() {
  listening = false;
  detail::forbidden = false;
  for_each_op([](Op& op) { op.budgets = 0; });
}

uint64_t budgets_for(const std::string& name) {
  std::lock_guard<std::mutex> lock(mutex);
  uint64_t bits = 0;
  for (int number = 0; number < kBudgets; number++) {
    if (!patterns[number].empty() && matches(name, patterns[number])) {
      bits |= uint64_t{1} << number;
    }
  }
  return bits;
}

} // namespace accelplug_sim::ledger
