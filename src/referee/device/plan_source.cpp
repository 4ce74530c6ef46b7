#include "referee/device/plan_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "referee/device/device.hpp"

namespace ouroboros::referee::device {
namespace {

/// Refusals that mean that the candidate computes something else.
constexpr std::array<std::string_view, 9> wrong_result = {
    "input_count",  "output_count", "input_dtype",    "input_shape",        "input_strides",
    "output_dtype", "output_shape", "output_strides", "output_unreferenced"};

/// Refusals that mean that a launch would fail, or has nothing to work with.
constexpr std::array<std::string_view, 11> failing_launch = {
    "grid_too_large",     "block_too_large",  "cluster_invalid", "shared_too_large",
    "too_many_launches",  "too_much_scratch", "device_heap",     "wrong_architecture",
    "tensor_map_outside", "not_a_cubin",      "no_launch"};

template <std::size_t N>
bool among(const std::array<std::string_view, N>& kinds, const std::string& kind) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

Misconduct misconduct_of(const PlanRefusal& refusal) {
  if (among(wrong_result, refusal.kind) || refusal.kind == "input_written") {
    return {Status::incorrect, {refusal.kind, "error", "compile", refusal.evidence}};
  }
  if (among(failing_launch, refusal.kind)) {
    return {Status::runtime_error, {refusal.kind, "error", "compile", refusal.evidence}};
  }
  return {Status::rejected, {refusal.kind, "cheat", "compile", refusal.evidence}};
}

}  // namespace

bool serves(std::string_view language) noexcept {
  return language == "triton" || language == "python" || language == "cuda" || language == "ptx" ||
         language == plan_language;
}

std::vector<DType> dtypes(const Problem& problem) {
  auto all = problem.dtypes;
  if (all.size() > 1) {
    std::erase(all, DType::float64);
  }
  return all;
}

std::vector<PlanBuffer> signature_of(const std::vector<Buffer>& buffers) {
  std::vector<PlanBuffer> signature;
  for (const auto& buffer : buffers) {
    PlanBuffer one;
    one.name = buffer.name;
    one.role = buffer.role == BufferRole::input ? PlanRole::input : PlanRole::output;
    one.bytes = buffer.bytes();
    one.dtype = buffer.dtype;
    one.shape = buffer.shape;
    one.strides.resize(buffer.shape.size());
    std::int64_t stride = 1;
    for (std::size_t i = buffer.shape.size(); i-- > 0;) {
      one.strides[i] = stride;
      stride *= std::max<std::int64_t>(1, buffer.shape[i]);
    }
    signature.push_back(std::move(one));
  }
  return signature;
}

std::vector<Planned> audited_plans(PlanSource& source, const Problem& problem,
                                   const std::vector<PlanRequest>& requests) {
  auto all = source.plans(requests);
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto& one = all[i];
    PlanRules rules;
    rules.signature = signature_of(requests[i].buffers);
    rules.library_kernels = problem.policies.library_kernels != LibraryKernels::forbid;
    for (const auto& variant : one.variants) {
      if (one.fault) break;
      const auto refusals = audit(variant, rules);
      if (!refusals.empty()) {
        one.fault = misconduct_of(refusals.front());
      }
    }
    if (one.fault) {
      one.variants.clear();
    }
  }
  return all;
}

}  // namespace ouroboros::referee::device
