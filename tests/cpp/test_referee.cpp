// The referee as a whole: bad input of every kind, stages by themselves, threads, cancellation, and
// that nothing of a verdict stays behind.

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/rand_like.h>
#include <ATen/ops/zeros_like.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "catch.hpp"
#include "judge_problems.hpp"
#include "ouroboros/referee.hpp"
#include "processes.hpp"

using namespace ouroboros;
using ouroboros_test::has_no_children;
using ouroboros_test::problem_of;

namespace {

const std::string signature =
    "extern \"C\" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) ";
const std::string loop = "for (int64_t i = 0; i < rows * cols; ++i) out[i] = 2 * x[i] + 1;";
const std::string honest = signature + "{ " + loop + " }\n";
const std::string wrong = signature + "{ " + loop + " if (rows * cols > 40) out[40] += 1; }\n";
const std::string endless = signature + "{ for (volatile int64_t i = 0;; i = i + 1) {} }\n";

/// out = 2 x + 1: as cheap as a problem can be.
Problem affine() {
  auto problem = problem_of([](const Tensors& in) { return Tensors{in[0] * 2 + 1}; });
  problem.name = "affine";
  problem.axes[0].maximum = 64;
  problem.axes[1].maximum = 256;
  problem.timed = {{{"rows", 33}, {"cols", 100}}};
  return problem;
}

Options until(Stage stage) {
  Options options;
  options.until = stage;
  options.seed = 7;
  options.timing.looks = {16};
  options.timing.budget_seconds = 60;  // Blocks end it, however slow the machine is.
  options.gate.runs = 2;
  return options;
}

Verdict judge(const Problem& problem, const std::string& source,
              const Options& options = until(Stage::sweep)) {
  Candidate candidate;
  candidate.source = source;
  auto verdict = Referee(options).judge(problem, candidate);
  UNSCOPED_INFO(verdict.summary);
  return verdict;
}

Compiled compiled(const std::string& source) {
  auto result = Referee(until(Stage::compile)).compile(affine(), {source});
  REQUIRE_FALSE(result.failure.has_value());
  return result;
}

bool found(const std::vector<Finding>& findings, const std::string& kind) {
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Finding& finding) { return finding.kind == kind; });
}

std::string record_of(const Correctness& correctness) {
  Verdict verdict;
  verdict.correctness = correctness;
  return verdict.to_json();
}

/// The verdict says that nothing was learnt about the candidate.
void check_nothing_learnt(const Verdict& verdict, const std::string& kind) {
  CHECK(verdict.status == Status::infrastructure_error);
  CHECK(found(verdict.findings, kind));
  CHECK_FALSE(verdict.reward().has_value());
  CHECK(verdict.summary.size() > 20);
}

template <typename Function>
std::string error_of(Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    UNSCOPED_INFO(error.what());
    return std::string(to_string(error.code()));
  }
  return "none";
}

}  // namespace

TEST_CASE("an honest candidate is accepted, also with empty tensors, and its record reads back") {
  const auto verdict = judge(affine(), honest);
  REQUIRE(verdict.status == Status::ok);
  CHECK(verdict.correctness.cases_passed == verdict.correctness.cases_total);
  const auto& cases = verdict.correctness.cases;
  const auto empty = std::find_if(cases.begin(), cases.end(),
                                  [](const auto& one) { return one.axes.at("rows") == 0; });
  REQUIRE(empty != cases.end());
  CHECK(empty->status == "passed");
  CHECK(empty->elements == 0);
  CHECK(verdict.isolation.sealed);
  const auto json = verdict.to_json();
  CHECK(Verdict::from_json(json).to_json() == json);
}

TEST_CASE("sources that are no text are refused before any compiler sees them") {
  auto options = until(Stage::sweep);
  options.limits.source_kib = 1;
  const std::string rows[] = {"", " \n\t\r\n",
                              std::string("\x7f"
                                          "ELF\0\2\1",
                                          7),
                              std::string(1025, ' ')};
  for (const auto& source : rows) {
    const auto verdict = judge(affine(), source, options);
    CHECK(verdict.status == Status::compile_error);
    CHECK(found(verdict.findings, "refused_source"));
    CHECK(verdict.compilation.compiler.empty());
    CHECK(verdict.summary.size() > 20);
    CHECK(verdict.reward().has_value());
    CHECK(Verdict::from_json(verdict.to_json()).status == Status::compile_error);
  }
}

TEST_CASE("a source of 100 MB is refused unread") {
  const std::string source(100 << 20, 'x');
  const auto verdict = judge(affine(), source);
  CHECK(verdict.status == Status::compile_error);
  CHECK_THAT(verdict.summary, ContainsSubstring("102400 KiB") && ContainsSubstring("1024 KiB"));
  CHECK(verdict.source.empty());  // A record is no place for it either.
  CHECK(verdict.source_sha256 == sha256_hex(source.data(), source.size()));
  CHECK(verdict.to_json().size() < 10'000);
}

TEST_CASE("bytes that are no UTF-8 do not compile, and the record is still JSON") {
  std::string noise;
  for (unsigned state = 1; noise.size() < 4096;) {
    state = state * 1664525 + 1013904223;
    noise += static_cast<char>((state >> 24) | 1U);
  }
  for (const auto& source : {std::string("int \xff\xfe\xc3;"), noise}) {
    const auto verdict = judge(affine(), source);
    CHECK(verdict.status == Status::compile_error);
    CHECK(verdict.compilation.ran);
    CHECK_NOTHROW(Verdict::from_json(verdict.to_json()));
  }
}

TEST_CASE("a source without the function says which one is missing") {
  const auto verdict = judge(affine(), "int main() { return 0; }\n");
  CHECK(verdict.status == Status::compile_error);
  CHECK(found(verdict.findings, "missing_entry_point"));
  CHECK_THAT(verdict.summary, ContainsSubstring("run_float32"));
}

TEST_CASE("a wrong signature does not compile, and is named") {
  const auto verdict = judge(affine(),
                             "extern \"C\" void run_float32(const float* x, double* out) {}\n"
                             "extern \"C\" int run_float32(float* x) { return 0; }\n");
  CHECK(verdict.status == Status::compile_error);
  CHECK_THAT(verdict.summary, ContainsSubstring("run_float32") && ContainsSubstring("conflicting"));
}

TEST_CASE("faults of a reference are the problem's") {
  struct Row {
    Reference reference;
    const char* message;
  };
  const Row rows[] = {
      {[](const Tensors&) -> Tensors { throw std::runtime_error("no such weight"); },
       "no such weight"},
      {[](const Tensors& in) { return Tensors{in[0] + at::rand_like(in[0])}; },
       "not deterministic"},
      {[](const Tensors& in) {
         auto x = in[0];
         x.add_(1);
         return Tensors{x * 2};
       },
       "writes to its input 'x'"},
      {[](const Tensors& in) { return Tensors{at::zeros_like(in[0])}; }, "zeros"},
      {[](const Tensors& in) { return Tensors{in[0] * 1e30 * 1e30}; }, "infinity or NaN"},
      {[](const Tensors& in) { return Tensors{in[0], in[0]}; }, "returned 2 tensors"},
      {[](const Tensors&) { return Tensors{at::Tensor()}; }, "no tensor"},
      {[](const Tensors& in) { return Tensors{in[0].to(at::kShort)}; }, "unsupported dtype"},
  };
  for (const auto& row : rows) {
    auto problem = affine();
    problem.reference = row.reference;
    const auto verdict = judge(problem, honest);
    CAPTURE(row.message);
    CHECK(verdict.status == Status::invalid_problem);
    CHECK(found(verdict.findings, "invalid_problem"));
    CHECK_THAT(verdict.summary, ContainsSubstring(row.message));
    CHECK_FALSE(verdict.reward().has_value());
    CHECK_THAT(Referee(until(Stage::sweep)).validate(problem).value_or(""),
               ContainsSubstring(row.message));
  }
}

TEST_CASE("extents that a reference does not take are left out of the sweep, and that is said") {
  const auto raising = [](std::int64_t fewest) {
    auto problem = affine();
    problem.reference = [fewest](const Tensors& in) -> Tensors {
      if (in[0].size(1) < fewest) throw std::invalid_argument("the window is longer than the row");
      return {in[0] * 2 + 1};
    };
    return problem;
  };
  const auto verdict = judge(raising(4), honest);
  CHECK(verdict.status == Status::ok);
  REQUIRE(found(verdict.findings, "reference_raised"));
  CHECK_THAT(verdict.findings.front().evidence,
             ContainsSubstring("the window is longer than the row (dtype float32, cols = "));
  for (const auto& one : verdict.correctness.cases) CHECK(one.axes.at("cols") >= 4);
  CHECK(judge(raising(4), wrong).status == Status::incorrect);
  CHECK_FALSE(Referee(until(Stage::sweep)).validate(raising(4)));

  CHECK(judge(raising(250), honest).status == Status::invalid_problem);  // Beyond the timed cell.

  // Groups of eight columns: the sweep has all of its cases, with such columns.
  auto grouped = affine();
  grouped.timed = {{{"rows", 33}, {"cols", 40}}};
  grouped.reference = [](const Tensors& in) -> Tensors {
    if (in[0].size(1) % 8 != 0) throw std::invalid_argument("no groups of eight");
    return {in[0] * 2 + 1};
  };
  const auto whole = judge(grouped, honest);
  CHECK(whole.status == Status::ok);
  REQUIRE(found(whole.findings, "reference_raised"));
  CHECK_THAT(whole.findings.front().evidence, ContainsSubstring("cols is a multiple of 8"));
  bool odd_rows = false;
  for (const auto& one : whole.correctness.cases) {
    CHECK(one.axes.at("cols") % 8 == 0);
    odd_rows |= one.axes.at("rows") % 2 != 0;
  }
  CHECK(odd_rows);
  CHECK(whole.correctness.cases.size() > 25);
  auto timed = raising(50);
  timed.timed = {{{"rows", 33}, {"cols", 10}}};
  CHECK(judge(timed, honest).status == Status::invalid_problem);
}

TEST_CASE("a reference that leaves its range for ordinary numbers is the problem's fault") {
  auto problem = affine();
  problem.dtypes = {DType::float16};
  problem.reference = [](const Tensors& in) { return Tensors{in[0] / (in[0] * 1e-12)}; };
  const auto fault = Referee(until(Stage::sweep)).validate(problem);
  REQUIRE(fault);
  CHECK_THAT(*fault, ContainsSubstring("infinity or NaN where the true value is finite"));
  // Of rows of one number alone it is what such a problem is.
  problem.reference = [](const Tensors& in) {
    const auto least = in[0].amin({1}, true);
    return Tensors{(in[0] - least) / (in[0].amax({1}, true) - least + 1e-8)};
  };
  CHECK_FALSE(Referee(until(Stage::sweep)).validate(problem));
}

TEST_CASE("a problem of bfloat16 is not blamed on a candidate for the host") {
  auto problem = affine();
  problem.reference = [](const Tensors& in) { return Tensors{in[0].to(at::kBFloat16)}; };
  const auto verdict = judge(problem, honest);
  CHECK(verdict.status == Status::invalid_problem);
  CHECK_THAT(verdict.summary, ContainsSubstring("bfloat16"));
}

TEST_CASE("an input that nothing depends on makes the problem invalid") {
  auto problem = affine();
  problem.inputs.push_back(problem.inputs[0]);
  problem.inputs[1].name = "idle";
  const auto verdict = judge(problem,
                             "extern \"C\" void run_float32(const float* x, const float* idle, "
                             "float* out, int64_t rows, int64_t cols) { " +
                                 loop + " }\n");
  CHECK(verdict.status == Status::invalid_problem);
  CHECK_THAT(verdict.summary, ContainsSubstring("'idle'"));
}

TEST_CASE("a reference that raises when it is timed is the problem's fault in every stage") {
  const auto module = compiled(honest);
  auto problem = affine();
  problem.reference = [](const Tensors& in) -> Tensors {
    if (in[0].size(0) == 48) throw std::runtime_error("no rows left");
    return {in[0] * 2 + 1};
  };
  problem.timed.push_back({{"rows", 48}, {"cols", 10}});
  auto options = until(Stage::time);
  const auto verdict = judge(problem, honest, options);
  CHECK(verdict.status == Status::invalid_problem);
  CHECK_THAT(verdict.summary, ContainsSubstring("no rows left"));
  const auto outcome = Referee(options).time(problem, module);
  CHECK(outcome.failure == Status::invalid_problem);
  problem.reference = [](const Tensors&) -> Tensors { throw std::runtime_error("nothing left"); };
  CHECK(Referee(options).compile(problem, {honest}).failure == Status::invalid_problem);
  CHECK(Referee(options).sweep(problem, module).failure == Status::invalid_problem);
  CHECK(Referee(options).gate(problem, module).failure == Status::invalid_problem);
}

TEST_CASE("a shape that does not fit in memory is nobody's crash") {
  auto problem = affine();
  problem.timed = {{{"rows", 1 << 20}, {"cols", 1 << 20}}};
  const auto verdict = judge(problem, honest, until(Stage::time));
  check_nothing_learnt(verdict, "out_of_memory");
  CHECK_THAT(verdict.summary,
             ContainsSubstring("cols=1048576, rows=1048576") && ContainsSubstring("GiB"));
  CHECK(verdict.correctness.cases_passed == verdict.correctness.cases_total);
  const auto module = compiled(honest);
  const Referee referee(until(Stage::gate));
  CHECK(error_of([&] { (void)referee.time(problem, module); }) == "out_of_memory");
  CHECK(error_of([&] { (void)referee.gate(problem, module); }) == "out_of_memory");
}

TEST_CASE("a machine without compiler or scratch space is not the candidate's fault") {
  auto options = until(Stage::sweep);
  options.compiler = "/nonexistent";
  check_nothing_learnt(judge(affine(), honest, options), "compiler_missing");
  options.compiler.clear();
  options.scratch = "/nonexistent";
  check_nothing_learnt(judge(affine(), honest, options), "io");
  CHECK(error_of([&] { (void)Referee(options).compile(affine(), {honest}); }) == "io");
}

TEST_CASE("an executor that is killed is not the candidate's fault") {
  const auto module = compiled(endless);
  Options options = until(Stage::sweep);
  options.limits.replay_seconds = 120;
  std::atomic<bool> done = false;
  std::thread killer([&done] {
    while (!done) {
      for (const auto child : ouroboros_test::children("ouroboros-execu")) kill(child, SIGKILL);
      std::this_thread::yield();
    }
  });
  const auto error = error_of([&] { (void)Referee(options).sweep(affine(), module); });
  const auto verdict = judge(affine(), endless, options);
  done = true;
  killer.join();
  CHECK(error == "executor_lost");
  check_nothing_learnt(verdict, "executor_lost");
  CHECK(has_no_children());
}

TEST_CASE("an executor that is killed while its candidate runs is told from one that crashes") {
  for (const bool ignored : {false, true}) {
    std::optional<ouroboros_test::IgnoredChildren> ignore;
    if (ignored) ignore.emplace();
    auto options = until(Stage::sweep);
    options.limits.replay_seconds = 120;
    bool running = false;
    // Asked again and again while a candidate runs, and only then are there executors.
    options.cancelled = [&running] {
      for (const auto child : ouroboros_test::children("ouroboros-execu")) {
        running = true;
        kill(child, SIGKILL);
      }
      return false;
    };
    check_nothing_learnt(judge(affine(), endless, options), "executor_lost");
    CHECK(running);
    options.cancelled = {};
    const auto crash = judge(affine(), signature + "{ __builtin_trap(); }\n", options);
    CHECK(crash.status == Status::runtime_error);
    CHECK(judge(affine(), honest, options).status == Status::ok);
    CHECK(judge(affine(), wrong, options).status == Status::incorrect);
  }
}

TEST_CASE("verdicts leave nothing behind") {
  const ouroboros_test::Folder scratch;
  auto options = until(Stage::time);
  options.scratch = scratch.path();
  auto impatient = options;  // An honest candidate may have to wait that long on a busy machine.
  impatient.limits.replay_seconds = 0.05;
  const auto all = [&] {
    CHECK(judge(affine(), honest, options).status == Status::ok);
    CHECK(judge(affine(), wrong, options).status == Status::incorrect);
    CHECK(judge(affine(), endless, impatient).status == Status::timeout);
    CHECK(judge(affine(), "nonsense", options).status == Status::compile_error);
    auto stopped = options;
    int asked = 0;
    stopped.cancelled = [&asked] { return ++asked > 12; };
    CHECK(error_of([&] { (void)judge(affine(), honest, stopped); }) == "cancelled");
  };
  all();
  const auto before = ouroboros_test::open_descriptors();
  all();
  CHECK(ouroboros_test::open_descriptors() == before);
  CHECK(scratch.empty());
  CHECK(has_no_children());
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    CHECK_THAT(line, !ContainsSubstring("memfd:ouroboros"));
  }
}

TEST_CASE("one seed, one correctness record, whoever calls the stages") {
  const auto first = judge(affine(), wrong);
  const auto again = judge(affine(), wrong);
  CHECK(first.provenance.seed == 7);
  CHECK(first.status == Status::incorrect);
  CHECK(record_of(first.correctness) == record_of(again.correctness));
  const Referee referee(until(Stage::sweep));
  const auto module = referee.compile(affine(), {wrong});
  REQUIRE_FALSE(module.failure.has_value());
  CHECK(module.record.image_sha256 == first.compilation.image_sha256);
  const auto outcome = referee.sweep(affine(), module);
  CHECK(outcome.failure == first.status);
  CHECK(record_of(outcome.record) == record_of(first.correctness));
  CHECK(found(outcome.findings, "wrong_values"));
  auto other = until(Stage::sweep);
  other.seed = 8;
  CHECK(record_of(judge(affine(), wrong, other).correctness) != record_of(first.correctness));
}

TEST_CASE("a group shares its cases, whose reference runs once for all") {
  int runs = 0;
  auto counted = affine();
  counted.reference = [&runs](const Tensors& in) {
    ++runs;
    return Tensors{in[0] * 2 + 1};
  };
  auto options = until(Stage::sweep);
  options.seed.reset();
  const Referee referee(options);
  const auto cases = referee.share_cases(counted);
  CHECK(runs == 0);
  const Candidate first{honest, "first", "cpp"};
  const auto alone = referee.judge(counted, first, *cases);
  const int drawn = runs;
  const auto second = referee.judge(counted, {wrong, "second", "cpp"}, *cases);
  CHECK(alone.status == Status::ok);
  CHECK(second.status == Status::incorrect);
  CHECK(drawn > 100);
  // One run gives the entry points' prototypes, and twelve cases are at the numbers of its source.
  CHECK(second.correctness.cases_total == alone.correctness.cases_total + 12);
  const int own = runs - drawn - 1;
  CHECK(own > 0);
  CHECK(own < drawn / 2);
  const int before = runs;
  const auto third = referee.judge(counted, {honest + "// Another.\n", "third", "cpp"}, *cases);
  CHECK(third.correctness.cases_total == alone.correctness.cases_total);
  CHECK(runs <= before + 1);
  CHECK(alone.provenance.seed == second.provenance.seed);
  // Another group has other cases.
  CHECK(referee.judge(counted, first, *referee.share_cases(counted)).provenance.seed !=
        alone.provenance.seed);

  auto other = affine();
  other.name = "other";
  CHECK_THROWS_AS(referee.judge(other, first, *cases), Error);
}

TEST_CASE("a verdict goes as far as it was asked to") {
  const auto at_compile = judge(affine(), honest, until(Stage::compile));
  CHECK((at_compile.compilation.ran && !at_compile.correctness.ran && !at_compile.timing.ran));
  const auto at_sweep = judge(affine(), honest, until(Stage::sweep));
  CHECK((at_sweep.correctness.ran && !at_sweep.timing.ran && !at_sweep.gate.ran));
  const auto at_time = judge(affine(), honest, until(Stage::time));
  CHECK((at_time.correctness.ran && at_time.timing.ran && !at_time.gate.ran));
  REQUIRE(at_time.timing.cells.size() == 1);
  CHECK(at_time.timing.cells[0].samples_checked > 0);
  const auto at_gate = judge(affine(), honest, until(Stage::gate));
  CHECK((at_gate.timing.ran && at_gate.gate.ran));
  CHECK(at_gate.gate.runs == 2);
  for (const auto& verdict : {at_compile, at_sweep, at_time, at_gate}) {
    CHECK(verdict.status == Status::ok);
    const auto json = verdict.to_json();
    CHECK(Verdict::from_json(json).to_json() == json);
  }
}

TEST_CASE("one referee judges in many threads at once") {
  const Referee referee(until(Stage::time));
  const std::string sources[] = {honest, wrong, honest, wrong};
  Verdict verdicts[4];
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] { verdicts[i] = referee.judge(affine(), {sources[i]}); });
  }
  for (auto& thread : threads) thread.join();
  for (int i = 0; i < 4; ++i) {
    CAPTURE(i, verdicts[i].summary);
    CHECK(verdicts[i].status == (i % 2 == 0 ? Status::ok : Status::incorrect));
  }
  CHECK(record_of(verdicts[0].correctness) == record_of(verdicts[2].correctness));
}

TEST_CASE("every stage can be cancelled and leaves no process") {
  const auto module = compiled(honest);
  const auto runs_on = compiled(endless);
  auto options = until(Stage::gate);
  options.limits.replay_seconds = 120;
  bool stop = true;
  options.cancelled = [&stop] { return stop; };
  const Referee referee(options);
  CHECK(error_of([&] { (void)referee.compile(affine(), {honest}); }) == "cancelled");
  CHECK(error_of([&] { (void)referee.validate(affine()); }) == "cancelled");
  CHECK(error_of([&] { (void)referee.sweep(affine(), module); }) == "cancelled");
  CHECK(error_of([&] { (void)referee.time(affine(), module); }) == "cancelled");
  CHECK(error_of([&] { (void)referee.gate(affine(), module); }) == "cancelled");
  CHECK(error_of([&] { (void)referee.judge(affine(), {honest}); }) == "cancelled");
  // While the candidate runs: there is an executor only then.
  options.cancelled = [] { return !ouroboros_test::children("ouroboros-execu").empty(); };
  CHECK(error_of([&] { (void)Referee(options).sweep(affine(), runs_on); }) == "cancelled");
  CHECK(has_no_children());
}

TEST_CASE("what is judged is what was asked for and what is there") {
  auto problem = affine();
  problem.dtypes = {DType::float32, DType::float64};
  const std::string in_double =
      "extern \"C\" void run_float64(const double* x, double* out, int64_t rows, int64_t cols) { " +
      loop + " }\n";
  const auto one = judge(problem, honest);
  CHECK(one.status == Status::ok);
  CHECK(one.correctness.dtypes == std::vector<std::string>{"float32"});
  CHECK(one.correctness.dtypes_missing == std::vector<std::string>{"float64"});

  auto options = until(Stage::sweep);
  options.dtypes = {DType::float64};
  const auto asked = judge(problem, honest + in_double, options);
  CHECK(asked.status == Status::ok);
  CHECK(asked.correctness.dtypes == std::vector<std::string>{"float64"});
  CHECK(asked.correctness.dtypes_missing.empty());  // It is there, but was not asked for.
  for (const auto& result : asked.correctness.cases) CHECK(result.dtype == "float64");

  const auto absent = judge(problem, honest, options);
  CHECK(absent.status == Status::compile_error);
  CHECK(found(absent.findings, "missing_entry_point"));
  CHECK(Referee(options).sweep(problem, compiled(honest)).failure == Status::compile_error);
  options.dtypes = {DType::int32};
  CHECK(error_of([&] { (void)judge(problem, honest, options); }) == "invalid_argument");
}

TEST_CASE("bytes that have the filling's value by chance were written") {
  auto problem = affine();
  problem.dtypes = {DType::int8};
  const std::string head =
      "extern \"C\" void run_int8(const int8_t* x, int8_t* out, int64_t rows, int64_t cols) ";
  const auto all = judge(problem, head +
                                      "{ for (int64_t i = 0; i < rows * cols; ++i) "
                                      "out[i] = static_cast<int8_t>(37 * x[i] + i); }\n");
  CHECK(found(all.findings, "wrong_values"));
  CHECK_FALSE(found(all.findings, "unwritten_output"));
  const auto half = judge(problem, head +
                                       "{ for (int64_t i = 0; i < rows * cols / 2; ++i) "
                                       "out[i] = static_cast<int8_t>(2 * x[i] + 1); }\n");
  CHECK(found(half.findings, "unwritten_output"));
}

TEST_CASE("being right for as many calls as the sweep makes is not enough") {
  const auto right_for = [](int calls) {
    return "static int64_t calls = 0;\n" + signature + "{ " + loop + " if (++calls > " +
           std::to_string(calls) + " && rows > 0) out[0] = 1e6f; }\n";
  };
  const auto cases = judge(affine(), right_for(1000)).correctness.cases_total;
  auto options = until(Stage::time);
  options.timing.looks = {cases * 2 + 16};
  const auto verdict = judge(affine(), right_for(2 * cases + 8), options);
  CHECK(verdict.status == Status::rejected);
  CHECK(verdict.correctness.cases_passed == cases);
  CHECK(found(verdict.findings, "timed_output_wrong"));
}

TEST_CASE("a timed sample is judged by what its own elements may be off") {
  // Small numbers come from products, and now and then from terms that nearly cancel, whose error
  // is that of the terms. A draw that has none of these says nothing of a draw that has.
  auto problem = problem_of([](const Tensors& in) {
    const auto half = in[0].size(1) / 2;
    return Tensors{at::cat({in[0].narrow(1, 0, half) * 0x1p-14,
                            in[0].narrow(1, half, in[0].size(1) - half) * 1.125 + 0.71875},
                           1)};
  });
  problem.axes[0].maximum = 64;
  problem.axes[1].maximum = 1024;
  problem.timed = {{{"rows", 64}, {"cols", 1024}}};
  auto options = until(Stage::time);
  options.timing.looks = {128};
  const auto verdict =
      judge(problem,
            signature +
                "{ for (int64_t i = 0; i < rows * cols; ++i) {\n"
                "  volatile float product = x[i] * 1.125f;  // Rounded, as eager mode's.\n"
                "  out[i] = i % cols < cols / 2 ? x[i] * 0x1p-14f : product + 0.71875f;\n"
                "} }\n",
            options);
  CHECK(verdict.status == Status::ok);
}

TEST_CASE("equal numbers may come in another order than eager mode's in timed samples too") {
  auto problem = problem_of([](const Tensors& in) { return Tensors{in[0].argsort(-1, false)}; });
  problem.axes[0].maximum = 33;
  problem.axes[1].maximum = 400;
  problem.timed = {{{"rows", 33}, {"cols", 400}}};  // Some ten pairs of equal numbers.
  const auto sorted = [&](const std::string& order) {
    return judge(problem,
                 "#include <algorithm>\n#include <numeric>\n"
                 "extern \"C\" void run_float32(const float* x, int64_t* out, int64_t rows, "
                 "int64_t cols) { for (; rows > 0; --rows, x += cols, out += cols) {\n"
                 "  std::iota(out, out + cols, 0);\n"
                 "  std::sort(out, out + cols, [x](int64_t a, int64_t b) { return " +
                     order + "; }); } }\n",
                 until(Stage::time));
  };
  CHECK(sorted("x[a] < x[b] || (x[a] == x[b] && a > b)").status == Status::ok);
  CHECK(sorted("x[a] > x[b]").status == Status::incorrect);
}

TEST_CASE("who looks at some elements of a large cell does not know the others") {
  // Three kinds of inputs are among the timed samples: one is ordinary but for a few rows.
  auto problem = affine();
  problem.axes[0].maximum = problem.axes[1].maximum = 2048;
  problem.timed = {{{"rows", 1500}, {"cols", 256}}};
  const auto verdict = judge(problem,
                             signature +
                                 "{\n"
                                 " bool tame = rows * cols > 300000;\n"
                                 " for (int64_t i = 0; tame && i < 50; ++i) {\n"
                                 "  const float v = x[i * (rows * cols / 51) + i];\n"
                                 "  tame = v < 4 && v > -4;\n"
                                 " }\n"
                                 " for (int64_t i = 0; i < rows * cols; ++i)\n"
                                 "  out[i] = tame && x[i] > 4 ? 9 : 2 * x[i] + 1;\n"
                                 "}\n",
                             until(Stage::time));
  CHECK(verdict.correctness.cases_passed == verdict.correctness.cases_total);
  CHECK(verdict.status == Status::rejected);
}

TEST_CASE("every element of a row counts where one of them decides") {
  const auto judged = [](const std::string& step) {
    auto problem = problem_of(
        [](const Tensors& in) { return Tensors{in[0].lt(0).any(-1).to(in[0].scalar_type())}; });
    problem.outputs = {"out"};
    return judge(problem, signature +
                              "{ for (; rows > 0; --rows, x += cols) {\n"
                              "  float any = 0;\n"
                              "  for (int64_t i = 0; i < cols; i += " +
                              step +
                              ") any = x[i] < 0 ? 1 : any;\n"
                              "  *out++ = any;\n} }\n")
        .status;
  };
  CHECK(judged("1") == Status::ok);
  CHECK(judged("cols > 300 ? 16 : 1") == Status::incorrect);
}

TEST_CASE("what float64 loses itself is no fault of a kernel that is more accurate") {
  auto problem =
      problem_of([](const Tensors& in) { return Tensors{(in[0] * in[0] + 1).sqrt() - 1}; });
  const auto verdict = judge(problem, "#include <cmath>\n" + signature +
                                          "{ for (int64_t i = 0; i < rows * cols; ++i) {\n"
                                          "  const float s = x[i] * x[i];\n"
                                          "  out[i] = s / (std::sqrt(1 + s) + 1);\n} }\n");
  CHECK(verdict.status == Status::ok);
}

TEST_CASE("constants that a reference makes are no differences of computed numbers") {
  // Were the distances of columns to move, the diagonal would be left out by some runs.
  auto problem = problem_of([](const Tensors& in) {
    const auto place = at::arange(in[0].size(1), in[0].options());
    const auto apart = place.unsqueeze(0) - place.unsqueeze(1);
    return Tensors{in[0].matmul(apart.ge(0).to(in[0].scalar_type()))};
  });
  problem.axes[1].maximum = 512;  // The distances are as many as its square.
  const auto summed = [&](const std::string& last) {
    return judge(problem, signature +
                              "{ for (; rows > 0; --rows, x += cols, out += cols)\n"
                              "  for (int64_t i = 0; i < cols; ++i) {\n"
                              "   double sum = 0;\n"
                              "   for (int64_t j = 0; j " +
                              last + " i; ++j) sum += x[j];\n   out[i] = sum;\n} }\n")
        .status;
  };
  CHECK(summed("<=") == Status::ok);
  CHECK(summed("<") == Status::incorrect);
}

TEST_CASE("whole steps of the smallest numbers are many where a quotient makes them larger") {
  const auto scaled = [](const std::string& by) {
    return judge(problem_of([](const Tensors& in) { return Tensors{-in[0]}; }),
                 signature +
                     "{ for (int64_t i = 0; i < rows * cols; ++i) {\n"
                     "  volatile float part = x[i] * " +
                     by + ";\n  out[i] = -part / " + by + ";\n} }\n")
        .status;
  };
  CHECK(scaled("0.03125f") == Status::ok);              // Off by sixteen steps.
  CHECK(scaled("0.0009765625f") == Status::incorrect);  // By five hundred.
}

TEST_CASE("being right at the timed shape for normal inputs alone is not enough") {
  // A shape that the sweep meets all families at is cut to size first.
  auto problem = affine();
  problem.axes[1].maximum = 4000;
  problem.timed = {{{"rows", 80}, {"cols", 4000}}};
  const auto verdict = judge(problem,
                             signature + "{ " + loop +
                                 " if (rows != 80 || cols != 4000) return;\n"
                                 " double squares = 0; bool sorted = true;\n"
                                 " for (int64_t i = 0; i < 320000; ++i) squares += x[i] * x[i];\n"
                                 " for (int64_t i = 1; i < 100; ++i) sorted &= x[i - 1] <= x[i];\n"
                                 " if (sorted || squares < 314e3 || squares > 326e3) out[0] += 1;\n"
                                 "}\n",
                             until(Stage::time));
  CHECK(verdict.correctness.cases_passed == verdict.correctness.cases_total);
  CHECK(verdict.status == Status::rejected);
  CHECK_THAT(verdict.summary, ContainsSubstring("family"));
}

TEST_CASE("misuse is an exception") {
  Candidate candidate;
  candidate.source = honest;
  candidate.language = "cobol";
  const Referee referee(until(Stage::sweep));
  CHECK(error_of([&] { (void)referee.judge(affine(), candidate); }) == "unsupported");
  CHECK(error_of([&] { (void)referee.sweep(affine(), Compiled{}); }) == "invalid_argument");
  CHECK(error_of([&] { (void)referee.time(affine(), Compiled{}); }) == "invalid_argument");
  CHECK(error_of([&] { (void)referee.gate(affine(), Compiled{}); }) == "invalid_argument");
  CHECK(error_of([&] { (void)referee.judge(Problem{}, {honest}); }) == "invalid_argument");

  const auto refused = [](const std::function<void(Options&)>& spoil) {
    Options options;
    spoil(options);
    return error_of([&] { const Referee spoiled(options); });
  };
  CHECK(refused([](Options& options) { options.timing.looks.clear(); }) == "invalid_argument");
  CHECK(refused([](Options& options) { options.limits.heap_mib = -1; }) == "invalid_argument");
  CHECK(refused([](Options& options) { options.limits.replay_seconds = NAN; }) ==
        "invalid_argument");
  CHECK(refused([](Options&) {}) == "none");
}
