#include "referee/device/contender.hpp"

#include <algorithm>
#include <utility>

#include "judge/judge.hpp"
#include "ouroboros/error.hpp"
#include "referee/device/device.hpp"
#include "referee/race.hpp"
#include "referee/stages.hpp"

namespace ouroboros::referee::device {
namespace {

std::vector<Buffer> buffers_of(const std::vector<PlanBuffer>& signature) {
  std::vector<Buffer> buffers;
  for (const auto& one : signature) {
    const auto role = one.role == PlanRole::input ? BufferRole::input : BufferRole::output;
    buffers.push_back({one.name, role, one.dtype, one.shape});
  }
  return buffers;
}

/// Whether the signature begins with these inputs.
bool begins_with(const std::vector<PlanBuffer>& signature, const std::vector<Buffer>& inputs) {
  return signature.size() > inputs.size() &&
         std::equal(inputs.begin(), inputs.end(), signature.begin(),
                    [](const Buffer& x, const PlanBuffer& y) {
                      return y.role == PlanRole::input && x.dtype == y.dtype && x.shape == y.shape;
                    });
}

/// Which of the timed calls has these inputs. A plan is asked for by buffers, a trace needs axes.
PlanRequest request_for(const Problem& problem, const Compiled& compiled, const Options& options,
                        const std::vector<PlanBuffer>& signature) {
  for (const auto dtype : judged_dtypes(problem, compiled, options)) {
    for (const auto& axes : timed_cells(problem, compiled)) {
      if (begins_with(signature, judge::input_buffers(problem, dtype, axes))) {
        return {dtype, axes, buffers_of(signature), true};
      }
    }
  }
  throw Error(ErrorCode::unsupported, "it has no plan for tensors like these");
}

/// A baseline asks and answers for one call at a time.
class BaselineSource final : public PlanSource {
 public:
  explicit BaselineSource(Baseline baseline) : baseline_(std::move(baseline)) {}

  std::vector<Planned> plans(const std::vector<PlanRequest>& requests) override {
    std::vector<Planned> all;
    for (const auto& request : requests) {
      const auto signature = signature_of(request.buffers);
      auto& one = all.emplace_back();
      one.variants = baseline_.variants ? baseline_.variants(signature)
                                        : std::vector{baseline_.plan(signature)};
    }
    return all;
  }

  Compilation record() const override { return {}; }

 private:
  Baseline baseline_;
};

}  // namespace

std::function<std::vector<LaunchPlan>(const std::vector<PlanBuffer>&)> variants_of(
    const Problem& problem, std::shared_ptr<const Compiled> compiled, const Options& options) {
  return
      [problem, compiled = std::move(compiled), options](const std::vector<PlanBuffer>& signature) {
        const auto request = request_for(problem, *compiled, options, signature);
        auto planned = std::move(audited_plans(*compiled->plans, problem, {request}).front());
        if (planned.fault) {
          throw Error(ErrorCode::unsupported, planned.fault->finding.evidence);
        }
        return std::move(planned.variants);
      };
}

std::shared_ptr<PlanSource> source_of(const Baseline& baseline) {
  return std::make_shared<BaselineSource>(baseline);
}

}  // namespace ouroboros::referee::device
