#include "ouroboros/verdict.hpp"

#include <pybind11/stl.h>

#include <string>

#include "bindings.hpp"
#include "ouroboros/plan.hpp"

namespace ouroboros::bindings {

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
        return Verdict::from_json(json).reward(RewardPolicy::from_json(policy));
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
