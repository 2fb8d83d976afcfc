#include "scope.h"

#include <c10/util/Exception.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <atomic>
#include <memory>
#include <string_view>
#include <vector>

namespace accelplug_kernels {
namespace {

constexpr std::string_view kName = "ACCELPLUG_KERNELS";
const c10::DebugInfoKind kScope(&kName);

struct Scope final : c10::DebugInfoBase {
  explicit Scope(int64_t number) : number(number) {}
  std::atomic<int64_t> number;
};

struct Entered {
  int64_t before;
  std::shared_ptr<c10::ThreadLocalDebugInfo> below, pushed;
};

std::vector<Entered>& entered() {
  static thread_local std::vector<Entered> stack;
  return stack;
}

Scope* innermost() {
  return static_cast<Scope*>(c10::ThreadLocalDebugInfo::get(kScope));
}

} // namespace

int64_t current_scope() {
  const Scope* scope = innermost();
  return scope ? scope->number.load(std::memory_order_relaxed) : 0;
}

void enter_scope(int64_t number) {
  const auto before = current_scope();
  auto below = c10::ThreadLocalDebugInfo::current();
  c10::ThreadLocalDebugInfo::_push(kScope, std::make_shared<Scope>(number));
  entered().push_back({before, std::move(below), c10::ThreadLocalDebugInfo::current()});
}

void leave_scope() {
  TORCH_CHECK(!entered().empty(), "no scope of kernels was entered in this thread");
  auto last = std::move(entered().back());
  entered().pop_back();
  if (c10::ThreadLocalDebugInfo::current() == last.pushed) {
    c10::ThreadLocalDebugInfo::_forceCurrentDebugInfo(std::move(last.below));
  } else if (Scope* scope = innermost()) { // a profiler was started meanwhile, and what it has put on top must stay
    scope->number.store(last.before, std::memory_order_relaxed);
  }
}

} // namespace accelplug_kernels
