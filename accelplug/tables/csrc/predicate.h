// What a kernel asks of a call, as data: a list of clauses, each about one argument. `accelplug/tables/predicate.py` makes
// the list, and evaluates the same list in Python; the two must agree.
#pragma once

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <string>
#include <vector>

namespace accelplug_kernels {

enum class Kind : int64_t { // the numbers are those of predicate.py
  resolved, // no pending conjugation or negation
  dtype, // x: a bit for each ScalarType
  rank, // x: a bit for each number of dimensions
  multiple, // dimension x, of y
  at_least, // dimension x, y elements
  at_most, // dimension x, y elements
  contiguous,
  zero_offset,
  value, // the values x to y of the list that goes with the clauses
};

struct Clause {
  size_t argument;
  Kind kind;
  int64_t x, y;
};

// A value that an argument may have. Numbers are equal whether int or float; a bool is no number.
struct Value {
  enum class Type { none, boolean, integer, real, text };

  explicit Value(const std::string& encoded); // "n", "b1", "i-3", "f0.5", "stanh"
  bool equals(const c10::IValue& value) const;

  Type type;
  int64_t integer = 0;
  double real = 0;
  std::string text;
};

class Predicate {
 public:
  // Four numbers for each clause: argument, kind, x, y.
  Predicate(const std::vector<int64_t>& encoded, const std::vector<std::string>& values);

  // The number of the first clause that a call doesn't meet, -1 where it meets all.
  int64_t refusal(const c10::IValue* arguments) const;

  size_t size() const {
    return clauses_.size();
  }

 private:
  bool holds(const Clause& clause, const c10::IValue& value) const;
  bool is_one_of(const Clause& clause, const c10::IValue& value) const;

  std::vector<Clause> clauses_;
  std::vector<Value> values_;
};

// A bit for each dtype that is named. Throws where PyTorch has none of that name.
int64_t dtype_bits(const std::vector<std::string>& names);

} // namespace accelplug_kernels
