#include "plan/launch_plan_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>
#include <utility>

#include "ouroboros/plan.hpp"
#include "plan/launch_plan_place.hpp"

namespace ouroboros::launch_plan {
namespace {

// No document needs more, and they keep hostile ones cheap.
constexpr int most_depth = 6;
constexpr std::size_t most_keys = 32;
constexpr std::size_t most_values = std::size_t{1} << 21;

// An image as the document has it: its bytes follow the document.
struct ImageEntry {
  std::uint64_t bytes = 0;
  std::string sha256;
};

// ---- Keys --------------------------------------------------------------------------------------
//
// `fields(visit, record)` calls `visit(key, member)` for every key of the record's object, in the
// document's order. Records are const when they are written and mutable when they are read, and a
// key that depends on another one's value comes after it.

template <class Record, class Bare>
concept Is = std::same_as<std::remove_const_t<Record>, Bare>;

template <class Visit, Is<PlanBuffer> Record>
void fields(Visit&& visit, Record& buffer) {
  visit("name", buffer.name);
  visit("role", buffer.role);
  visit("bytes", buffer.bytes);
  if (buffer.role == PlanRole::input || buffer.role == PlanRole::output) {
    visit("dtype", buffer.dtype);
    visit("shape", buffer.shape);
    visit("strides", buffer.strides);
  }
  if (buffer.role == PlanRole::state) visit("image", buffer.image);
}

template <class Visit, Is<PlanModule> Record>
void fields(Visit&& visit, Record& module) {
  visit("origin", module.origin);
  visit("image", module.image);
}

template <class Visit, Is<ParameterPointer> Record>
void fields(Visit&& visit, Record& pointer) {
  visit("at", pointer.at);
  visit("buffer", pointer.target.buffer);
  visit("offset", pointer.target.offset);
}

template <class Visit, Is<ParameterTensorMap> Record>
void fields(Visit&& visit, Record& map) {
  visit("at", map.at);
  visit("buffer", map.target.buffer);
  visit("offset", map.target.offset);
  visit("data_type", map.data_type);
  visit("sizes", map.sizes);
  visit("strides_bytes", map.strides_bytes);
  visit("box", map.box);
  visit("element_strides", map.element_strides);
  visit("interleave", map.interleave);
  visit("swizzle", map.swizzle);
  visit("l2_promotion", map.l2_promotion);
  visit("oob_fill", map.oob_fill);
}

template <class Visit, Is<KernelLaunch> Record>
void fields(Visit&& visit, Record& kernel) {
  visit("module", kernel.module);
  visit("function", kernel.function);
  visit("grid", kernel.grid);
  visit("block", kernel.block);
  visit("cluster", kernel.cluster);
  visit("shared_bytes", kernel.shared_bytes);
  visit("cooperative", kernel.cooperative);
  visit("parameters", kernel.parameters);
  visit("fields", kernel.fields);
  visit("pointers", kernel.pointers);
  visit("tensor_maps", kernel.tensor_maps);
}

template <class Visit, Is<MemsetLaunch> Record>
void fields(Visit&& visit, Record& memset) {
  visit("buffer", memset.target.buffer);
  visit("offset", memset.target.offset);
  visit("value", memset.value);
  visit("width", memset.width);
  visit("count", memset.count);
}

template <class Visit, Is<CopyLaunch> Record>
void fields(Visit&& visit, Record& copy) {
  visit("buffer", copy.target.buffer);
  visit("offset", copy.target.offset);
  visit("from_buffer", copy.source.buffer);
  visit("from_offset", copy.source.offset);
  visit("bytes", copy.bytes);
}

template <class Visit, Is<ImageEntry> Record>
void fields(Visit&& visit, Record& image) {
  visit("bytes", image.bytes);
  visit("sha256", image.sha256);
}

// The lists are the document's own: `images` comes from the file's other half.
template <class Visit, Is<LaunchPlan> Record, class Images>
void fields(Visit&& visit, Record& plan, Images& images) {
  visit("origin", plan.origin);
  visit("language", plan.language);
  visit("target", plan.target);
  visit("variant", plan.variant);
  visit("buffers", plan.buffers);
  visit("modules", plan.modules);
  visit("launches", plan.launches);
  visit("images", images);
}

template <class Record>
concept HasFields = requires(Record& record) { fields([](const char*, auto&) {}, record); };

// ---- Names -------------------------------------------------------------------------------------

template <class Value, std::size_t count>
using Names = std::array<std::pair<Value, std::string_view>, count>;

constexpr Names<PlanRole, 4> roles{{{PlanRole::input, "input"},
                                    {PlanRole::output, "output"},
                                    {PlanRole::scratch, "scratch"},
                                    {PlanRole::state, "state"}}};
constexpr Names<ModuleOrigin, 2> module_origins{
    {{ModuleOrigin::candidate, "candidate"}, {ModuleOrigin::library, "library"}}};
constexpr Names<PlanOrigin, 3> plan_origins{{{PlanOrigin::dry_trace, "dry_trace"},
                                             {PlanOrigin::live_trace, "live_trace"},
                                             {PlanOrigin::specification, "specification"}}};

const auto& names_of(PlanRole) { return roles; }
const auto& names_of(ModuleOrigin) { return module_origins; }
const auto& names_of(PlanOrigin) { return plan_origins; }

template <class Launch>
constexpr std::string_view kind_of = "kernel";
template <>
constexpr std::string_view kind_of<MemsetLaunch> = "memset";
template <>
constexpr std::string_view kind_of<CopyLaunch> = "copy";

// ---- Writing -----------------------------------------------------------------------------------

using Ordered = nlohmann::ordered_json;

template <class Value>
  requires std::unsigned_integral<Value> || std::signed_integral<Value>
Ordered encode(Value value) {
  return value;  // Booleans stay booleans.
}

Ordered encode(const std::string& value) { return value; }
Ordered encode(DType value) { return to_string(value); }
Ordered encode(const std::optional<std::uint32_t>& value) { return value.value_or(0); }

template <class Value>
  requires std::is_enum_v<Value>
Ordered encode(Value value) {
  for (const auto& [candidate, name] : names_of(value)) {
    if (candidate == value) return name;
  }
  return "unknown";
}

Ordered encode(const std::vector<std::byte>& bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    hex.push_back(digits[std::to_integer<unsigned>(byte) >> 4]);
    hex.push_back(digits[std::to_integer<unsigned>(byte) & 0xF]);
  }
  return hex;
}

Ordered encode(const ParameterField& field) { return Ordered::array({field.offset, field.size}); }
Ordered encode(const Dim3& dim) { return Ordered::array({dim[0], dim[1], dim[2]}); }

template <class Value>
Ordered encode(const std::vector<Value>& values);

template <HasFields Record>
Ordered encode(const Record& record) {
  Ordered object = Ordered::object();
  fields([&](const char* key, const auto& member) { object[key] = encode(member); }, record);
  return object;
}

Ordered encode(const Launch& launch) {
  return std::visit(
      [](const auto& one) {
        Ordered object = Ordered::object();
        object["kind"] = kind_of<std::decay_t<decltype(one)>>;
        fields([&](const char* key, const auto& member) { object[key] = encode(member); }, one);
        return object;
      },
      launch);
}

template <class Value>
Ordered encode(const std::vector<Value>& values) {
  Ordered array = Ordered::array();
  for (const Value& value : values) array.push_back(encode(value));
  return array;
}

// ---- Reading -----------------------------------------------------------------------------------

using Json = nlohmann::json;

[[noreturn]] void refuse_type(const Place& place, std::string_view expected, const Json& json) {
  place.refuse(fmt::format("must be {}, but is {}", expected, json.type_name()));
}

void decode(const Json& json, const Place& place, bool& value) {
  if (!json.is_boolean()) refuse_type(place, "a boolean", json);
  value = json.get<bool>();
}

template <class Value>
  requires(std::integral<Value> && !std::same_as<Value, bool>)
void decode(const Json& json, const Place& place, Value& value) {
  if (!json.is_number_integer()) refuse_type(place, "an integer", json);
  const bool fits = json.is_number_unsigned() ? std::in_range<Value>(json.get<std::uint64_t>())
                                              : std::in_range<Value>(json.get<std::int64_t>());
  if (!fits) {
    place.refuse(fmt::format("must be {} to {}, but is {}", std::numeric_limits<Value>::min(),
                             std::numeric_limits<Value>::max(), json.dump()));
  }
  value = json.get<Value>();
}

const std::string& text_of(const Json& json, const Place& place) {
  if (!json.is_string()) refuse_type(place, "a string", json);
  return json.get_ref<const std::string&>();
}

void decode(const Json& json, const Place& place, std::string& value) {
  value = text_of(json, place);
}

void decode(const Json& json, const Place& place, DType& value) {
  const std::optional<DType> dtype = parse_dtype(text_of(json, place));
  if (!dtype) place.refuse("is no element type");
  value = *dtype;
}

void decode(const Json& json, const Place& place, std::optional<std::uint32_t>& value) {
  decode(json, place, value.emplace());
}

template <class Value>
  requires std::is_enum_v<Value>
void decode(const Json& json, const Place& place, Value& value) {
  const std::string& text = text_of(json, place);
  std::string known;
  for (const auto& [candidate, name] : names_of(value)) {
    if (text == name) {
      value = candidate;
      return;
    }
    known += fmt::format("{}\"{}\"", known.empty() ? "" : ", ", name);
  }
  place.refuse("must be one of " + known);
}

void decode(const Json& json, const Place& place, std::vector<std::byte>& bytes) {
  const std::string& text = text_of(json, place);
  const auto digit = [&](char c) -> unsigned {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
    place.refuse("must be lower-case hexadecimal digits");
  };
  if (text.size() % 2 != 0) place.refuse("must have two digits a byte");
  bytes.resize(text.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = std::byte(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
  }
}

const Json& array_of(const Json& json, const Place& place) {
  if (!json.is_array()) refuse_type(place, "an array", json);
  return json;
}

template <std::size_t count>
void decode_numbers(const Json& json, const Place& place,
                    const std::array<std::uint32_t*, count>& numbers) {
  if (array_of(json, place).size() != count) {
    place.refuse(fmt::format("must have {} numbers, but has {}", count, json.size()));
  }
  for (std::size_t i = 0; i < count; ++i) decode(json[i], place.index(i), *numbers[i]);
}

void decode(const Json& json, const Place& place, Dim3& dim) {
  decode_numbers<3>(json, place, {&dim[0], &dim[1], &dim[2]});
}

void decode(const Json& json, const Place& place, ParameterField& field) {
  decode_numbers<2>(json, place, {&field.offset, &field.size});
}

template <class Value>
void decode(const Json& json, const Place& place, std::vector<Value>& values);

// Reads an object: `visit_all` visits its keys, and there may be no others.
template <class VisitAll>
void decode_object(const Json& json, const Place& place, std::vector<std::string_view> known,
                   VisitAll&& visit_all) {
  if (!json.is_object()) refuse_type(place, "an object", json);
  visit_all([&](const char* key, auto& member) {
    known.push_back(key);
    const auto found = json.find(key);
    if (found == json.end()) place.key(key).refuse("is missing");
    decode(*found, place.key(key), member);
  });
  for (const auto& item : json.items()) {
    if (std::find(known.begin(), known.end(), item.key()) == known.end()) {
      place.refuse(
          fmt::format("has a key that is unknown here: {}", Json(item.key()).dump(-1, ' ', true)));
    }
  }
}

template <HasFields Record>
void decode(const Json& json, const Place& place, Record& record) {
  decode_object(json, place, {}, [&](auto&& visit) { fields(visit, record); });
}

template <class Kind>
void decode_launch(const Json& json, const Place& place, Launch& launch) {
  Kind& one = launch.emplace<Kind>();
  decode_object(json, place, {"kind"}, [&](auto&& visit) { fields(visit, one); });
}

void decode(const Json& json, const Place& place, Launch& launch) {
  if (!json.is_object()) refuse_type(place, "an object", json);
  const Place kind_place = place.key("kind");
  const auto found = json.find("kind");
  if (found == json.end()) kind_place.refuse("is missing");
  const std::string& kind = text_of(*found, kind_place);
  if (kind == kind_of<KernelLaunch>) return decode_launch<KernelLaunch>(json, place, launch);
  if (kind == kind_of<MemsetLaunch>) return decode_launch<MemsetLaunch>(json, place, launch);
  if (kind == kind_of<CopyLaunch>) return decode_launch<CopyLaunch>(json, place, launch);
  kind_place.refuse(R"(must be one of "kernel", "memset", "copy")");
}

template <class Value>
void decode(const Json& json, const Place& place, std::vector<Value>& values) {
  values.reserve(array_of(json, place).size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    decode(json[i], place.index(i), values.emplace_back());
  }
}

// What nlohmann/json does not mind by itself: keys that come twice, and documents made to be
// costly.
class Guard {
 public:
  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    if (depth > most_depth) root_.refuse("is nested too deeply");
    if (++values_ > most_values) root_.refuse("has too many values");
    if (event == Event::object_start) keys_.emplace_back();
    if (event == Event::object_end) keys_.pop_back();
    if (event == Event::key) {
      const std::string& key = parsed.get_ref<const std::string&>();
      std::vector<std::string>& seen = keys_.back();
      if (std::find(seen.begin(), seen.end(), key) != seen.end()) {
        root_.refuse(fmt::format("has a key twice in one object: {}", parsed.dump(-1, ' ', true)));
      }
      seen.push_back(key);
      if (seen.size() > most_keys) root_.refuse("has an object of too many keys");
    }
    return true;
  }

 private:
  Place root_;
  std::vector<std::vector<std::string>> keys_;
  std::size_t values_ = 0;
};

Json parse_json(std::string_view text) {
  const Place root;
  Guard guard;
  try {
    return Json::parse(text, std::ref(guard));
  } catch (const Json::parse_error& error) {
    root.refuse(fmt::format("is malformed JSON at byte {} of the document", error.byte));
  } catch (const Json::exception&) {
    root.refuse("has a number that is out of every range");
  }
}

}  // namespace

std::string write_document(const LaunchPlan& plan) {
  std::vector<ImageEntry> images;
  for (const PlanImage& image : plan.images) {
    images.push_back({image.bytes.size(), sha256_hex(image.bytes.data(), image.bytes.size())});
  }
  Ordered object = Ordered::object();
  fields([&](const char* key, const auto& member) { object[key] = encode(member); }, plan, images);
  // A name that is no UTF-8 becomes one that no plan may have, and `parse` says so.
  return object.dump(-1, ' ', false, Ordered::error_handler_t::replace);
}

Document read_document(std::string_view text) {
  const Json json = parse_json(text);
  Document document;
  std::vector<ImageEntry> images;
  decode_object(json, Place(), {}, [&](auto&& visit) { fields(visit, document.plan, images); });
  for (ImageEntry& image : images) {
    document.image_bytes.push_back(image.bytes);
    document.plan.images.push_back({{}, std::move(image.sha256)});
  }
  return document;
}

}  // namespace ouroboros::launch_plan
