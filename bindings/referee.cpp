#include "ouroboros/referee.hpp"

#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include "bindings.hpp"
#include "callables.hpp"

namespace ouroboros::bindings {
namespace {

/// Asked together with the signals during a call.
using Cancelled = OptionalCallable<py::bool_()>;

/// A stage's outcome for Python: the verdict that holds its part, and the status that it imposes.
using Outcome = std::tuple<std::string, std::optional<std::string>>;

std::optional<std::string> name_of(const std::optional<Status>& status) {
  if (!status) return std::nullopt;
  return std::string(to_string(*status));
}

Outcome outcome_of(Verdict verdict, const std::optional<Status>& failure) {
  verdict.status = failure.value_or(Status::ok);
  return {verdict.to_json(), name_of(failure)};
}

/// Runs `work` without the GIL and lets signals and `cancelled` end it.
template <class Work>
auto run(const Cancelled& cancelled, Work&& work) {
  CallScope scope(cancelled);
  std::optional<decltype(work())> result;
  std::exception_ptr thrown;
  {
    const py::gil_scoped_release released;
    try {
      result.emplace(work());
    } catch (...) {
      thrown = std::current_exception();
    }
  }
  // What interrupted the call goes before what the library made of it.
  scope.rethrow();
  if (thrown) std::rethrow_exception(thrown);
  return *std::move(result);
}

/// A side of a comparison: source, name and language, or a baseline with a plan.
using Side = std::variant<std::tuple<py::bytes, std::string, std::string>, Baseline>;

Contender contender_of(const Side& side) {
  if (const auto* baseline = std::get_if<Baseline>(&side)) {
    return {baseline->name, baseline->plan};
  }
  const auto& [source, name, language] = std::get<0>(side);
  return {name, Candidate{source, name, language}};
}

/// The referee, asked through the scope of each call whether to stop.
std::unique_ptr<Referee> make_referee(Options options) {
  options.cancelled = [user = std::move(options.cancelled)] {
    CallScope* scope = CallScope::current();
    return (scope != nullptr && scope->should_stop()) || (user && user());
  };
  return std::make_unique<Referee>(std::move(options));
}

}  // namespace

void bind_referee(py::module_& module) {
  py::class_<Compiled>(module, "Compiled", "A candidate that was compiled, or the reason why not.")
      .def_property_readonly(
          "failure", [](const Compiled& compiled) { return name_of(compiled.failure); },
          "The status that compiling imposes, or None.")
      .def_property_readonly(
          "language", [](const Compiled& compiled) { return compiled.candidate.language; },
          "What the candidate is written in.")
      .def_property_readonly("image",
                             [](const Compiled& compiled) {
                               return py::bytes(
                                   reinterpret_cast<const char*>(compiled.image.bytes.data()),
                                   compiled.image.bytes.size());
                             })
      .def(
          "to_json",
          [](const Compiled& compiled) {
            Verdict verdict;
            verdict.compilation = compiled.record;
            verdict.findings = compiled.findings;
            return outcome_of(std::move(verdict), compiled.failure);
          },
          "The verdict that holds this stage alone, as JSON, and its failure.");

  module.def(
      "read_candidate",
      [](const std::string& path) {
        Candidate candidate = Candidate::from_file(path);
        return std::make_tuple(py::bytes(candidate.source), candidate.name);
      },
      py::arg("path"), "The source and the name of a candidate in a file.");

  py::class_<SharedCases, std::shared_ptr<SharedCases>>(
      module, "SharedCases", "Cases of one problem that a group of candidates is judged on.");

  py::class_<Referee>(module, "Referee", "Decides whether a candidate is correct, and how fast.")
      .def(py::init(&make_referee), py::arg("options"))
      .def(
          "judge_json",
          [](const Referee& referee, const Problem& problem, const py::bytes& source,
             std::string name, std::string language, const Cancelled& cancelled,
             const std::optional<std::shared_ptr<SharedCases>>& cases) {
            const Candidate candidate{source, std::move(name), std::move(language)};
            return run(cancelled, [&] {
              return (cases ? referee.judge(problem, candidate, **cases)
                            : referee.judge(problem, candidate))
                  .to_json();
            });
          },
          py::arg("problem"), py::arg("source"), py::arg("name") = "candidate",
          py::arg("language") = "cpp", py::arg("cancelled") = py::none(),
          py::arg("cases") = py::none(), "Runs every stage and returns the verdict as JSON.")
      .def(
          "compare_json",
          [](const Referee& referee, const Problem& problem, const Side& a, const Side& b,
             const Cancelled& cancelled) {
            const auto first = contender_of(a);
            const auto second = contender_of(b);
            return run(cancelled,
                       [&] { return referee.compare(problem, first, second).to_json(); });
          },
          py::arg("problem"), py::arg("a"), py::arg("b"), py::arg("cancelled") = py::none(),
          "Times one side against the other and returns the verdict as JSON.")
      .def(
          "calibrate_json",
          [](const Referee& referee, bool fresh, const Cancelled& cancelled) {
            return run(cancelled, [&] { return referee.calibrate(fresh).to_json(); });
          },
          py::arg("fresh"), py::arg("cancelled") = py::none(),
          "What the GPU's clock can resolve, as JSON.")
      .def(
          "share_cases",
          [](const Referee& referee, const Problem& problem) -> std::shared_ptr<SharedCases> {
            return referee.share_cases(problem);
          },
          py::arg("problem"),
          "Cases for a group of candidates, drawn when the first of them needs them.")
      .def(
          "validate",
          [](const Referee& referee, const Problem& problem, const Cancelled& cancelled) {
            return run(cancelled, [&] { return referee.validate(problem); });
          },
          py::arg("problem"), py::arg("cancelled") = py::none(),
          "One sentence on what is wrong with the problem, or None when it is sound.")
      .def(
          "compile",
          [](const Referee& referee, const Problem& problem, const py::bytes& source,
             std::string name, std::string language, const Cancelled& cancelled) {
            const Candidate candidate{source, std::move(name), std::move(language)};
            return run(cancelled, [&] { return referee.compile(problem, candidate); });
          },
          py::arg("problem"), py::arg("source"), py::arg("name") = "candidate",
          py::arg("language") = "cpp", py::arg("cancelled") = py::none(), "The first stage alone.")
      .def(
          "inspect",
          [](const Referee& referee, const Compiled& compiled) {
            const py::gil_scoped_release released;
            Verdict verdict;
            verdict.findings = referee.inspect(compiled);
            return verdict.to_json();
          },
          py::arg("compiled"), "A verdict, as JSON, whose findings are what the module gives away.")
      .def(
          "sweep",
          [](const Referee& referee, const Problem& problem, const Compiled& compiled,
             const Cancelled& cancelled) {
            return run(cancelled, [&] {
              SweepOutcome outcome = referee.sweep(problem, compiled);
              Verdict verdict;
              verdict.correctness = std::move(outcome.record);
              verdict.findings = std::move(outcome.findings);
              verdict.isolation = std::move(outcome.isolation);
              return outcome_of(std::move(verdict), outcome.failure);
            });
          },
          py::arg("problem"), py::arg("compiled"), py::arg("cancelled") = py::none(),
          "Correctness alone.")
      .def(
          "time",
          [](const Referee& referee, const Problem& problem, const Compiled& compiled,
             const Cancelled& cancelled) {
            return run(cancelled, [&] {
              TimingOutcome outcome = referee.time(problem, compiled);
              Verdict verdict;
              verdict.timing = std::move(outcome.record);
              verdict.findings = std::move(outcome.findings);
              return outcome_of(std::move(verdict), outcome.failure);
            });
          },
          py::arg("problem"), py::arg("compiled"), py::arg("cancelled") = py::none(),
          "Timing against the baselines alone.")
      .def(
          "gate",
          [](const Referee& referee, const Problem& problem, const Compiled& compiled,
             const Cancelled& cancelled) {
            return run(cancelled, [&] {
              GateOutcome outcome = referee.gate(problem, compiled);
              Verdict verdict;
              verdict.gate = std::move(outcome.record);
              verdict.findings = std::move(outcome.findings);
              return outcome_of(std::move(verdict), outcome.failure);
            });
          },
          py::arg("problem"), py::arg("compiled"), py::arg("cancelled") = py::none(),
          "The stability gate alone.")
      .def_property_readonly("options", [](const Referee& referee) { return referee.options(); });
}

}  // namespace ouroboros::bindings
