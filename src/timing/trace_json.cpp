#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "ouroboros/error.hpp"
#include "ouroboros/trace.hpp"
#include "timing/blocks.hpp"

namespace ouroboros::timing {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
const Json& columns() {
  static const Json names = {"arm", "latency_us", "flush_us", "span_us", "clock_mhz", "starved"};
  return names;
}

[[noreturn]] void refuse(const std::string& complaint) {
  throw Error(ErrorCode::invalid_argument, "The trace JSON " + complaint + ".");
}

[[noreturn]] void refuse(const std::string& path, const std::string& complaint) {
  refuse(path.empty() ? complaint : fmt::format("at '{}' {}", path, complaint));
}

void require_object(const Json& json, const std::string& path,
                    std::initializer_list<const char*> keys, const char* optional = "") {
  if (!json.is_object())
    refuse(path, fmt::format("must be an object, but is {}", json.type_name()));
  for (const char* key : keys) {
    if (!json.contains(key)) refuse(path, fmt::format("lacks the key '{}'", key));
  }
  for (const auto& item : json.items()) {
    bool known = item.key() == optional;
    for (const char* key : keys) known = known || item.key() == key;
    if (!known) refuse(path, fmt::format("has the unknown key '{}'", item.key()));
  }
}

void require_array(const Json& json, const std::string& path) {
  if (!json.is_array()) refuse(path, fmt::format("must be an array, but is {}", json.type_name()));
}

std::size_t index(const Json& json, const std::string& path) {
  if (!json.is_number_unsigned()) refuse(path, "must be an integer that is not negative");
  return json.get<std::size_t>();
}

double number(const Json& json, const std::string& path) {
  if (!json.is_number()) refuse(path, fmt::format("must be a number, but is {}", json.type_name()));
  return json.get<double>();
}

Sample read_sample(const Json& json, const std::string& path) {
  require_array(json, path);
  if (json.size() != columns().size()) {
    refuse(path, fmt::format("must have {} values, but has {}", columns().size(), json.size()));
  }
  const auto at = [&](std::size_t column) { return fmt::format("{}[{}]", path, column); };
  Sample sample;
  sample.arm = index(json[0], at(0));
  sample.latency_us = number(json[1], at(1));
  sample.flush_us = number(json[2], at(2));
  sample.span_us = number(json[3], at(3));
  sample.clock_mhz = number(json[4], at(4));
  if (!json[5].is_boolean()) refuse(at(5), "must be true or false");
  sample.starved = json[5].get<bool>();
  return sample;
}

Block read_block(const Json& json, const std::string& path) {
  require_object(json, path, {"set", "samples"}, "code");
  Block block;
  block.set = index(json["set"], path + ".set");
  if (json.contains("code")) block.code = index(json["code"], path + ".code");
  const Json& samples = json["samples"];
  require_array(samples, path + ".samples");
  for (std::size_t i = 0; i < samples.size(); ++i) {
    block.samples.push_back(read_sample(samples[i], fmt::format("{}.samples[{}]", path, i)));
  }
  if (const auto complaint = complaint_about(block)) refuse(path, *complaint);
  return block;
}

Json parse(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    refuse(fmt::format("is malformed at byte {}", error.byte));
  } catch (const Json::exception& error) {
    refuse(fmt::format("cannot be read: {}", error.what()));
  }
}

}  // namespace

std::string to_json(std::span<const Block> blocks) {
  require_valid(blocks);
  std::string text = fmt::format("{{\"trace_version\": {}, \"columns\": {}, \"blocks\": [",
                                 kVersion, columns().dump());
  const char* separator = "\n";
  for (const Block& block : blocks) {
    Json samples = Json::array();
    for (const Sample& sample : block.samples) {
      samples.push_back(Json::array({sample.arm, sample.latency_us, sample.flush_us, sample.span_us,
                                     sample.clock_mhz, sample.starved}));
    }
    const std::string code = block.code == 0 ? "" : fmt::format(",\"code\":{}", block.code);
    text += fmt::format("{}{{\"set\":{}{},\"samples\":{}}}", separator, block.set, code,
                        samples.dump());
    separator = ",\n";
  }
  return text + "\n]}\n";
}

std::vector<Block> trace_from_json(std::string_view json) {
  const Json object = parse(json);
  require_object(object, "", {"trace_version", "columns", "blocks"});
  if (object["trace_version"] != kVersion) {
    refuse("trace_version", fmt::format("is {}, but this library reads version {}",
                                        object["trace_version"].dump(), kVersion));
  }
  if (object["columns"] != columns()) {
    refuse("columns", fmt::format("must be {}", columns().dump()));
  }
  std::vector<Block> blocks;
  const Json& array = object["blocks"];
  require_array(array, "blocks");
  for (std::size_t i = 0; i < array.size(); ++i) {
    blocks.push_back(read_block(array[i], fmt::format("blocks[{}]", i)));
  }
  return blocks;
}

}  // namespace ouroboros::timing
