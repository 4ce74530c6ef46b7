#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "catch.hpp"
#include "ouroboros/error.hpp"
#include "ouroboros/verdict.hpp"

using namespace ouroboros;
using Json = nlohmann::ordered_json;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();
const std::string fixture_path = OUROBOROS_SOURCE_DIR "/tests/data/verdict_sample.json";

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

CaseResult passed_case(int id, std::int64_t rows, std::int64_t cols, std::string family) {
  CaseResult one;
  one.id = id;
  one.dtype = "float32";
  one.axes = {{"rows", rows}, {"cols", cols}};
  one.family = std::move(family);
  one.placement = "both";
  one.status = "passed";
  one.output = "out";
  one.max_abs_error = 5e-8;
  one.reference_max_abs_error = 6e-8;
  one.error_over_allowed = 0.25;
  one.elements = rows * cols;
  return one;
}

CaseResult failed_case(int id, std::int64_t rows, std::int64_t cols, std::string family,
                       double error_over_allowed = 1e6) {
  CaseResult one = passed_case(id, rows, cols, std::move(family));
  one.status = "failed";
  one.max_abs_error = 0.75;
  one.error_over_allowed = error_over_allowed;
  one.wrong_elements = one.elements / 2;
  one.message = "out[1, 2] is 0.25, expected 1; 51 of 102 elements are wrong";
  return one;
}

BaselineTiming timed_baseline(std::string name, double low, double estimate, double high) {
  BaselineTiming baseline;
  baseline.name = std::move(name);
  baseline.status = "timed";
  baseline.latency_us = {300.0, 295.5, 304.25};
  baseline.speedup = {estimate, low, high};
  baseline.decision = low > 1.0 ? "faster" : high < 1.0 ? "slower" : "ambiguous";
  baseline.blocks = 32;
  baseline.sign_flip_p = 0.0001;
  baseline.lag1_autocorrelation = -0.05;
  return baseline;
}

TimedCell timed_cell(std::vector<BaselineTiming> baselines) {
  TimedCell cell;
  cell.dtype = "float32";
  cell.axes = {{"rows", 1024}, {"cols", 4096}};
  cell.bytes_min = 33554432;
  cell.latency_us = {150.5, 149.0, 152.0};
  cell.handover_us = 2.5;
  cell.variant = "BLOCK=1024 num_warps=8";
  cell.samples_checked = 6;
  cell.samples_total = 64;
  cell.baselines = std::move(baselines);
  return cell;
}

Verdict timed_verdict(std::vector<TimedCell> cells) {
  Verdict verdict;
  verdict.status = Status::ok;
  verdict.timing.ran = true;
  verdict.timing.cells = std::move(cells);
  return verdict;
}

Verdict swept_verdict(std::vector<CaseResult> cases) {
  Verdict verdict;
  verdict.status = Status::incorrect;
  verdict.correctness.ran = true;
  verdict.correctness.cases_total = static_cast<int>(cases.size());
  for (const CaseResult& one : cases) verdict.correctness.cases_passed += one.status == "passed";
  verdict.correctness.dtypes = {"float32"};
  verdict.correctness.cases = std::move(cases);
  return verdict;
}

GpuState gpu_state(int clock_mhz) {
  GpuState state;
  state.sm_clock_mhz = clock_mhz;
  state.sm_clock_max_mhz = 1980;
  state.memory_clock_mhz = 3201;
  state.power_w = 120.5;
  state.power_limit_w = 700;
  state.temperature_c = 34;
  state.slowdowns = {"sw_power_cap"};
  state.clocks_locked = true;
  state.power_violation_ns = 1000;
  state.thermal_violation_ns = 2000;
  state.other_processes = 1;
  state.other_busy_percent = 40;
  state.shared = true;
  state.reason = "the limit is not known";
  return state;
}

// What a GPU's clock adds to a record.
void add_clock(Timing& timing) {
  Calibration calibration;
  calibration.device = "NVIDIA H200";
  calibration.driver_version = "CUDA 13.0";
  calibration.measured_at = "2026-01-02T03:04:05Z";
  calibration.tick_ns = 32;
  calibration.tick_error_ns = 0.01;
  calibration.launch_us = {{"stream", {2.7, 2.6, 2.8}}, {"gate", {2.8, 2.7, 2.9}}};
  calibration.gap_us = {{"gate", {1.55, 1.5, 1.6}}};
  calibration.empty_us = {{"stream", {2.8, 2.7, 2.9}}};
  calibration.flush_us = {35.7, 35.5, 35.9};
  calibration.flush_bytes = 104857600;
  calibration.flush_sizes = {{52428800, {10.1, 10.0, 10.2}}};
  calibration.clean_copy_us = {10, 9.9, 10.1};
  calibration.dirty_copy_us = {11, 10.9, 11.1};
  calibration.hot_copy_us = {8, 7.9, 8.1};
  calibration.globaltimer_step_ns = 32;
  calibration.globaltimer_step_error_ns = 1;
  calibration.peak_gbps = 4814;
  calibration.copy_curve = {{1, 1, 1048576, {1000, 990, 1010}}};
  calibration.aa_speedup = {1.0001, 0.999, 1.001};
  calibration.notes = {"a note"};
  timing.cache = "cold";
  timing.calibration = calibration;
  timing.gpu_start = gpu_state(1980);
  timing.gpu_end = gpu_state(1965);
  auto& cell = timing.cells[0];
  cell.flags = {"autocorrelated"};
  cell.bracket_us = {14.7, 14.6, 14.8};
  cell.estimator = "bracket";
  cell.submission = "gate";
  cell.floor_us = 10;
  cell.ceiling_fraction = 0.8;
  cell.peak_fraction = 0.7;
  cell.placement_sd = 0.002;
  cell.clock_mhz = 1975;
  cell.blocks_void = 2;
  cell.blocks_void_by = {{"clock", 2}};
  cell.gpu_ms = 12.5;
  cell.code_copies = 16;
  cell.as_called_us = {{30, 29, 31}};
  auto& baseline = cell.baselines[0];
  baseline.speedup_raw = {1.8, 1.7, 1.9};
  baseline.block_log_ratios = {-0.69, -0.7};
  baseline.memory = {0.001, -0.002, 0.003};
  baseline.as_called_us = {{40, 39, 41}};
  baseline.as_called_speedup = {{1.33, 1.3, 1.36}};
  KernelUse kernel;
  kernel.function = "triton_red_fused_0";
  kernel.origin = "library";
  kernel.launches = 1;
  kernel.grid = {2048, 1, 1};
  kernel.block = {512, 1, 1};
  kernel.cluster = {1, 1, 1};
  baseline.kernels = {kernel};
}

// A record in which every member differs from its default.
Verdict sample() {
  Verdict verdict;
  verdict.status = Status::incorrect;
  verdict.summary = "1 of 2 cases failed.";
  verdict.problem = "softmax";
  verdict.problem_origin = "builtin:softmax";
  verdict.candidate = "softmax.cpp";
  verdict.language = "cpp";
  verdict.source = "// \"naive\" \xc3\xa9\n\textern \"C\" void run_float32() {}\n";
  verdict.source_sha256 = "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9";

  verdict.compilation.ran = true;
  verdict.compilation.succeeded = true;
  verdict.compilation.compiler = "g++ 12.2.0";
  verdict.compilation.flags = {"-O3", "-march=native"};
  verdict.compilation.duration_ms = 812.5;
  verdict.compilation.image_bytes = 16384;
  verdict.compilation.image_sha256 =
      "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b";
  verdict.compilation.entries = {"run_float32"};
  verdict.compilation.target = "sm_90";
  verdict.compilation.variants = {"BLOCK=1024 num_warps=8"};
  KernelUse kernel;
  kernel.function = "softmax";
  kernel.origin = "candidate";
  kernel.launches = 1;
  kernel.device_time_share = 0.75;
  kernel.registers = 32;
  kernel.stack_bytes = 16;
  kernel.shared_bytes = 64;
  kernel.shared_dynamic_bytes = 128;
  kernel.grid = {1024, 1, 1};
  kernel.block = {256, 1, 1};
  kernel.cluster = {1, 1, 1};
  verdict.compilation.kernels = {kernel};
  verdict.compilation.log = "warning: unused parameter";

  verdict.correctness.ran = true;
  verdict.correctness.cases_total = 2;
  verdict.correctness.cases_passed = 1;
  verdict.correctness.max_error_over_allowed = infinity;
  verdict.correctness.dtypes = {"float32"};
  verdict.correctness.dtypes_missing = {"float64"};
  CaseResult failed = failed_case(1, 3, 33, "x64");
  failed.max_abs_error = not_a_number;
  failed.reference_max_abs_error = -infinity;
  failed.error_over_allowed = infinity;
  verdict.correctness.cases = {passed_case(0, 64, 128, "normal"), failed};

  BaselineTiming unavailable;
  unavailable.name = "compile";
  unavailable.status = "unavailable";
  unavailable.reason = "torch.compile needs a C++ compiler.";
  verdict.timing.ran = true;
  verdict.timing.clock = "host_processor_time";
  verdict.timing.mode = "decide";
  verdict.timing.cells = {timed_cell({timed_baseline("eager", 1.9, 2.0, 2.1), unavailable})};
  add_clock(verdict.timing);
  verdict.timing.geomean_speedup = {{"eager", 2.0}};

  verdict.gate.ran = true;
  verdict.gate.passed = true;
  verdict.gate.baseline = "eager";
  verdict.gate.runs = 5;
  verdict.gate.runs_void = 1;
  verdict.gate.speedup = {1.98, 1.91, 2.05};
  verdict.gate.safe_speedup = 1.91;
  verdict.gate.aa_spread = 0.001;
  verdict.gate.between_process_sd = 0.002;
  verdict.gate.reasons = {"none"};
  verdict.gate.process_speedups = {1.8, 1.9};
  verdict.gate.copy_speedups = {1.001, 0.999};

  verdict.findings = {{"nan_mismatch", "error", "sweep", "NaN at out[1, 2], where 1 belongs."},
                      {"suspicious_symbol", "note", "compile", "The module imports mmap."}};

  verdict.isolation.level = "sealed";
  verdict.isolation.sealed = true;
  verdict.isolation.namespaces = {"user", "net"};
  verdict.isolation.landlock_abi = 2;
  verdict.isolation.no_new_privileges = true;
  verdict.isolation.resource_limits = true;
  verdict.isolation.process_group = true;
  verdict.isolation.runs_as_root = true;
  verdict.isolation.missing = {"No mount namespace: the kernel refuses it."};

  verdict.provenance.library_version = "0.1.0";
  verdict.provenance.created_at = "2026-01-02T03:04:05Z";
  verdict.provenance.seed = 0xfedcba9876543210;
  verdict.provenance.machine = "A processor";
  verdict.provenance.kernel = "Linux 6.1";
  verdict.provenance.torch_version = "2.13.0";
  verdict.provenance.device = "NVIDIA H200";
  verdict.provenance.driver_version = "CUDA 13.0";
  verdict.provenance.trace = "dry";
  verdict.provenance.duration_s = 1.25;
  verdict.provenance.stage_s = {{"compile", 0.8}, {"sweep", 0.45}};
  verdict.provenance.compared_with = "other.cu";
  return verdict;
}

// Every path to a key, with "[]" for the elements of an array.
void collect_paths(const Json& json, const std::string& path, std::set<std::string>& paths) {
  if (json.is_object()) {
    for (const auto& item : json.items()) {
      paths.insert(path + "." + item.key());
      collect_paths(item.value(), path + "." + item.key(), paths);
    }
  }
  if (json.is_array()) {
    for (const Json& element : json) collect_paths(element, path + "[]", paths);
  }
}

std::set<std::string> paths_of(const Verdict& verdict) {
  std::set<std::string> paths;
  collect_paths(Json::parse(verdict.to_json()), "", paths);
  return paths;
}

template <class Function>
std::string refusal(Function function) {
  try {
    function();
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_argument);
    return error.what();
  }
  return "accepted";
}

std::string refusal_of(const Json& json) {
  return refusal([&] { static_cast<void>(Verdict::from_json(json.dump())); });
}

// The sentence that refuses the sample with the value at `pointer` replaced.
std::string refusal_with(const char* pointer, Json value) {
  Json json = Json::parse(sample().to_json());
  json[Json::json_pointer(pointer)] = std::move(value);
  return refusal_of(json);
}

std::string refused_policy(const std::string& json) {
  return refusal([&] { static_cast<void>(RewardPolicy::from_json(json)); });
}

}  // namespace

// ---- Status ------------------------------------------------------------------------------------

TEST_CASE("statuses have names, and faults have owners") {
  struct Row {
    Status status;
    std::string_view name;
    bool candidates;
    bool infrastructures;
  };
  const std::vector<Row> rows = {
      {Status::ok, "ok", false, false},
      {Status::compile_error, "compile_error", true, false},
      {Status::runtime_error, "runtime_error", true, false},
      {Status::incorrect, "incorrect", true, false},
      {Status::rejected, "rejected", true, false},
      {Status::timeout, "timeout", true, false},
      {Status::invalid_problem, "invalid_problem", false, true},
      {Status::infrastructure_error, "infrastructure_error", false, true},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    CHECK(to_string(row.status) == row.name);
    CHECK(parse_status(row.name) == row.status);
    CHECK(is_candidate_fault(row.status) == row.candidates);
    CHECK(is_infrastructure_fault(row.status) == row.infrastructures);
  }
  CHECK_FALSE(parse_status("OK").has_value());
  CHECK_FALSE(parse_status("unknown").has_value());
}

// ---- JSON --------------------------------------------------------------------------------------

TEST_CASE("a fully populated verdict survives JSON") {
  const std::string once = sample().to_json();
  const Verdict back = Verdict::from_json(once);
  CHECK(back.to_json() == once);
  CHECK(back.provenance.seed == 0xfedcba9876543210);
  CHECK(std::isnan(back.correctness.cases[1].max_abs_error));
  CHECK(back.correctness.cases[1].reference_max_abs_error == -infinity);
  CHECK(back.correctness.max_error_over_allowed == infinity);
  CHECK(back.source == sample().source);
  CHECK(back.timing.cells[0].baselines[0].speedup.low == 1.9);
  CHECK(back.findings[1].kind == "suspicious_symbol");
}

TEST_CASE("no member is left out: each differs from its default in the sample's JSON") {
  const Json populated = Json::parse(sample().to_json());
  const Json fresh = Json::parse(Verdict{}.to_json());
  for (const char* section :
       {"compilation", "correctness", "timing", "gate", "isolation", "provenance"}) {
    for (const auto& item : fresh[section].items()) {
      CAPTURE(section, item.key());
      CHECK(populated[section][item.key()] != item.value());
    }
  }
}

TEST_CASE("a default verdict has the same keys") {
  const std::set<std::string> populated = paths_of(sample());
  const std::set<std::string> fresh = paths_of(Verdict{});
  for (const std::string& path : fresh) {
    CAPTURE(path);
    CHECK(populated.count(path) == 1);
  }
  // What the sample has besides lies inside lists, or under the names of a table.
  for (const std::string& path : populated) {
    const bool varies =
        contains(path, "[]") || path.starts_with(".timing.geomean_speedup.") ||
        path.starts_with(".provenance.stage_s.") || path.starts_with(".timing.calibration.") ||
        path.starts_with(".timing.gpu_start.") || path.starts_with(".timing.gpu_end.");
    CAPTURE(path);
    CHECK((varies || fresh.count(path) == 1));
  }
  CHECK(Verdict::from_json(Verdict{}.to_json()).to_json() == Verdict{}.to_json());
}

TEST_CASE("the committed sample is what this code writes") {
  const std::string written = sample().to_json(2) + "\n";
  if (std::getenv("OUROBOROS_UPDATE_FIXTURES") != nullptr) {
    std::ofstream(fixture_path, std::ios::binary) << written;
  }
  std::ifstream file(fixture_path, std::ios::binary);
  const std::string committed(std::istreambuf_iterator<char>(file), {});
  INFO("Run this test with OUROBOROS_UPDATE_FIXTURES=1 and review the difference.");
  CHECK(committed == written);
}

TEST_CASE("only what was not measured is null, and figures that JSON lacks are strings") {
  const std::string text = sample().to_json();
  auto none = sample();
  none.timing.cells[0].baselines.resize(1);
  CHECK_FALSE(contains(none.to_json(), "null"));
  const Json json = Json::parse(text);
  CHECK(json["correctness"]["cases"][1]["max_abs_error"] == "NaN");
  CHECK(json["correctness"]["cases"][1]["error_over_allowed"] == "Infinity");
  CHECK(json["correctness"]["cases"][1]["reference_max_abs_error"] == "-Infinity");
}

TEST_CASE("a record from before a key was added can be read") {
  Json json = Json::parse(sample().to_json());
  json["timing"].erase("calibration");
  json["timing"]["cells"][0].erase("bracket_us");
  json["timing"]["cells"][0]["baselines"][0].erase("block_log_ratios");
  const auto back = Verdict::from_json(json.dump());
  CHECK_FALSE(back.timing.calibration.has_value());
  CHECK(back.timing.cells[0].bracket_us.estimate == 0);
  json["timing"]["cells"][0].erase("handover_us");
  CHECK(contains(refusal_of(json), "'timing.cells[0].handover_us' is missing"));
}

TEST_CASE("a seed keeps all its bits") {
  Verdict verdict;
  verdict.provenance.seed = std::numeric_limits<std::uint64_t>::max();
  CHECK(Json::parse(verdict.to_json())["provenance"]["seed"] == "0xffffffffffffffff");
  verdict.provenance.seed = 1;
  CHECK(Json::parse(verdict.to_json())["provenance"]["seed"] == "0x0000000000000001");
  CHECK(Verdict::from_json(verdict.to_json()).provenance.seed == 1);
}

TEST_CASE("bytes that are no UTF-8 are replaced and never throw") {
  Verdict verdict;
  verdict.source = "\xff\xfe int";
  verdict.compilation.log = "\xc3";
  verdict.findings = {{"fault", "error", "sweep", "\x80"}};
  verdict.provenance.stage_s = {{"\xf0\x9f", 1.0}};
  const Verdict back = Verdict::from_json(verdict.to_json());
  CHECK(back.source == "\xef\xbf\xbd\xef\xbf\xbd int");
  CHECK(back.compilation.log == "\xef\xbf\xbd");
  CHECK(back.findings[0].evidence == "\xef\xbf\xbd");
}

TEST_CASE("from_json names the key that is missing, unknown or of the wrong type") {
  Json json = Json::parse(sample().to_json());
  json["timing"]["cells"][0]["baselines"][1].erase("reason");
  CHECK(contains(refusal_of(json), "'timing.cells[0].baselines[1].reason' is missing"));

  json = Json::parse(sample().to_json());
  json.erase("gate");
  CHECK(contains(refusal_of(json), "'gate' is missing"));

  CHECK(contains(refusal_with("/correctness/extra", 1), "'correctness.extra' is unknown"));
  CHECK(contains(refusal_with("/extra", 1), "'extra' is unknown"));
  CHECK(contains(refusal_with("/isolation/sealed", 1), "'isolation.sealed' must be a boolean"));
  CHECK(contains(refusal_with("/correctness/cases/1/axes/rows", 3.0),
                 "'correctness.cases[1].axes.rows' must be an integer"));
  CHECK(contains(refusal_with("/provenance/duration_s", nullptr),
                 "'provenance.duration_s' must be a number"));
  CHECK(contains(refusal_with("/provenance/duration_s", "1.0"),
                 "'provenance.duration_s' must be a number"));
  CHECK(contains(refusal_with("/findings", Json::object()), "'findings' must be an array"));
  CHECK(contains(refusal_with("/gate/speedup", 2.0), "'gate.speedup' must be an object"));
  CHECK(contains(refusal_with("/source", 2), "'source' must be a string"));
  CHECK(contains(refusal_with("/status", "fine"), "'status' is no status"));
}

TEST_CASE("from_json refuses numbers out of range and other versions") {
  CHECK(contains(refusal_with("/gate/runs", 3'000'000'000), "'gate.runs' is out of the range"));
  CHECK(contains(refusal_with("/compilation/image_bytes", 18'000'000'000'000'000'000ULL),
                 "'compilation.image_bytes' is out of the range"));
  CHECK(contains(refusal_with("/schema_version", 2), "'schema_version' is 2"));
  CHECK(contains(refusal_with("/schema_version", "1"), "'schema_version' must be an integer"));
  for (const char* seed : {"", "12", "0x", "0x1", "0xfedcba98765432100", "0xfedcba987654321g",
                           "0x-edcba9876543210", "fedcba987654321000"}) {
    CAPTURE(seed);
    CHECK(contains(refusal_with("/provenance/seed", seed), "'provenance.seed' must be"));
  }
  CHECK(contains(refusal_with("/provenance/seed", 5), "'provenance.seed' must be a string"));
}

TEST_CASE("from_json refuses what is no verdict at all") {
  const auto message = [](const std::string& text) {
    return refusal([&] { static_cast<void>(Verdict::from_json(text)); });
  };
  CHECK(contains(message(""), "malformed at byte"));
  CHECK(contains(message("{\"status\": "), "malformed at byte"));
  CHECK(contains(message("\"\xff\""), "malformed at byte"));
  CHECK(contains(message("[]"), "must be an object, but is array"));
  CHECK(contains(message("{}"), "'schema_version' is missing"));
  CHECK(contains(message("{\"schema_version\": 1e999}"), "cannot be read"));
  CHECK(contains(message(std::string(200'000, '[')), "malformed at byte"));
}

// ---- Reward ------------------------------------------------------------------------------------

TEST_CASE("every status has its reward, and infrastructure faults have none") {
  Verdict verdict;
  const std::vector<std::pair<Status, std::optional<double>>> rows = {
      {Status::ok, 1.0},
      {Status::incorrect, 0.0},
      {Status::runtime_error, -0.2},
      {Status::timeout, -0.2},
      {Status::compile_error, -0.5},
      {Status::rejected, -1.0},
      {Status::invalid_problem, std::nullopt},
      {Status::infrastructure_error, std::nullopt}};
  for (const auto& [status, reward] : rows) {
    CAPTURE(to_string(status));
    verdict.status = status;
    CHECK(verdict.reward() == reward);
  }
}

TEST_CASE("a speed-up pays by the low end of its interval") {
  const Verdict verdict = timed_verdict({timed_cell({timed_baseline("compile", 1.5, 2.0, 2.5)})});
  CHECK(*verdict.reward() == Approx(1.5));
  RewardPolicy policy;
  policy.correct = 2.0;
  policy.speedup_weight = 3.0;
  CHECK(*verdict.reward(policy) == Approx(3.5));
  policy.maximum = 3.0;
  CHECK(*verdict.reward(policy) == 3.0);
}

TEST_CASE("noise and slowness pay nothing and cost nothing") {
  CHECK(*timed_verdict({timed_cell({timed_baseline("compile", 0.9, 1.4, 2.0)})}).reward() == 1.0);
  CHECK(*timed_verdict({timed_cell({timed_baseline("compile", 0.1, 0.2, 0.3)})}).reward() == 1.0);
  CHECK(*timed_verdict({timed_cell({timed_baseline("compile", not_a_number, 3.0, not_a_number)})})
             .reward() == 1.0);
  CHECK(*timed_verdict({timed_cell({timed_baseline("compile", infinity, 3.0, 3.0)})}).reward() ==
        1.0);
  CHECK(*timed_verdict({timed_cell({timed_baseline("compile", -2.0, 3.0, 3.0)})}).reward() == 1.0);
}

TEST_CASE("cells count by their geometric mean") {
  const Verdict verdict = timed_verdict({timed_cell({timed_baseline("compile", 4.0, 4.1, 4.2)}),
                                         timed_cell({timed_baseline("compile", 0.25, 0.3, 0.4)}),
                                         timed_cell({timed_baseline("compile", 8.0, 8.1, 8.2)})});
  CHECK(*verdict.reward() == Approx(2.0));
}

TEST_CASE("the reward falls back to eager where the baseline was not timed everywhere") {
  BaselineTiming unavailable = timed_baseline("compile", 9.0, 9.1, 9.2);
  unavailable.status = "unavailable";
  const BaselineTiming eager = timed_baseline("eager", 2.0, 2.1, 2.2);
  const TimedCell without = timed_cell({eager, unavailable});
  const TimedCell with = timed_cell({eager, timed_baseline("compile", 5.0, 5.1, 5.2)});
  CHECK(*timed_verdict({without}).reward() == Approx(2.0));
  CHECK(*timed_verdict({with, without}).reward() == Approx(2.0));
  CHECK(*timed_verdict({with}).reward() == Approx(5.0));
  CHECK(*timed_verdict({timed_cell({unavailable})}).reward() == 1.0);
  CHECK(*timed_verdict({}).reward() == 1.0);
}

TEST_CASE("a wrong candidate is not paid for speed") {
  Verdict verdict = timed_verdict({timed_cell({timed_baseline("compile", 5.0, 5.1, 5.2)})});
  verdict.status = Status::incorrect;
  CHECK(*verdict.reward() == 0.0);
}

TEST_CASE("a reward policy is read from JSON, and strictly") {
  const RewardPolicy policy =
      RewardPolicy::from_json(R"({"baseline": "eager", "correct": 2, "maximum": 4.5})");
  CHECK(policy.baseline == "eager");
  CHECK(policy.correct == 2.0);
  CHECK(policy.maximum == 4.5);
  CHECK(policy.rejected == RewardPolicy{}.rejected);

  CHECK(contains(refused_policy(R"({"corect": 1})"), "'corect' is unknown"));
  CHECK(contains(refused_policy(R"({"correct": true})"), "'correct' must be a number"));
  CHECK(contains(refused_policy(R"({"baseline": 3})"), "'baseline' must be a string"));
  CHECK(contains(refused_policy(R"({"maximum": "Infinity"})"), "'maximum' must be finite"));
  CHECK(contains(refused_policy("[]"), "must be an object"));
  CHECK(contains(refused_policy("{"), "malformed"));
}

// ---- Text --------------------------------------------------------------------------------------

TEST_CASE("explain has every important fact") {
  const std::string text = sample().explain();
  for (const char* part :
       {"incorrect: softmax.cpp for softmax", "1 of 2 cases failed.", "nan_mismatch",
        "NaN at out[1, 2], where 1 belongs.", "compiled in 812 ms: run_float32",
        "1 of 2 cases passed (float32)", "is beyond any multiple of what is allowed",
        "cols=33 rows=3", "out[1, 2] is 0.25", "2.00x [1.90, 2.10] against eager",
        "no comparison with compile: torch.compile needs", "150 us [149, 152]",
        "stability gate passed: 1.98x [1.91, 2.05] against eager", "isolation sealed",
        "No mount namespace", "not done: float64 (not exported)"}) {
    CAPTURE(part, text);
    CHECK(contains(text, part));
  }
}

TEST_CASE("explain says what was not done") {
  CHECK(
      contains(Verdict{}.explain(), "not done: compilation, correctness, timing, stability gate"));
}

TEST_CASE("text cannot drive a terminal or break a decoder") {
  Verdict verdict;
  verdict.status = Status::runtime_error;
  verdict.candidate = "a\x1b[2J\r\xff.cpp";
  verdict.summary = "bidi \xe2\x80\xae caf\xc3\xa9";
  verdict.findings = {{"fault", "error", "sweep", "bell \x07 c1 \xc2\x9b"}};
  for (const std::string& text : {verdict.explain(), verdict.feedback()}) {
    CAPTURE(text);
    for (const char* bad : {"\x1b", "\r", "\x07", "\xff", "\xe2\x80\xae", "\xc2\x9b"}) {
      CHECK_FALSE(contains(text, bad));
    }
    CHECK(contains(text, "caf\xc3\xa9"));
  }
}

TEST_CASE("of long texts the middle is left out, between characters") {
  for (const std::string before : {"", "a"}) {
    Verdict verdict;
    verdict.summary = before;
    for (int i = 0; i < 300; ++i) verdict.summary += "\xc3\xa9";
    verdict.summary += "the reason";
    const auto text = verdict.explain();
    CHECK(contains(text, "\xc3\xa9 ... \xc3\xa9"));
    CHECK(contains(text, "the reason"));
    CHECK(std::count(text.begin(), text.end(), '\xc3') ==
          std::count(text.begin(), text.end(), '\xa9'));
    CHECK(text.size() < 500);
  }
}

// ---- Feedback ----------------------------------------------------------------------------------

TEST_CASE("feedback says what failed, where and by how much") {
  const std::string text =
      swept_verdict({passed_case(0, 64, 128, "normal"), failed_case(1, 3, 34, "normal", 250.0)})
          .feedback();
  for (const char* part :
       {"Wrong results.", "1 of 2 cases passed.", "float32 cols=34 rows=3", "normal values",
        "out[1, 2] is 0.25, expected 1; 51 of 102",
        "The error is 250 times what is allowed; the reference's own is 6e-08"}) {
    CAPTURE(part, text);
    CHECK(contains(text, part));
  }
}

TEST_CASE("feedback never tells the seed or where it was judged") {
  Verdict verdict = sample();
  for (const Status status : {Status::ok, Status::incorrect, Status::rejected}) {
    verdict.status = status;
    const std::string text = verdict.feedback();
    CHECK_FALSE(contains(text, "fedcba9876543210"));
    CHECK_FALSE(contains(text, "18364758544493064720"));
    CHECK_FALSE(contains(text, verdict.provenance.machine));
  }
}

TEST_CASE("feedback shows different failures, the smallest first") {
  const std::string text =
      swept_verdict({failed_case(0, 512, 512, "normal"), failed_case(1, 2, 8, "normal"),
                     failed_case(2, 4, 8, "tiny"), failed_case(3, 2, 16, "x8"),
                     failed_case(4, 8, 8, "sorted")})
          .feedback();
  CHECK(contains(text, "cols=8 rows=2"));
  CHECK(contains(text, "tiny values"));
  CHECK(contains(text, "x8 values"));
  CHECK_FALSE(contains(text, "cols=512"));
  CHECK_FALSE(contains(text, "sorted values"));
}

TEST_CASE("feedback infers a likely cause from the families that fail") {
  const auto cause = [](const std::string& family, double ratio = 1e6) {
    return swept_verdict({passed_case(0, 64, 64, "normal"), passed_case(1, 7, 33, "sorted"),
                          failed_case(2, 64, 64, family, ratio)})
        .feedback();
  };
  CHECK(contains(cause("x64"), "only large values fail"));
  CHECK(contains(cause("spike"), "Subtract the maximum"));
  CHECK(contains(cause("large_mean"), "E[x^2] - E[x]^2 cancels"));
  CHECK(contains(cause("tiny"), "eps is missing"));
  CHECK(contains(cause("equal"), "variance is zero"));
  CHECK(contains(cause("nan"), "must propagate"));
  CHECK_FALSE(contains(cause("sorted"), "only"));
}

TEST_CASE("one mistake may break several families") {
  const auto text = [](const std::string& first, const std::string& second) {
    return swept_verdict({passed_case(0, 64, 64, "normal"), failed_case(1, 64, 64, first),
                          failed_case(2, 64, 64, second)})
        .feedback();
  };
  CHECK(contains(text("x64", "inf"), "only large values fail"));
  CHECK(contains(text("equal", "large_mean"), "E[x^2] - E[x]^2 cancels"));
  CHECK(contains(text("equal", "tiny"), "eps is missing"));
  CHECK_FALSE(contains(text("x64", "tiny"), "Likely cause: only"));
}

TEST_CASE("no cause is read from families when ordinary values fail too") {
  const std::string text =
      swept_verdict({failed_case(0, 64, 64, "normal"), failed_case(1, 64, 64, "x64")}).feedback();
  CHECK_FALSE(contains(text, "only large values"));
}

TEST_CASE("feedback infers a tail from the sizes that fail") {
  const auto with_width = [](std::int64_t good, std::int64_t bad) {
    return swept_verdict({passed_case(0, 3, good, "normal"), passed_case(1, 5, 64, "normal"),
                          failed_case(2, 3, bad, "normal"), failed_case(3, 5, bad + 64, "sorted")})
        .feedback();
  };
  CHECK(contains(with_width(32, 33), "cols not a multiple of 2"));
  CHECK(contains(with_width(32, 34), "cols not a multiple of 4"));
  CHECK(contains(with_width(32, 8), "cols not a multiple of 16"));
}

TEST_CASE("feedback infers a bound or a minimum from the sizes that fail") {
  const std::string large =
      swept_verdict({passed_case(0, 8, 1000, "normal"), failed_case(1, 8, 1032, "normal"),
                     failed_case(2, 8, 4096, "normal"), passed_case(3, 8, 64, "normal")})
          .feedback();
  CHECK(contains(large, "cols of 1032 or more, and every passing one 1000 or less"));

  const std::string small =
      swept_verdict({passed_case(0, 8, 2, "normal"), passed_case(1, 8, 7, "normal"),
                     failed_case(2, 8, 1, "normal")})
          .feedback();
  CHECK(contains(small, "cols of 1 or less, and every passing one 2 or more"));

  const std::string empty =
      swept_verdict({passed_case(0, 8, 2, "normal"), failed_case(2, 8, 0, "normal")}).feedback();
  CHECK(contains(empty, "only cols=0 fails"));
}

TEST_CASE("feedback infers a cause from the dtype that fails") {
  CaseResult half = failed_case(1, 64, 64, "normal");
  half.dtype = "float16";
  const std::string text = swept_verdict({passed_case(0, 64, 64, "normal"), half}).feedback();
  CHECK(contains(text, "only float16 fails"));
  CHECK(contains(text, "accumulate in float32"));
}

TEST_CASE("feedback infers a cause from the size of the errors") {
  const auto all_at = [](double ratio) {
    return swept_verdict(
               {failed_case(0, 64, 64, "normal", ratio), failed_case(1, 7, 33, "sorted", ratio)})
        .feedback();
  };
  CHECK(contains(all_at(2.0), "only a little above what is allowed"));
  CHECK(contains(all_at(100.0), "half, bfloat16 or TF32 precision"));
  CHECK_FALSE(contains(all_at(1e6), "Likely cause"));

  CaseResult one = failed_case(0, 64, 64, "normal");
  one.wrong_elements = one.elements;
  CHECK(contains(swept_verdict({one}).feedback(), "every element of every case is wrong"));
  one.wrong_elements = 3;
  CHECK(contains(swept_verdict({one}).feedback(), "only a few elements are wrong"));
}

TEST_CASE("feedback infers a cause from NaN and from unwritten outputs") {
  CaseResult one = failed_case(0, 64, 64, "normal");
  one.message = "out[3, 4] is NaN, expected 0.5";
  CHECK(contains(swept_verdict({one}).feedback(), "look for inf - inf"));
  one.message = "out[3, 4] still holds poison";
  CHECK(contains(swept_verdict({one}).feedback(), "write every element"));
}

TEST_CASE("feedback shows the compiler's first errors") {
  Verdict verdict;
  verdict.status = Status::compile_error;
  verdict.compilation.ran = true;
  verdict.compilation.log =
      "In file included from kernel.cpp:1:\nkernel.cpp:3:5: error: 'foo' was "
      "not declared\n    3 |     foo();\n";
  const std::string text = verdict.feedback();
  CHECK(contains(text, "Did not compile."));
  CHECK(contains(text, "error: 'foo' was not declared"));
  CHECK(contains(text, "3 |     foo();"));
  CHECK_FALSE(contains(text, "In file included"));
}

TEST_CASE("feedback gives advice for findings, once each, and keeps notes to itself") {
  Verdict verdict;
  verdict.status = Status::rejected;
  verdict.findings = {{"forbidden_syscall", "cheat", "sweep", "It asked for write (1)."},
                      {"forbidden_syscall", "cheat", "time", "It asked for open (2)."},
                      {"suspicious_symbol", "note", "compile", "It imports mmap."}};
  const std::string text = verdict.feedback();
  CHECK(contains(text, "It asked for write (1)."));
  CHECK(contains(text, "It asked for open (2)."));
  const std::size_t first = text.find("Compute only");
  REQUIRE(first != std::string::npos);
  CHECK(text.find("Compute only", first + 1) == std::string::npos);
  CHECK_FALSE(contains(text, "mmap"));
}

TEST_CASE("feedback blames no candidate for the faults of others") {
  Verdict verdict = sample();
  verdict.status = Status::infrastructure_error;
  CHECK(verdict.feedback() == "No judgement: the referee's machine failed, not the candidate.");
  verdict.status = Status::invalid_problem;
  CHECK(verdict.feedback() == "No judgement: the problem itself is at fault, not the candidate.");
}

TEST_CASE("feedback of a correct candidate speaks of speed") {
  TimedCell slow = timed_cell({timed_baseline("eager", 0.5, 0.55, 0.6)});
  slow.axes = {{"rows", 7}, {"cols", 100}};
  slow.bytes_min = 1'000'000;
  TimedCell hidden = timed_cell({timed_baseline("eager", 0.9, 1.0, 1.1)});
  hidden.axes = {{"rows", 1}, {"cols", 1}};
  hidden.handover_us = 100.0;
  Verdict verdict =
      timed_verdict({timed_cell({timed_baseline("eager", 1.9, 2.0, 2.1)}), slow, hidden});
  verdict.correctness.ran = true;
  verdict.correctness.cases_total = 9;
  verdict.correctness.cases_passed = 9;
  verdict.correctness.dtypes = {"float32"};
  verdict.correctness.dtypes_missing = {"float16"};
  const std::string text = verdict.feedback();
  for (const char* part :
       {"Correct.", "9 cases: all correct (float32).", "against eager: 2.00x [1.90, 2.10] (faster)",
        "0.55x [0.50, 0.60] (slower)", "1.00x [0.90, 1.10] (no proven difference)",
        "at float32 cols=1 rows=1 most of the time is the hand-over",
        "float32 cols=100 rows=7 moves its compulsory bytes at 6.76 GB/s, the least",
        "Not exported, so not judged: float16."}) {
    CAPTURE(part, text);
    CHECK(contains(text, part));
  }
}

TEST_CASE("feedback takes a launch off once") {
  TimedCell cell = timed_cell({});
  cell.latency_us = {4.0, 3.9, 4.1};
  cell.handover_us = 3.0;
  cell.bytes_min = 1'000'000;
  cell.estimator = "bracket";
  const auto text_of = [&] { return timed_verdict({cell}).feedback(); };
  CHECK(contains(text_of(), "at 250 GB/s"));
  cell.estimator = "raw";
  cell.flags = {"launch_bound"};
  CHECK(contains(text_of(), "most of the time is the hand-over"));
}
