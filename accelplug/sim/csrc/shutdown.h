// The end of the process.
#pragma once

namespace accelplug_sim {

// Waits until PyTorch's autograd threads have let go of the last backward pass. To be called before the interpreter ends.
//
// PyTorch runs the backward pass of each device of an accelerator in a thread of its own. That thread drops its last
// references to Python objects after the caller has gone on, and if the interpreter has ended by then, the process
// aborts. So each thread gets one more pass to do, made in a thread that Python knows nothing of.
void settle_autograd();

} // namespace accelplug_sim
