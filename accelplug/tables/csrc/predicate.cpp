#include "predicate.h"

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

namespace accelplug_kernels {
namespace {

bool has_dimension(const at::Tensor& tensor, int64_t dimension) {
  return dimension >= -tensor.dim() && dimension < tensor.dim();
}

bool tensor_meets(const Clause& clause, const at::Tensor& tensor) {
  switch (clause.kind) {
    case Kind::resolved:
      return !tensor.is_conj() && !tensor.is_neg();
    case Kind::dtype:
      return (clause.x >> static_cast<int>(tensor.scalar_type())) & 1;
    case Kind::rank:
      return tensor.dim() < 63 && ((clause.x >> tensor.dim()) & 1);
    case Kind::multiple:
      return has_dimension(tensor, clause.x) && tensor.size(clause.x) % clause.y == 0;
    case Kind::at_least:
      return has_dimension(tensor, clause.x) && tensor.size(clause.x) >= clause.y;
    case Kind::at_most:
      return has_dimension(tensor, clause.x) && tensor.size(clause.x) <= clause.y;
    case Kind::contiguous:
      return tensor.is_contiguous();
    case Kind::zero_offset:
      return tensor.storage_offset() == 0;
    case Kind::value:
      return false;
  }
  return false;
}

} // namespace

Value::Value(const std::string& encoded) {
  const auto rest = encoded.substr(1);
  switch (encoded.at(0)) {
    case 'n':
      type = Type::none;
      break;
    case 'b':
      type = Type::boolean;
      integer = rest == "1";
      break;
    case 'i':
      type = Type::integer;
      integer = std::stoll(rest);
      break;
    case 'f':
      type = Type::real;
      real = std::stod(rest);
      break;
    case 's':
      type = Type::text;
      text = rest;
      break;
    default:
      TORCH_CHECK(false, "a value is encoded as ", encoded);
  }
}

bool Value::equals(const c10::IValue& value) const {
  switch (type) {
    case Type::none:
      return value.isNone();
    case Type::boolean:
      return value.isBool() && value.toBool() == (integer != 0);
    case Type::integer:
      return (value.isInt() && value.toInt() == integer) ||
          (value.isDouble() && value.toDouble() == static_cast<double>(integer));
    case Type::real:
      return (value.isDouble() && value.toDouble() == real) ||
          (value.isInt() && static_cast<double>(value.toInt()) == real);
    case Type::text:
      return value.isString() && value.toStringRef() == text;
  }
  return false;
}

Predicate::Predicate(const std::vector<int64_t>& encoded, const std::vector<std::string>& values) {
  TORCH_CHECK(encoded.size() % 4 == 0, "a clause is four numbers");
  for (size_t i = 0; i < encoded.size(); i += 4) {
    clauses_.push_back(
        {static_cast<size_t>(encoded[i]), static_cast<Kind>(encoded[i + 1]), encoded[i + 2], encoded[i + 3]});
  }
  for (const auto& value : values) {
    values_.emplace_back(value);
  }
}

int64_t Predicate::refusal(const c10::IValue* arguments) const {
  for (size_t i = 0; i < clauses_.size(); i++) {
    if (C10_UNLIKELY(!holds(clauses_[i], arguments[clauses_[i].argument]))) {
      return static_cast<int64_t>(i);
    }
  }
  return -1;
}

bool Predicate::holds(const Clause& clause, const c10::IValue& value) const {
  if (clause.kind == Kind::value) {
    return is_one_of(clause, value);
  }
  if (C10_LIKELY(value.isTensor())) {
    const at::Tensor& tensor = value.toTensor();
    return !tensor.defined() || tensor_meets(clause, tensor);
  }
  if (value.isNone()) { // an optional tensor that isn't given meets everything
    return true;
  }
  for (const c10::IValue& each : value.toListRef()) { // Tensor[] or Tensor?[]
    if (!each.isNone() && each.toTensor().defined() && !tensor_meets(clause, each.toTensor())) {
      return false;
    }
  }
  return true;
}

bool Predicate::is_one_of(const Clause& clause, const c10::IValue& value) const {
  for (int64_t i = clause.x; i < clause.y; i++) {
    if (values_[i].equals(value)) {
      return true;
    }
  }
  return false;
}

int64_t dtype_bits(const std::vector<std::string>& names) {
  int64_t bits = 0;
  for (const auto& name : names) {
    const auto& known = c10::getStringToDtypeMap();
    const auto found = known.find(name);
    TORCH_CHECK(found != known.end(), "there is no dtype ", name);
    bits |= int64_t{1} << static_cast<int>(found->second);
  }
  return bits;
}

} // namespace accelplug_kernels
