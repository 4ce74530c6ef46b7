#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "catch.hpp"
#include "launch_plans.hpp"
#include "ouroboros/error.hpp"
#include "ouroboros/launch_plan.hpp"
#include "ouroboros/plan.hpp"

using namespace ouroboros;
using namespace ouroboros_test;
using Json = nlohmann::ordered_json;

namespace {

// The refusal of the full plan after one change to its document.
std::string refusal_after(const std::function<void(Json&)>& change) {
  const std::vector<std::byte> file = full_plan().serialise();
  Json document = document_of(file);
  change(document);
  return refusal(seal(document.dump(), images_of(file)));
}

std::string refusal_of_text(const std::string& document) {
  return refusal(seal(document, images_of(full_plan().serialise())));
}

// The refusal of a plan made in C++.
std::string refusal_after_edit(const std::function<void(LaunchPlan&)>& change) {
  LaunchPlan plan = full_plan();
  change(plan);
  return refusal(plan.serialise());
}

KernelLaunch& kernel_of(LaunchPlan& plan) { return std::get<KernelLaunch>(plan.launches[1]); }

// Every place in a document that holds no other: numbers, strings, booleans, empty lists.
void collect_leaves(const Json& json, const Json::json_pointer& at,
                    std::vector<Json::json_pointer>& leaves) {
  if (!json.is_structured() || json.empty()) {
    leaves.push_back(at);
  } else if (json.is_array()) {
    for (std::size_t i = 0; i < json.size(); ++i) collect_leaves(json[i], at / i, leaves);
  } else {
    for (const auto& item : json.items()) collect_leaves(item.value(), at / item.key(), leaves);
  }
}

}  // namespace

TEST_CASE("a plan comes back from its bytes with every field") {
  const LaunchPlan plan = LaunchPlan::parse(full_plan().serialise());
  CHECK(plan.origin == PlanOrigin::live_trace);
  CHECK(plan.language == "triton");
  CHECK(plan.target == "sm_90");
  CHECK(plan.variant == "BLOCK=64 num_warps=4");
  REQUIRE(plan.buffers.size() == 5);
  CHECK(plan.buffers[0].name == "x");
  CHECK(plan.buffers[1].role == PlanRole::input);
  CHECK(plan.buffers[1].dtype == DType::int64);
  CHECK(plan.buffers[1].shape.empty());
  CHECK(plan.buffers[2].role == PlanRole::output);
  CHECK(plan.buffers[2].bytes == 8192);
  CHECK(plan.buffers[2].dtype == DType::bfloat16);
  CHECK(plan.buffers[2].shape == std::vector<std::int64_t>{64, 64});
  CHECK(plan.buffers[2].strides == std::vector<std::int64_t>{64, 1});
  CHECK(plan.buffers[3].role == PlanRole::scratch);
  CHECK(!plan.buffers[3].image);
  CHECK(plan.buffers[4].role == PlanRole::state);
  CHECK(plan.buffers[4].image == 1u);
  REQUIRE(plan.modules.size() == 2);
  CHECK(plan.modules[1].origin == ModuleOrigin::library);
  CHECK(plan.modules[1].image == 0);
  REQUIRE(plan.images.size() == 2);
  CHECK(plan.images[1].bytes.size() == 16);
  CHECK(plan.images[1].sha256 == sha256_hex("sixteen bytes...", 16));
  REQUIRE(plan.launches.size() == 3);

  const auto& memset = std::get<MemsetLaunch>(plan.launches[0]);
  CHECK(memset.target.buffer == 2);
  CHECK(memset.target.offset == 0);
  CHECK(memset.value == 7);
  CHECK(memset.width == 4);
  CHECK(memset.count == 2048);

  const auto& kernel = std::get<KernelLaunch>(plan.launches[1]);
  CHECK(kernel.function == "softmax");
  CHECK(kernel.grid == Dim3{64, 2, 1});
  CHECK(kernel.block == Dim3{128, 1, 1});
  CHECK(kernel.cluster == Dim3{2, 1, 1});
  CHECK(kernel.shared_bytes == 4096);
  CHECK(kernel.cooperative);
  REQUIRE(kernel.parameters.size() == 196);
  CHECK(kernel.parameters[16] == std::byte{64});
  REQUIRE(kernel.fields.size() == 5);
  CHECK(kernel.fields[3].offset == 64);
  CHECK(kernel.fields[3].size == 128);
  REQUIRE(kernel.pointers.size() == 2);
  CHECK(kernel.pointers[1].at == 8);
  CHECK(kernel.pointers[1].target.buffer == 2);
  CHECK(kernel.pointers[1].target.offset == 8192);
  REQUIRE(kernel.tensor_maps.size() == 1);
  const ParameterTensorMap& map = kernel.tensor_maps[0];
  CHECK(map.at == 64);
  CHECK(map.target.offset == 128);
  CHECK(map.data_type == 6);
  CHECK(map.sizes == std::vector<std::uint64_t>{64, 63});
  CHECK(map.strides_bytes == std::vector<std::uint64_t>{128});
  CHECK(map.box == std::vector<std::uint32_t>{64, 32});
  CHECK(map.element_strides == std::vector<std::uint32_t>{1, 1});
  CHECK(map.interleave == 0);
  CHECK(map.swizzle == 3);
  CHECK(map.l2_promotion == 2);
  CHECK(map.oob_fill == 1);

  const auto& copy = std::get<CopyLaunch>(plan.launches[2]);
  CHECK(copy.target.buffer == 3);
  CHECK(copy.target.offset == 16);
  CHECK(copy.source.buffer == 4);
  CHECK(copy.source.offset == 8);
  CHECK(copy.bytes == 8);
}

TEST_CASE("random plans keep their bytes through parse and serialise") {
  std::mt19937_64 random(20'260'401);
  for (int i = 0; i < 500; ++i) {
    const std::vector<std::byte> bytes = random_plan(random).serialise();
    INFO("plan " << i);
    REQUIRE(refusal(bytes) == "accepted");
    CHECK(LaunchPlan::parse(bytes).serialise() == bytes);
  }
}

TEST_CASE("the format's documentation shows a document that the library reads") {
  const std::vector<std::byte> page =
      read_bytes(std::string(OUROBOROS_SOURCE_DIR) + "/docs/plan.md");
  const std::string text(reinterpret_cast<const char*>(page.data()), page.size());
  const std::size_t begin = text.find("```json\n") + 8;
  Json document = Json::parse(text.substr(begin, text.find("```", begin) - begin));
  // Shortened on the page: parameters, and the images that the indices speak of.
  document["launches"][0]["parameters"] = std::string(2 * 192, '0');
  document["launches"][0]["fields"] = Json::parse("[[0, 8], [8, 8], [16, 4], [64, 128]]");
  const std::vector<std::byte> images(4096 + 16);
  document["images"] = {{{"bytes", 4096}, {"sha256", sha256_hex(images.data(), 4096)}},
                        {{"bytes", 16}, {"sha256", sha256_hex(images.data(), 16)}}};
  CHECK(refusal(seal(document.dump(), images)) == "accepted");
}

TEST_CASE("documents may be written with other spaces, orders of keys and escapes") {
  const std::vector<std::byte> file = full_plan().serialise();
  const nlohmann::json sorted = document_of(file);
  CHECK(LaunchPlan::parse(seal(sorted.dump(2), images_of(file))).serialise() == file);
}

TEST_CASE("a file that lost or changed a byte is refused") {
  const std::vector<std::byte> file = full_plan().serialise();
  for (std::size_t size = 0; size < file.size(); ++size) {
    INFO("cut to " << size);
    CHECK(refusal(std::span(file).first(size)) != "accepted");
  }
  std::vector<std::byte> longer = file;
  longer.push_back(std::byte{0});
  CHECK(refusal(longer) != "accepted");
  for (std::size_t at = 0; at < file.size(); ++at) {
    for (const std::byte flip : {std::byte{1}, std::byte{0x80}, std::byte{0xFF}}) {
      std::vector<std::byte> changed = file;
      changed[at] ^= flip;
      INFO("byte " << at);
      CHECK(refusal(changed) != "accepted");
    }
  }
}

TEST_CASE("a leaf with a boundary value is refused or harmless") {
  const std::vector<std::byte> file = full_plan().serialise();
  const std::vector<std::byte> images = images_of(file);
  const Json original = document_of(file);
  std::vector<Json::json_pointer> leaves;
  collect_leaves(original, Json::json_pointer(), leaves);
  REQUIRE(leaves.size() > 90);

  std::vector<Json> values = {nullptr,
                              true,
                              false,
                              0.5,
                              1.0,
                              "",
                              "x",
                              "\n",
                              std::string(5000, 'x'),
                              "00",
                              Json::array(),
                              Json::object(),
                              Json::array({0, 0, 0})};
  for (const int shift : {0, 3, 7, 8, 15, 16, 31, 32, 40, 56, 62, 63}) {
    const std::uint64_t power = std::uint64_t{1} << shift;
    for (const std::uint64_t value : {power - 1, power, power + 1}) {
      values.emplace_back(value);
      values.emplace_back(static_cast<std::int64_t>(-value));
    }
  }
  values.emplace_back(std::numeric_limits<std::uint64_t>::max());

  std::size_t accepted = 0;
  for (const Json::json_pointer& leaf : leaves) {
    for (const Json& value : values) {
      Json document = original;
      document[leaf] = value;
      const std::vector<std::byte> changed = seal(document.dump(), images);
      INFO(leaf.to_string() << " = " << value.dump().substr(0, 80));
      std::string message = refusal(changed);
      if (message != "accepted") {
        CHECK_THAT(message, ContainsSubstring("The launch plan"));
        continue;
      }
      ++accepted;
      const LaunchPlan plan = LaunchPlan::parse(changed);
      const std::vector<std::byte> once = plan.serialise();
      CHECK(LaunchPlan::parse(once).serialise() == once);
      // What was accepted is what was written, and not something near it.
      CHECK(document_of(once)[leaf] == value);
    }
  }
  // Grid sizes, memset values and the like may be nearly anything.
  CHECK(accepted > 100);
}

TEST_CASE("a leaf that is missing, doubled or in unknown company is refused") {
  const std::vector<std::byte> file = full_plan().serialise();
  const Json original = document_of(file);
  std::vector<Json::json_pointer> leaves;
  collect_leaves(original, Json::json_pointer(), leaves);
  for (const Json::json_pointer& leaf : leaves) {
    Json document = original;
    Json& parent = document[leaf.parent_pointer()];
    if (!parent.is_object()) continue;
    INFO(leaf.to_string());
    parent.erase(leaf.back());
    CHECK_THAT(refusal(seal(document.dump(), images_of(file))),
               ContainsSubstring(leaf.back() + " is missing"));
    parent["colour"] = 1;
    parent[leaf.back()] = original[leaf];
    CHECK_THAT(refusal(seal(document.dump(), images_of(file))),
               ContainsSubstring("has a key that is unknown here: \"colour\""));
  }
  std::string text = original.dump();
  text.insert(text.find("\"role\""), "\"role\":\"output\",");
  CHECK_THAT(refusal_of_text(text), ContainsSubstring("has a key twice in one object: \"role\""));
}

TEST_CASE("text that is no document is refused") {
  const std::string sound = document_of(full_plan().serialise()).dump();
  CHECK(refusal_of_text(sound) == "accepted");
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("null"), sound + "{}", sound + ",",
        "/* */" + sound, sound.substr(1), std::string("{\"origin\": \"\xff\"}"),
        std::string("{\"origin\": 1e999}")}) {
    INFO(text.substr(0, 40));
    CHECK_THAT(refusal_of_text(text), ContainsSubstring("The launch plan"));
  }
}

TEST_CASE("documents that are made to be costly are refused") {
  CHECK_THAT(refusal_of_text(std::string(100'000, '[')), ContainsSubstring("nested too deeply"));
  std::string keys = "{";
  for (int i = 0; i < 100'000; ++i) keys += "\"" + std::to_string(i) + "\":0,";
  CHECK_THAT(refusal_of_text(keys), ContainsSubstring("too many keys"));
  std::string values = "[";
  for (int i = 0; i < 3'000'000; ++i) values += "0,";
  CHECK_THAT(refusal_of_text(values), ContainsSubstring("too many values"));
  CHECK_THAT(refusal(seal(std::string((32u << 20) + 1, ' '), {})), ContainsSubstring("at most"));
}

TEST_CASE("types and ranges are refused by the path of the field") {
  const auto check = [](const char* pointer, const Json& value, const std::string& sentence) {
    INFO(pointer << " = " << value.dump());
    CHECK_THAT(
        refusal_after([&](Json& document) { document[Json::json_pointer(pointer)] = value; }),
        ContainsSubstring(sentence));
  };
  check("/origin", "guess", "origin must be one of \"dry_trace\"");
  check("/language", "fortran", "language must be one of");
  check("/target", "sm_9", "target must be an architecture");
  check("/target", "sm_090", "target must be an architecture");
  check("/variant", "red\x1b[31m", "variant must be printable ASCII");
  check("/buffers/0/name", "", "buffers[0].name must not be empty");
  check("/buffers/0/name", "a b", "buffers[0].name must be printable ASCII without spaces");
  check("/buffers/0/name", std::string(129, 'x'), "buffers[0].name must have at most 128");
  check("/buffers/0/dtype", "float8", "buffers[0].dtype is no element type");
  check("/buffers/0/bytes", 1.0, "buffers[0].bytes must be an integer, but is number");
  check("/buffers/0/bytes", 8190, "buffers[0].bytes is 8190, which is too small");
  check("/buffers/2/bytes", 8194, "buffers[2].bytes is 8194, but an output ends");
  check("/buffers/0/shape/0", -1, "buffers[0].shape[0] must not be negative");
  check("/buffers/0/strides/1", -1, "buffers[0].strides[1] must not be negative");
  check("/buffers/0/strides/0", 1ull << 62, "buffers[0].bytes is 8192, which is too small");
  check("/buffers/0/strides", Json::array({1}), "buffers[0].strides must be as many as the 2");
  check("/buffers/3/bytes", 1ull << 56, "buffers[3].bytes brings the sum to an overflow");
  check("/buffers/4/image", 2, "buffers[4].image is 2, but there are 2 images");
  check("/buffers/4/image", 0, "buffers[4].image has 8 bytes, but the buffer has 16");
  check("/modules/1/image", 2, "modules[1].image is 2");
  check("/launches/1/module", 2, "launches[1].module is 2, but there are 2 modules");
  check("/launches/1/module", -1, "launches[1].module must be 0 to 4294967295, but is -1");
  check("/launches/1/grid/2", 0, "launches[1].grid[2] must not be zero");
  check("/launches/1/block", Json::array({1, 1}), "launches[1].block must have 3 numbers");
  check("/launches/1/cooperative", 1, "launches[1].cooperative must be a boolean");
  check("/launches/1/parameters", "0", "launches[1].parameters must have two digits a byte");
  check("/launches/1/parameters", "0G", "launches[1].parameters must be lower-case hexadecimal");
  check("/launches/1/fields/1/0", 7, "launches[1].fields[1] begins before");
  check("/launches/1/fields/4/1", 5, "launches[1].fields[4] ends at byte 197 of 196");
  check("/launches/1/fields/4/1", 4294967295u, "launches[1].fields[4] ends at byte 4294967487");
  check("/launches/1/pointers/0/at", 4, "launches[1].pointers[0].at is 4, which is no multiple");
  check("/launches/1/pointers/0/at", 16, "launches[1].pointers[0].at is 16: the 8 bytes from");
  check("/launches/1/pointers/0/at", 4294967288u, "lie in no field");
  check("/launches/1/pointers/0/at", 8, "overlap at byte 8");
  check("/launches/1/pointers/0/at", 96, "overlap at byte 96");
  check("/launches/1/pointers/0/buffer", 5, "launches[1].pointers[0].buffer is 5, but there are 5");
  check("/launches/1/pointers/0/offset", 8193, "launches[1].pointers[0].offset is 8193");
  check("/launches/1/tensor_maps/0/at", 72, "launches[1].tensor_maps[0].at is 72");
  check("/launches/1/tensor_maps/0/data_type", 16, "tensor_maps[0].data_type must be 0 to 15");
  check("/launches/1/tensor_maps/0/box/1", 257, "tensor_maps[0].box[1] must be 1 to 256");
  check("/launches/1/tensor_maps/0/strides_bytes/0", 136, "is 136, which is no multiple of 16");
  check("/launches/1/tensor_maps/0/sizes", Json::array(), "number of sizes must be 1 to 5");
  check("/launches/1/tensor_maps/0/offset", 8, "offset is 8, which is no multiple of 16");
  check("/launches/0/width", 3, "launches[0].width must be 1, 2 or 4");
  check("/launches/0/count", 2049, "launches[0].offset is 0: 8196 bytes from there do not fit");
  check("/launches/0/count", 1ull << 62, "launches[0].count must be 1 to");
  check("/launches/0/kind", "free", "launches[0].kind must be one of");
  check("/launches/0/kind", "copy", "launches[0].from_buffer is missing");
  check("/launches/2/offset", 249, "launches[2].offset is 249: 8 bytes from there do not fit");
  check("/launches/2/from_offset", 18446744073709551615ull, "launches[2].from_offset is 184467");
  check("/images/0/bytes", 7, "images[0].sha256 is not the SHA-256");
  check("/images/1/bytes", 17, "images[1].bytes is 17, but 16 are left");
  check("/images/1/sha256", std::string(64, '0'), "images[1].sha256 is not the SHA-256");
}

TEST_CASE("what fields say about one another is refused") {
  CHECK_THAT(
      refusal_after_edit([](LaunchPlan& plan) { std::swap(plan.buffers[0], plan.buffers[2]); }),
      ContainsSubstring("buffers[1].role comes too late"));
  CHECK_THAT(refusal_after_edit([](LaunchPlan& plan) { plan.images.push_back({}); }),
             ContainsSubstring("images[2] is the image of no module and no state buffer"));
  CHECK_THAT(
      refusal_after_edit([](LaunchPlan& plan) { kernel_of(plan).parameters[3] = std::byte{1}; }),
      ContainsSubstring("pointers[0].at is 0: the parameters must hold 8 zeros from there"));
  CHECK_THAT(refusal_after_edit([](LaunchPlan& plan) { kernel_of(plan).parameters.resize(32765); }),
             ContainsSubstring("number of parameter bytes must be 0 to 32764"));
  CHECK_THAT(refusal_after_edit(
                 [](LaunchPlan& plan) { plan.launches[2] = CopyLaunch{{0, 0}, {0, 7}, 8}; }),
             ContainsSubstring("overlap"));
  CHECK_THAT(refusal_after_edit(
                 [](LaunchPlan& plan) { plan.launches[0] = MemsetLaunch{{2, 0}, 256, 1, 1}; }),
             ContainsSubstring("launches[0].value is 256, which does not fit 1 bytes"));
  CHECK_THAT(refusal_after_edit(
                 [](LaunchPlan& plan) { plan.launches[0] = MemsetLaunch{{2, 2}, 0, 4, 1}; }),
             ContainsSubstring("launches[0].offset is 2, which is no multiple of the width"));
  CHECK_THAT(refusal_after([](Json& document) { document["images"].erase(1); }),
             ContainsSubstring("images leave 16 bytes of the file over"));
  CHECK_THAT(refusal_after([](Json& document) { document["buffers"][3]["image"] = 0; }),
             ContainsSubstring("buffers[3] has a key that is unknown here: \"image\""));
}

TEST_CASE("an empty tensor and a strided one are sound") {
  CHECK(refusal_after_edit([](LaunchPlan& plan) {
          plan.buffers[1].shape = {0, 5};
          plan.buffers[1].strides = {5, 1};
          plan.buffers[1].bytes = 0;
        }) == "accepted");
  CHECK(refusal_after_edit([](LaunchPlan& plan) {
          plan.buffers[2].shape = {64, 32};
          plan.buffers[2].bytes = (63 * 64 + 32) * 2;
          plan.launches[0] = MemsetLaunch{{2, 0}, 0, 1, plan.buffers[2].bytes};
          kernel_of(plan).pointers[1].target.offset = 0;
        }) == "accepted");
}

TEST_CASE("the fuzzer's seeds are plans and cubins that are read") {
  std::size_t plans = 0;
  const std::string folder = std::string(OUROBOROS_SOURCE_DIR) + "/tests/fuzz/corpus/plan";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::vector<std::byte> bytes = read_bytes(entry.path());
    INFO(entry.path());
    if (entry.path().filename().string().starts_with("cubin_")) {
      CHECK(kernel_resources(bytes).size() == 1);
    } else {
      CHECK(refusal(bytes) == "accepted");
      ++plans;
    }
  }
  CHECK(plans >= 4);
}
