#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "ouroboros/error.hpp"
#include "verdict/fields.hpp"

namespace ouroboros {
namespace {

using Json = nlohmann::ordered_json;
using verdict_json::fields;

// JSON has no number for these; the names are those of JavaScript and of pydantic.
constexpr std::string_view not_a_number = "NaN";
constexpr std::string_view positive_infinity = "Infinity";
constexpr std::string_view negative_infinity = "-Infinity";

// ---- Writing -----------------------------------------------------------------------------------

Json encode(bool value) { return value; }
Json encode(int value) { return value; }
Json encode(std::int64_t value) { return value; }
Json encode(const std::string& value) { return value; }
Json encode(Status value) { return std::string(to_string(value)); }

// Only seeds are of this type. As a JSON number a seed would lose bits in readers that use doubles.
Json encode(std::uint64_t value) { return fmt::format("0x{:016x}", value); }

Json encode(double value) {
  if (std::isnan(value)) return not_a_number;
  if (std::isinf(value)) return value > 0 ? positive_infinity : negative_infinity;
  return value;
}

template <class T>
Json encode(const std::vector<T>& values);
template <class T>
Json encode(const std::map<std::string, T>& values);

template <class T>
Json encode(const std::optional<T>& value);

template <class Record>
  requires requires(const Record& record) {
    fields([](const char*, const auto&, auto...) {}, record);
  }
Json encode(const Record& record) {
  Json object = Json::object();
  fields([&](const char* key, const auto& member, auto...) { object[key] = encode(member); },
         record);
  return object;
}

template <class T>
Json encode(const std::optional<T>& value) {
  return value ? encode(*value) : Json(nullptr);
}

template <class T>
Json encode(const std::vector<T>& values) {
  Json array = Json::array();
  for (const T& value : values) array.push_back(encode(value));
  return array;
}

template <class T>
Json encode(const std::map<std::string, T>& values) {
  Json object = Json::object();
  for (const auto& [key, value] : values) object[key] = encode(value);
  return object;
}

// ---- Reading -----------------------------------------------------------------------------------

// What is being read, "verdict" or "reward policy", and the way to the value, "timing.cells[0]".
struct Place {
  const char* what;
  std::string path;

  Place key(std::string_view name) const {
    return {what, path.empty() ? std::string(name) : fmt::format("{}.{}", path, name)};
  }
  Place index(std::size_t position) const { return {what, fmt::format("{}[{}]", path, position)}; }

  [[noreturn]] void refuse(std::string_view complaint) const {
    if (path.empty()) {
      throw Error(ErrorCode::invalid_argument, fmt::format("The {} JSON {}.", what, complaint));
    }
    throw Error(ErrorCode::invalid_argument,
                fmt::format("The {} JSON's key '{}' {}.", what, path, complaint));
  }
  [[noreturn]] void refuse_type(std::string_view expected, const Json& json) const {
    refuse(fmt::format("must be {}, but is {}", expected, json.type_name()));
  }
};

void decode(const Json& json, const Place& place, bool& value) {
  if (!json.is_boolean()) place.refuse_type("a boolean", json);
  value = json.get<bool>();
}

void decode(const Json& json, const Place& place, std::int64_t& value) {
  if (!json.is_number_integer()) place.refuse_type("an integer", json);
  if (json.is_number_unsigned() &&
      json.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
    place.refuse("is out of the range of a 64-bit integer");
  }
  value = json.get<std::int64_t>();
}

void decode(const Json& json, const Place& place, int& value) {
  std::int64_t wide = 0;
  decode(json, place, wide);
  if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max()) {
    place.refuse("is out of the range of a 32-bit integer");
  }
  value = static_cast<int>(wide);
}

void decode(const Json& json, const Place& place, double& value) {
  if (json.is_number()) {
    value = json.get<double>();
  } else if (json == not_a_number) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (json == positive_infinity) {
    value = std::numeric_limits<double>::infinity();
  } else if (json == negative_infinity) {
    value = -std::numeric_limits<double>::infinity();
  } else {
    place.refuse_type(R"(a number, "NaN", "Infinity" or "-Infinity")", json);
  }
}

void decode(const Json& json, const Place& place, std::string& value) {
  if (!json.is_string()) place.refuse_type("a string", json);
  value = json.get_ref<const std::string&>();
}

void decode(const Json& json, const Place& place, std::uint64_t& value) {
  constexpr std::size_t digits = 16;
  std::string text;
  decode(json, place, text);
  if (text.size() == digits + 2 && text.starts_with("0x")) {
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + 2, end, value, 16);
    if (error == std::errc() && stop == end) return;
  }
  place.refuse("must be \"0x\" and 16 hexadecimal digits");
}

void decode(const Json& json, const Place& place, Status& value) {
  std::string name;
  decode(json, place, name);
  const std::optional<Status> status = parse_status(name);
  if (!status) place.refuse("is no status that this version knows");
  value = *status;
}

template <class T>
void decode(const Json& json, const Place& place, std::vector<T>& values);
template <class T>
void decode(const Json& json, const Place& place, std::map<std::string, T>& values);
template <class T>
void decode(const Json& json, const Place& place, std::optional<T>& value);

void require_object(const Json& json, const Place& place) {
  if (!json.is_object()) place.refuse_type("an object", json);
}

void refuse_unknown_keys(const Json& json, const Place& place,
                         const std::vector<std::string_view>& known) {
  for (const auto& item : json.items()) {
    if (std::find(known.begin(), known.end(), item.key()) == known.end()) {
      place.key(item.key()).refuse("is unknown");
    }
  }
}

// Reads the keys of `record`, and accepts besides them only those in `known`.
template <class Record>
void decode_fields(const Json& json, const Place& place, Record& record,
                   std::vector<std::string_view> known) {
  require_object(json, place);
  fields(
      [&](const char* key, auto& member, auto... later) {
        known.push_back(key);
        const auto found = json.find(key);
        if (found != json.end()) {
          decode(*found, place.key(key), member);
        } else if (sizeof...(later) == 0) {
          place.key(key).refuse("is missing");
        }
      },
      record);
  refuse_unknown_keys(json, place, known);
}

template <class Record>
  requires requires(Record& record) { fields([](const char*, auto&, auto...) {}, record); }
void decode(const Json& json, const Place& place, Record& record) {
  decode_fields(json, place, record, {});
}

template <class T>
void decode(const Json& json, const Place& place, std::vector<T>& values) {
  if (!json.is_array()) place.refuse_type("an array", json);
  values.clear();
  values.reserve(json.size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    decode(json[i], place.index(i), values.emplace_back());
  }
}

template <class T>
void decode(const Json& json, const Place& place, std::map<std::string, T>& values) {
  require_object(json, place);
  values.clear();
  for (const auto& item : json.items()) {
    decode(item.value(), place.key(item.key()), values[item.key()]);
  }
}

template <class T>
void decode(const Json& json, const Place& place, std::optional<T>& value) {
  value.reset();
  if (!json.is_null()) decode(json, place, value.emplace());
}

Json parse(std::string_view text, const Place& place) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    place.refuse(fmt::format("is malformed at byte {}", error.byte));
  } catch (const Json::exception& error) {
    place.refuse(fmt::format("cannot be read: {}", error.what()));
  }
}

}  // namespace

std::string Verdict::to_json(int indent) const {
  Json object = Json::object();
  object["schema_version"] = schema_version;
  const Json record = encode(*this);
  for (const auto& item : record.items()) object[item.key()] = item.value();
  // Sources, logs and evidence are bytes of unknown making: what is no UTF-8 becomes U+FFFD.
  return object.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Verdict Verdict::from_json(std::string_view json) {
  const Place root{"verdict", ""};
  const Json object = parse(json, root);
  require_object(object, root);
  const Place version_place = root.key("schema_version");
  const auto version_found = object.find("schema_version");
  if (version_found == object.end()) version_place.refuse("is missing");
  int version = 0;
  decode(*version_found, version_place, version);
  if (version != schema_version) {
    version_place.refuse(
        fmt::format("is {}, but this library reads version {}", version, schema_version));
  }
  Verdict verdict;
  decode_fields(object, root, verdict, {"schema_version"});
  return verdict;
}

std::string Calibration::to_json(int indent) const {
  return encode(*this).dump(indent, ' ', false, Json::error_handler_t::replace);
}

Calibration Calibration::from_json(std::string_view json) {
  const Place root{"calibration", ""};
  const Json object = parse(json, root);
  require_object(object, root);
  Calibration calibration;
  decode_fields(object, root, calibration, {});
  return calibration;
}

RewardPolicy RewardPolicy::from_json(std::string_view json) {
  const Place root{"reward policy", ""};
  const Json object = parse(json, root);
  require_object(object, root);
  RewardPolicy policy;
  std::vector<std::string_view> known;
  fields(
      [&](const char* key, auto& member, auto...) {
        known.push_back(key);
        const auto found = object.find(key);
        if (found == object.end()) return;
        decode(*found, root.key(key), member);
        if constexpr (std::is_same_v<decltype(member), double&>) {
          if (!std::isfinite(member)) root.key(key).refuse("must be finite");
        }
      },
      policy);
  refuse_unknown_keys(object, root, known);
  return policy;
}

}  // namespace ouroboros
