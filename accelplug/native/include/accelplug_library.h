// What each C++ library of accelplug's does with PyTorch's dispatcher. Everything here is internal to the file that
// includes it: the libraries are in one process, and must not share a static.
#pragma once

#include <torch/library.h>

#include <exception>
#include <optional>
#include <string>

namespace accelplug_library {
namespace {

// Defines operators of PyTorch's namespace `name`, once. For the C function that Python calls through ctypes: returns
// nullptr, or what went wrong. With static TORCH_LIBRARY blocks a mismatch would end the process inside dlopen.
const char* load(const char* name, void (*define)(torch::Library&)) {
  static std::string error;
  static bool loaded = false;
  if (loaded) {
    return nullptr;
  }
  try {
    static auto& library = *new torch::Library(torch::Library::FRAGMENT, name, std::nullopt, __FILE__, __LINE__);
    define(library);
    loaded = true;
    return nullptr;
  } catch (const std::exception& caught) {
    error = caught.what();
    return error.c_str();
  }
}

// The part of "aten::add.Tensor" that torch::Library::impl takes.
std::string within_namespace(const c10::OperatorName& name) {
  const auto bare = name.name.substr(name.name.find("::") + 2);
  return name.overload_name.empty() ? bare : bare + "." + name.overload_name;
}

// While one lives, PyTorch doesn't warn of kernels that are replaced: they are so on purpose.
class Replacing {
 private:
  struct Quiet final : c10::WarningHandler {
    void process(const c10::Warning&) override {}
  };
  Quiet quiet_;
  c10::WarningUtils::WarningHandlerGuard guard_{&quiet_};
};

} // namespace
} // namespace accelplug_library
