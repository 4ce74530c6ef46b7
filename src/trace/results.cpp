#include "trace/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "ouroboros/error.hpp"

namespace ouroboros::trace {
namespace {

using nlohmann::json;

constexpr std::size_t max_text_bytes = 64 << 10;
constexpr std::size_t max_source_bytes = 8 << 20;  ///< Of one plan's kernels.
constexpr std::size_t max_notes = 64;              ///< Of one signature; more say nothing new.

/// The candidate's process returned something else than it should.
struct Malformed {
  std::string what;
};

const json& field(const json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (found == object.end()) {
    throw Malformed{fmt::format("a result without \"{}\"", name)};
  }
  return *found;
}

std::string text(const json& value, const char* name) {
  if (!value.is_string()) {
    throw Malformed{fmt::format("a result whose \"{}\" is no text", name)};
  }
  return value.get_ref<const std::string&>().substr(0, max_text_bytes);
}

std::string text_at(const json& object, const char* name) {
  const json& value = field(object, name);
  return value.is_null() ? "" : text(value, name);
}

const json& list(const json& object, const char* name) {
  const json& value = field(object, name);
  if (!value.is_array()) {
    throw Malformed{fmt::format("a result whose \"{}\" is no list", name)};
  }
  return value;
}

/// Takes the bytes away: whoever refers to them twice would make this process hold them twice.
Blob take(const json& value, std::vector<Blob>& blobs) {
  const json& index = field(value, "$blob");
  if (!index.is_number_unsigned() || index.get<std::uint64_t>() >= blobs.size()) {
    throw Malformed{"a result that refers to bytes which are not there"};
  }
  return std::exchange(blobs[index.get<std::size_t>()], {});
}

std::vector<std::int64_t> integers(const json& object, const char* name) {
  std::vector<std::int64_t> values;
  for (const auto& value : list(object, name)) {
    if (!value.is_number_integer()) {
      throw Malformed{fmt::format("a result whose \"{}\" are no integers", name)};
    }
    values.push_back(value.get<std::int64_t>());
  }
  return values;
}

TraceOutput output_of(const json& value, std::vector<Blob>& blobs) {
  TraceOutput output;
  const auto dtype = parse_dtype(text_at(value, "dtype"));
  if (!dtype) {
    throw Malformed{"a result whose \"dtype\" is none"};
  }
  output.dtype = *dtype;
  output.shape = integers(value, "shape");
  output.strides = integers(value, "strides");
  output.bytes = take(field(value, "bytes"), blobs);
  // The product of the shape is the number of elements, and its bytes are there: so it cannot wrap.
  std::uint64_t left = output.bytes.size() / size_of(*dtype);
  const bool empty = std::ranges::find(output.shape, 0) != output.shape.end();
  for (const auto extent : output.shape) {
    if (extent < 0 || (extent > 0 && !empty && left % static_cast<std::uint64_t>(extent) != 0)) {
      left = 0;
      break;
    }
    if (extent > 0 && !empty) {
      left /= static_cast<std::uint64_t>(extent);
    }
  }
  if (empty ? !output.bytes.empty() : left != 1 || output.bytes.size() % size_of(*dtype) != 0) {
    throw Malformed{"an output whose bytes are not those of its shape"};
  }
  if (output.strides.size() != output.shape.size()) {
    throw Malformed{"an output with another number of strides than of dimensions"};
  }
  return output;
}

std::vector<LaunchPlan> plans(const json& variants, std::vector<Blob>& blobs, std::size_t most) {
  if (variants.size() > most) {
    throw Malformed{fmt::format("{} variants where {} are the most", variants.size(), most)};
  }
  std::vector<LaunchPlan> result;
  for (const auto& variant : variants) {
    result.push_back(LaunchPlan::parse(take(variant, blobs)));
  }
  return result;
}

/// One text for each variant, which only another sandboxed process reads.
std::vector<Blob> sources(const json& value, std::vector<Blob>& blobs, std::size_t variants) {
  std::vector<Blob> result;
  if (!value.contains("sources")) return result;
  for (const auto& one : list(value, "sources")) {
    result.push_back(take(one, blobs));
    if (result.size() > variants || result.back().size() > max_source_bytes) {
      throw Malformed{"more sources than its plans have"};
    }
  }
  if (!result.empty() && result.size() != variants) {
    throw Malformed{fmt::format("{} sources of {} plans", result.size(), variants)};
  }
  return result;
}

std::int64_t integer(const json& object, const char* name) {
  const json& value = field(object, name);
  if (!value.is_number_integer()) {
    throw Malformed{fmt::format("a result whose \"{}\" is no integer", name)};
  }
  return value.get<std::int64_t>();
}

KernelReport kernel_of(const json& kernel) {
  return {text_at(kernel, "function"),     text_at(kernel, "module"),
          integer(kernel, "registers"),    integer(kernel, "spills"),
          integer(kernel, "shared_bytes"), integer(kernel, "num_warps"),
          integer(kernel, "num_stages")};
}

TraceResult result_of(const json& value, std::vector<Blob>& blobs, std::size_t most_variants) {
  TraceResult result;
  const json& seconds = field(value, "seconds");
  result.seconds = seconds.is_number() ? seconds.get<double>() : 0;
  result.log = text_at(value, "log");
  if (value.contains("kernels")) {
    std::ranges::transform(list(value, "kernels"), std::back_inserter(result.kernels), kernel_of);
  }
  if (value.contains("notes")) {
    for (const auto& note : list(value, "notes")) {
      if (result.notes.size() == max_notes) break;
      result.notes.push_back(text(note, "notes"));
    }
  }
  if (const json& refusal = field(value, "refusal"); !refusal.is_null()) {
    result.refusal = TraceRefusal{text_at(refusal, "kind"), text_at(refusal, "op"),
                                  text_at(refusal, "message"), text_at(refusal, "traceback")};
    return result;
  }
  if (value.contains("outputs")) {
    for (const auto& output : list(value, "outputs")) {
      result.outputs.push_back(output_of(output, blobs));
    }
    return result;
  }
  try {
    result.variants = plans(list(value, "variants"), blobs, most_variants);
  } catch (const Error& error) {
    result.refusal = TraceRefusal{"malformed_plan", "", error.what(), ""};
    return result;
  }
  if (result.variants.empty()) {
    throw Malformed{"a result with neither a plan nor a refusal"};
  }
  result.sources = sources(value, blobs, result.variants.size());
  return result;
}

std::vector<TraceResult> parse(std::vector<Blob>& blobs, const TraceRequest& request) {
  if (blobs.empty()) {
    throw Malformed{"nothing"};
  }
  if (blobs[0].size() > max_document_bytes) {
    throw Malformed{fmt::format("{} bytes of results", blobs[0].size())};
  }
  const std::size_t signatures = request.signatures.size();
  const auto* first = reinterpret_cast<const char*>(blobs[0].data());
  const auto document =
      json::parse(first, first + blobs[0].size(), nullptr, /*allow_exceptions=*/false);
  if (!document.is_array() || document.size() != signatures) {
    throw Malformed{fmt::format("no list of {} results", signatures)};
  }
  std::vector<TraceResult> results;
  for (const auto& value : document) {
    results.push_back(result_of(value, blobs, request.max_variants));
  }
  return results;
}

/// The zygote's confinement and what its supervisor added for this child.
Isolation isolation_of(const json& reported, Isolation isolation) {
  for (const auto& name : reported.at("namespaces")) {
    if (std::ranges::find(isolation.namespaces, name.get<std::string>()) ==
        isolation.namespaces.end()) {
      isolation.namespaces.push_back(name.get<std::string>());
    }
  }
  isolation.landlock_abi = reported.at("landlock_abi").get<int>();
  for (const auto& sentence : reported.at("missing")) {
    isolation.missing.push_back(sentence.get<std::string>());
  }
  isolation.level = isolation.missing.empty() ? "sandboxed" : "degraded";
  return isolation;
}

}  // namespace

double seconds_of(const TraceRequest& request, const Limits& limits) {
  return request.seconds > 0 ? request.seconds : limits.compile_seconds;
}

Frame frame_of(const TraceRequest& request, const Limits& limits) {
  Frame frame;
  auto signatures = json::array();
  auto values = json::array();
  for (const auto& signature : request.signatures) {
    auto inputs = json::array();
    for (const auto& input : signature.inputs) {
      inputs.push_back({{"name", input.name},
                        {"dtype", std::string(to_string(input.dtype))},
                        {"shape", input.shape},
                        {"strides", input.strides}});
    }
    signatures.push_back({{"inputs", std::move(inputs)}, {"outputs", signature.outputs}});
    auto blobs = json::array();
    for (const auto& value : signature.values) {
      blobs.push_back({{"$blob", frame.blobs.size()}});
      frame.blobs.push_back(value);
    }
    values.push_back(std::move(blobs));
  }
  json body = {{"source", request.source},
               {"name", request.name},
               {"language", request.language},
               {"entry", request.entry},
               {"target", request.target},
               {"device", request.device.empty() ? json(nullptr) : json(request.device)},
               {"max_variants", request.max_variants},
               {"signatures", std::move(signatures)}};
  if (!frame.blobs.empty()) {
    body["inputs"] = std::move(values);
  }
  frame.document = {{"operation", request.operation},
                    {"request", std::move(body)},
                    {"limits",
                     {{"seconds", seconds_of(request, limits)},
                      {"waiting_seconds", waiting_share * seconds_of(request, limits)},
                      {"memory_mib", limits.compile_memory_mib},
                      {"processes", limits.compile_processes},
                      {"file_mib", limits.image_mib},
                      {"scratch_mib", 4 * limits.image_mib},
                      {"result_mib", 4 * limits.image_mib},
                      {"log_kib", limits.log_kib}}},
                    {"builds", request.builds}};
  return frame;
}

std::vector<TraceResult> results_of(Frame reply, const TraceRequest& request,
                                    const Isolation& zygote) {
  const json& document = reply.document;
  if (document.contains("infrastructure")) {
    throw Error(ErrorCode::sandbox_unavailable, "a candidate could not be traced: " +
                                                    document["infrastructure"].get<std::string>());
  }
  std::vector<TraceResult> results;
  TraceRefusal refusal;
  if (document.contains("failure")) {
    refusal = {document["failure"].get<std::string>(), "", document.value("message", std::string()),
               document.value("traceback", std::string())};
  } else {
    try {
      results = parse(reply.blobs, request);
    } catch (const Malformed& error) {
      refusal = {"crashed", "", "the candidate's process returned " + error.what, ""};
    }
  }
  if (!refusal.kind.empty()) {
    results.assign(request.signatures.size(), {});
    for (auto& result : results) {
      result.refusal = refusal;
      result.seconds = document.value("wall_seconds", 0.0);
    }
  }
  const auto isolation = isolation_of(document.at("isolation"), zygote);
  const auto log = document.value("log", std::string());
  for (auto& result : results) {
    result.isolation = isolation;
    if (result.log.empty()) {
      result.log = log;
    }
  }
  return results;
}

}  // namespace ouroboros::trace
