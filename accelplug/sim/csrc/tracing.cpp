#include "tracing.h"

#include "streams.h"

#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#if __has_include(<torch/csrc/profiler/standalone/privateuse1_profiler.h>) && __has_include(<libkineto.h>)
#define ACCELPLUG_SIM_PROFILES
#include <libkineto.h>
#include <output_base.h>
#include <torch/csrc/profiler/standalone/privateuse1_profiler.h>
#endif

namespace accelplug_sim::tracing {
namespace {

struct Activity {
  std::string name;
  const char* kind;
  c10::DeviceIndex device;
  int64_t stream, began, ended, bytes;
  uint64_t op; // PyTorch's number of the op on the host that it belongs to, 0 where there is none
};

std::mutex& mutex = *new std::mutex(); // over the activities
auto& activities = *new std::vector<Activity>();
std::atomic<uint64_t> session{0}; // counts them

// The ops that this thread is in, the innermost last. One that was running when a session ended never says that it has.
std::vector<uint64_t>& ops() {
  thread_local uint64_t of_session = 0;
  thread_local std::vector<uint64_t> running;
  if (const auto now = session.load(std::memory_order_relaxed); now != of_session) {
    of_session = now;
    running.clear();
  }
  return running;
}

std::vector<Activity> taken() {
  std::lock_guard<std::mutex> lock(mutex);
  return std::exchange(activities, {});
}

} // namespace

namespace detail {
std::atomic<bool> recording{false};

int64_t now() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
}
} // namespace detail

void end(int64_t began, const std::string& name, const char* kind, c10::DeviceIndex device, int64_t bytes) {
  if (began == 0) {
    return;
  }
  const auto& running = ops();
  Activity activity{
      name, kind, device, current_stream(device).id(), began, detail::now(), bytes, running.empty() ? 0 : running.back()};
  std::lock_guard<std::mutex> lock(mutex);
  activities.push_back(std::move(activity));
}

#ifdef ACCELPLUG_SIM_PROFILES
namespace {

namespace kineto = libkineto;

// One recording. What it gives to the logger has to live until the trace is written, so the buffer is handed over.
class Session final : public kineto::IActivityProfilerSession {
 public:
  void start() override {
    taken(); // what a recording before has left
    session++;
    detail::recording = true;
    status_ = kineto::TraceStatus::RECORDING;
  }

  void stop() override {
    detail::recording = false;
    status_ = kineto::TraceStatus::PROCESSING;
  }

  std::vector<std::string> errors() override {
    return {};
  }

  void processTrace(kineto::ActivityLogger& logger) override {
    processTrace(logger, nullptr, 0, 0);
  }

  void processTrace(
      kineto::ActivityLogger& logger, kineto::getLinkedActivityCallback op_of, int64_t start, int64_t end) override {
    buffer_->span = kineto::TraceSpan(start, end, "accelplug simulator");
    for (const auto& activity : taken()) {
      const bool transfer = std::string("transfer") == activity.kind;
      const auto type = transfer ? kineto::ActivityType::GPU_MEMCPY : kineto::ActivityType::CONCURRENT_KERNEL;
      buffer_->emplace_activity(buffer_->span, type, activity.name);
      auto& made = *buffer_->activities.back();
      made.startTime = activity.began;
      made.endTime = activity.ended;
      made.device = activity.device;
      made.resource = static_cast<int32_t>(activity.stream);
      made.id = static_cast<int32_t>(activity.op);
      made.linked = op_of && activity.op ? op_of(static_cast<int32_t>(activity.op)) : nullptr;
      made.addMetadataQuoted("accelplug", activity.kind);
      made.addMetadataQuoted("device", device_name(activity.device));
      made.addMetadataQuoted("bytes", std::to_string(activity.bytes));
      logger.handleGenericActivity(made);
    }
  }

  std::unique_ptr<kineto::DeviceInfo> getDeviceInfo() override {
    return std::make_unique<kineto::DeviceInfo>(
        kineto::DeviceInfo{0, kineto::kExceedMaxPid, device_name(0), device_name(0)});
  }

  std::vector<kineto::ResourceInfo> getResourceInfos() override {
    return {};
  }

  std::unique_ptr<kineto::CpuTraceBuffer> getTraceBuffer() override {
    return std::move(buffer_);
  }

  void pushCorrelationId(uint64_t id) override {
    ops().push_back(id);
  }

  void popCorrelationId() override {
    if (auto& running = ops(); !running.empty()) { // a recording may begin inside of an op
      running.pop_back();
    }
  }

 private:
  std::unique_ptr<kineto::CpuTraceBuffer> buffer_ = std::make_unique<kineto::CpuTraceBuffer>();
};

class Profiler final : public kineto::IActivityProfiler {
 public:
  const std::string& name() const override {
    return name_;
  }

  const std::set<kineto::ActivityType>& availableActivities() const override {
    return available_;
  }

  std::unique_ptr<kineto::IActivityProfilerSession> configure(
      const std::set<kineto::ActivityType>& wanted, const kineto::Config&) override {
    return wanted.count(kineto::ActivityType::CONCURRENT_KERNEL) ? std::make_unique<Session>() : nullptr;
  }

  std::unique_ptr<kineto::IActivityProfilerSession> configure(
      int64_t, int64_t, const std::set<kineto::ActivityType>& wanted, const kineto::Config& config) override {
    return configure(wanted, config);
  }

 private:
  std::string name_ = "accelplug simulator";
  std::set<kineto::ActivityType> available_ = {
      kineto::ActivityType::CONCURRENT_KERNEL, kineto::ActivityType::GPU_MEMCPY};
};

} // namespace
#endif

void register_profiler() {
#ifdef ACCELPLUG_SIM_PROFILES
  torch::profiler::impl::PrivateUse1ProfilerRegistry::instance().registerFactory(
      [] { return std::make_unique<Profiler>(); });
#endif
}

} // namespace accelplug_sim::tracing
