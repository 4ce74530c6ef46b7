#include <map>
#include <mutex>

#include "compile/cuda/cuda.hpp"
#include "ouroboros/error.hpp"
#include "referee/device/plan_source.hpp"

namespace ouroboros::referee::device {
namespace {

/// Compiles once for each dtype, and evaluates the launch specification for each call.
class SpecifiedPlans final : public PlanSource {
 public:
  SpecifiedPlans(const Candidate& candidate, const std::string& target, const Options& options)
      : candidate_(candidate), target_(target), options_(options) {}

  std::vector<Planned> plans(const std::vector<PlanRequest>& requests) override {
    const std::lock_guard guard(mutex_);
    std::vector<Planned> all;
    for (const auto& request : requests) {
      const auto& module = module_for(request.dtype);
      Planned planned;
      if (module.failure) {
        const auto& [kind, message] = *module.failure;
        planned.fault = Misconduct{kind == "timeout" ? Status::timeout : Status::compile_error,
                                   {kind, "error", "compile", message}};
      } else {
        try {
          planned.variants.push_back(
              cuda::plan_for(module, signature_of(request.buffers), request.axes));
        } catch (const cuda::SpecificationFault& fault) {
          planned.fault = Misconduct{Status::compile_error,
                                     {"launch_specification", "error", "compile", fault.what()}};
        }
      }
      all.push_back(std::move(planned));
    }
    return all;
  }

  std::optional<PlanImage> staggered(const PlanImage& image) override {
    const std::lock_guard guard(mutex_);
    for (const auto& [dtype, module] : modules_) {
      if (module.cubin.sha256 == image.sha256) {
        auto other = cuda::assemble_staggered(module, options_.limits, options_.scratch,
                                              options_.cancelled, options_.device.libraries);
        if (other) return PlanImage{std::move(other->bytes), std::move(other->sha256)};
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] Compilation record() const override {
    const std::lock_guard guard(mutex_);
    return record_;
  }

 private:
  const cuda::CudaModule& module_for(DType dtype) {
    const auto known = modules_.find(dtype);
    if (known != modules_.end()) {
      return known->second;
    }
    auto module = cuda::compile_cuda(candidate_, dtype, target_, options_.limits, options_.scratch,
                                     options_.cancelled, options_.device.libraries);
    record_.compiler = module.record.compiler;
    record_.flags = module.record.flags;
    record_.duration_ms += module.record.duration_ms;
    if (record_.log.empty()) {
      record_.log = module.record.log;
    }
    return modules_.emplace(dtype, std::move(module)).first->second;
  }

  Candidate candidate_;
  std::string target_;
  Options options_;
  mutable std::mutex mutex_;
  std::map<DType, cuda::CudaModule> modules_;
  Compilation record_;
};

}  // namespace

std::shared_ptr<PlanSource> specified_plans(const Problem&, const Candidate& candidate,
                                            const std::string& target, const Options& options) {
  return std::make_shared<SpecifiedPlans>(candidate, target, options);
}

}  // namespace ouroboros::referee::device
