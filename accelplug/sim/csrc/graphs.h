// The ops of compiled graphs, which make no calls: each run of a graph counts the list of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace accelplug_sim::graphs {

// A graph's ops, for each the device, calls and bytes of one run, and where in the user's code the first of them is.
// Returns the graph's number. It stays until the process ends.
int64_t add(
    const std::vector<std::string>& ops, const std::vector<int64_t>& numbers, const std::vector<std::string>& sites);

// Counts one run, before it. Throws where an op that the vendor doesn't run is forbidden, or beyond a budget.
void count(int64_t number);

// One run, which began at `began` (see tracing.h), has ended.
void ran(int64_t number, int64_t began);

} // namespace accelplug_sim::graphs
