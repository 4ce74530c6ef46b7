#include "referee/device/launch_times.hpp"

#include <utility>

namespace ouroboros::referee::device {
namespace {

class RecordedSession final : public Session {
 public:
  RecordedSession(std::unique_ptr<CudaSession> session, const std::vector<LaunchPlan>& plans,
                  LaunchTimes& times)
      : session_(std::move(session)), times_(times) {
    for (const auto& plan : plans) {
      auto& launches = launches_.emplace_back();
      for (const auto& launch : plan.launches) {
        auto& one = launches.emplace_back();
        if (const auto* kernel = std::get_if<KernelLaunch>(&launch)) {
          one = {kernel->function, plan.modules.at(kernel->module).origin == ModuleOrigin::library};
        }
      }
    }
  }

  Replay replay(std::size_t call, Placement placement) override {
    auto replay = session_->replay(call, placement);
    if (replay.hindered) {
      return replay;
    }
    // A replay that ended early has fewer launches than the plan.
    for (std::size_t i = 0; i < replay.launches.size(); ++i) {
      const auto& [kernel, library] = launches_.at(call).at(i);
      const auto time = replay.launches[i];
      times_.all += time;
      if (library) {
        times_.libraries += time;
      }
      if (!kernel.empty()) {
        times_.kernels[kernel] += time;
      }
    }
    return replay;
  }

  void pin(int cpu) override { session_->pin(cpu); }
  [[nodiscard]] bool exports(std::size_t call) const override { return session_->exports(call); }
  [[nodiscard]] const Replay& opening() const noexcept override { return session_->opening(); }
  [[nodiscard]] const Isolation& isolation() const noexcept override {
    return session_->isolation();
  }

 private:
  struct Launched {
    std::string kernel;  ///< Empty for a fill or a copy.
    bool library = false;
  };

  std::unique_ptr<CudaSession> session_;
  std::vector<std::vector<Launched>> launches_;  ///< By plan.
  LaunchTimes& times_;
};

}  // namespace

std::map<std::string, double> LaunchTimes::shares() const {
  std::map<std::string, double> result;
  if (all.count() > 0) {
    for (const auto& [name, time] : kernels) {
      result[name] = static_cast<double>(time.count()) / static_cast<double>(all.count());
    }
  }
  return result;
}

std::unique_ptr<Session> recorded(std::unique_ptr<CudaSession> session,
                                  const std::vector<LaunchPlan>& plans, LaunchTimes& times) {
  return std::make_unique<RecordedSession>(std::move(session), plans, times);
}

}  // namespace ouroboros::referee::device
