#include "ouroboros/verdict.hpp"

#include <pybind11/stl.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "bindings.hpp"
#include "ouroboros/error.hpp"
#include "ouroboros/plan.hpp"

namespace ouroboros::bindings {
namespace {

RewardPolicy parse_policy(const std::string& text) {
  RewardPolicy policy;
  const std::map<std::string, double*> numbers = {
      {"correct", &policy.correct},     {"speedup_weight", &policy.speedup_weight},
      {"incorrect", &policy.incorrect}, {"runtime_error", &policy.runtime_error},
      {"timeout", &policy.timeout},     {"compile_error", &policy.compile_error},
      {"rejected", &policy.rejected},   {"maximum", &policy.maximum},
  };
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) {
    throw Error(ErrorCode::invalid_argument, "the reward policy is no JSON object");
  }
  for (const auto& [key, value] : json.items()) {
    const auto number = numbers.find(key);
    if (key == "baseline" && value.is_string()) {
      policy.baseline = value.get<std::string>();
    } else if (number != numbers.end() && value.is_number()) {
      *number->second = value.get<double>();
    } else {
      throw Error(ErrorCode::invalid_argument, "the reward policy's key '" + key +
                                                   "' is unknown or has a value of another type");
    }
  }
  return policy;
}

}  // namespace

void bind_verdict(py::module_& module) {
  module.attr("SCHEMA_VERSION") = Verdict::schema_version;
  module.def(
      "explain", [](const std::string& json) { return Verdict::from_json(json).explain(); },
      py::arg("verdict_json"), "A short text for a person.");
  module.def(
      "feedback", [](const std::string& json) { return Verdict::from_json(json).feedback(); },
      py::arg("verdict_json"), "A short text for a model to learn from.");
  module.def(
      "reward",
      [](const std::string& json, const std::string& policy) {
        return Verdict::from_json(json).reward(parse_policy(policy));
      },
      py::arg("verdict_json"), py::arg("policy_json") = "{}",
      "A reward, or None for infrastructure faults and invalid problems.");
  module.def(
      "sha256",
      [](const py::bytes& data) {
        const auto view = static_cast<std::string_view>(data);
        return sha256_hex(view.data(), view.size());
      },
      py::arg("data"), "SHA-256 as 64 lower-case hexadecimal digits.");
}

}  // namespace ouroboros::bindings
