#include "dispatch.h"

#include "scope.h"

#include <c10/util/SmallVector.h>

namespace accelplug_kernels {
namespace {

// The kernel that a table runs in this thread, and whether it has said that it doesn't take the call. An exception
// can't say so: one of Python's leaves a state behind that only Python's own API clears.
struct Running {
  const Entry* entry = nullptr;
  bool passed_on = false;
};
thread_local Running running;

class Mark {
 public:
  explicit Mark(const Entry* entry) : here_(running), before_(here_) {
    here_ = {entry, false};
  }
  ~Mark() {
    here_ = before_;
  }
  bool passed_on() const {
    return here_.passed_on;
  }

 private:
  Running& here_; // this thread's, looked up once
  const Running before_;
};

void count(std::atomic<uint64_t>& counter) {
  counter.fetch_add(1, std::memory_order_relaxed);
}

bool accepts(Entry& entry, c10::DispatchKeySet keys, const c10::IValue* arguments, size_t number) {
  const auto clause = entry.predicate.refusal(arguments);
  if (clause >= 0) {
    count(entry.failed[clause]);
    return false;
  }
  if (C10_UNLIKELY(entry.refuses.has_value())) {
    torch::jit::Stack stack(arguments, arguments + number);
    entry.refuses->redispatchBoxed(keys, &stack);
    if (stack.back().toBool()) {
      count(entry.refused);
      return false;
    }
  }
  return true;
}

} // namespace

Entry::Entry(
    int64_t number, c10::OperatorHandle kernel, std::optional<c10::OperatorHandle> refuses, Predicate predicate)
    : number(number),
      kernel(new c10::OperatorHandle(std::move(kernel))),
      refuses(std::move(refuses)),
      predicate(std::move(predicate)),
      failed(this->predicate.size()) {}

Table::Table(const c10::OperatorHandle& op, c10::DispatchKey key)
    : arguments_(op.schema().arguments().size()),
      key_(key),
      keys_(key),
      orders_(new std::vector<Order>(1)) {
  if (op.hasComputedKernelForDispatchKey(key)) {
    before_ = op.getComputedKernelForDispatchKey(key);
  }
}

void Table::set_order(int64_t scope, Order order) {
  auto* orders = new std::vector<Order>(*orders_.load());
  if (orders->size() <= static_cast<size_t>(scope)) {
    orders->resize(scope + 1, orders->front());
  }
  (*orders)[scope] = std::move(order);
  orders_.store(orders, std::memory_order_release); // the one before stays: a call may be reading it
}

void Table::call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) const {
  const auto& orders = *orders_.load(std::memory_order_acquire);
  const auto scope = orders.size() == 1 ? 0 : static_cast<size_t>(current_scope());
  const size_t first = stack->size() - arguments_;
  for (Entry* entry : orders[scope < orders.size() ? scope : 0]) {
    if (accepts(*entry, keys_, stack->data() + first, arguments_) && run(*entry, stack, first)) {
      return;
    }
  }
  call_what_was_before(op, keys, stack);
}

// False where the kernel doesn't take the call; the arguments are then back on the stack.
bool Table::run(Entry& entry, torch::jit::Stack* stack, size_t first) const {
  const c10::SmallVector<c10::IValue, 6> arguments(stack->begin() + first, stack->end());
  const Mark mark(&entry);
  bool passed_on = false;
  try {
    entry.kernel.load(std::memory_order_acquire)->redispatchBoxed(keys_, stack);
    passed_on = mark.passed_on();
  } catch (const c10::NotImplementedError&) { // of a kernel in C++
    passed_on = true;
  }
  if (C10_LIKELY(!passed_on)) {
    count(entry.calls);
    return true;
  }
  count(entry.unsupported);
  stack->resize(first);
  stack->insert(stack->end(), arguments.begin(), arguments.end());
  return false;
}

void Table::call_what_was_before(
    const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) const {
  TORCH_CHECK_NOT_IMPLEMENTED(
      before_, c10::toString(op.operator_name()), ": no kernel takes this call, and ", c10::toString(key_),
      " has nothing else for it; accelplug explain --op ", c10::toString(op.operator_name()), " says why");
  before_->callBoxed(op, keys, stack);
}

bool pass_on(int64_t kernel) {
  if (!running.entry || running.entry->number != kernel) {
    return false;
  }
  running.passed_on = true;
  return true;
}

} // namespace accelplug_kernels
