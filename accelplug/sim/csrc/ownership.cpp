#include "ownership.h"

#include "device.h"

#include <c10/util/Exception.h>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>

namespace accelplug_sim::ownership {
namespace {

std::mutex& mutex = *new std::mutex();
auto& files = *new std::vector<std::string>();
auto& is_open = *new std::array<std::atomic<bool>, kMaxDevices>();

// The number that the holder has left in the file; it may not have come to that yet.
std::string holder(int file) {
  char text[32] = {};
  return pread(file, text, sizeof(text) - 1, 0) > 0 ? std::string("process ") + text : "another process";
}

} // namespace

namespace detail {
std::atomic<bool> any{false};

void open(c10::DeviceIndex device) {
  if (C10_LIKELY(is_open[device].load(std::memory_order_acquire))) {
    return;
  }
  std::lock_guard<std::mutex> guard(mutex);
  if (is_open[device]) {
    return;
  }
  const auto& path = files.at(device);
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  TORCH_CHECK(file >= 0, device_name(device), ": ", path, ": ", std::strerror(errno));
  if (flock(file, LOCK_EX | LOCK_NB)) {
    const auto error = errno;
    const auto who = holder(file);
    close(file);
    TORCH_CHECK(error == EWOULDBLOCK, device_name(device), ": ", path, ": ", std::strerror(error));
    TORCH_CHECK(
        false, device_name(device), ": Device or resource busy: ", who, " has it open, and its profile says that one "
        "process at a time may (exclusive). End that process, or use another device");
  }
  const auto text = std::to_string(getpid());
  TORCH_CHECK(
      !ftruncate(file, 0) && pwrite(file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()), path, ": ",
      std::strerror(errno));
  is_open[device].store(true, std::memory_order_release); // the file stays open: the lock ends with the process
}
} // namespace detail

void set(std::vector<std::string> lock_files) {
  std::lock_guard<std::mutex> guard(mutex);
  files = std::move(lock_files);
  detail::any = !files.empty();
}

} // namespace accelplug_sim::ownership
