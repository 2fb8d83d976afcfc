// Which order of kernels holds in this thread: a number that Python has given to it; 0 where no scope is active.
//
// It is kept where PyTorch keeps what a backward pass takes over from the thread that started it, so kernels are chosen
// alike in autograd's own threads.
#pragma once

#include <cstdint>

namespace accelplug_kernels {

int64_t current_scope();
void enter_scope(int64_t scope);
// Goes back to the scope before. Throws where this thread has entered none.
void leave_scope();

} // namespace accelplug_kernels
