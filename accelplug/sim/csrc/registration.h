// What each part registers with PyTorch. Called once, by api.cpp, and never by a static initialiser: an exception in
// one of those ends the process.
#pragma once

#include <torch/library.h>

#include <memory>

namespace accelplug_sim {

void register_guard();
void register_hooks();
void register_handwritten(torch::Library& aten);
void register_transfers(torch::Library& aten);
void register_attention_choice(torch::Library& aten);
// Every aten op that has a CPU kernel, and a catch-all for the ops of other libraries.
void register_fallbacks(torch::Library& aten, torch::Library& every_namespace);
void register_collectives();
void register_autocast();

} // namespace accelplug_sim
