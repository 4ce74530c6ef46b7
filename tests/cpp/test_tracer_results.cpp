// What a candidate's tracing process may return, read as hostile.

#include <string>

#include "catch.hpp"
#include "launch_plans.hpp"
#include "ouroboros/tracer.hpp"
#include "trace/results.hpp"

using namespace ouroboros;

namespace {

using Blob = trace::Blob;

/// What is made of such a document, for a request of one signature.
TraceResult read(const std::string& document, const std::vector<Blob>& others = {}) {
  TraceRequest request;
  request.signatures.resize(1);
  trace::Frame reply;
  reply.document = {{"isolation",
                     {{"namespaces", nlohmann::json::array()},
                      {"landlock_abi", 4},
                      {"missing", nlohmann::json::array()}}}};
  const auto* bytes = reinterpret_cast<const std::byte*>(document.data());
  reply.blobs = {{bytes, bytes + document.size()}};
  reply.blobs.insert(reply.blobs.end(), others.begin(), others.end());
  return trace::results_of(std::move(reply), request, {}).at(0);
}

std::string with_notes(const std::string& notes) {
  return R"([{"seconds": 1, "log": "", "notes": )" + notes +
         R"(, "refusal": {"kind": "unsupported", "op": "", "message": "", "traceback": ""}}])";
}

}  // namespace

TEST_CASE("notes are texts, and as many as anybody reads", "[tracer]") {
  CHECK(read(with_notes(R"(["a", "b"])")).notes == std::vector<std::string>{"a", "b"});
  CHECK(read(with_notes(R"(["a", 1])")).refusal->kind == "crashed");
  std::string many = R"(["x")";
  for (int i = 0; i < 1000; ++i) many += R"(, "x")";
  CHECK(read(with_notes(many + "]")).notes.size() == 64);
}

TEST_CASE("depth is no way to exhaust the referee's stack", "[tracer]") {
  constexpr std::size_t depth = 4 << 20;
  const auto deep = std::string(depth, '[') + std::string(depth, ']');
  CHECK(read(deep).refusal->kind == "crashed");
  CHECK(read(with_notes("[" + deep + "]")).refusal->kind == "crashed");
  CHECK(
      read(R"([{"seconds": )" + deep + R"(, "log": "", "refusal": )" + deep + "}]").refusal->kind ==
      "crashed");
}

TEST_CASE("a plan has one text of sources, or none", "[tracer]") {
  const auto plan = ouroboros_test::full_plan().serialise();
  const Blob text(3, std::byte{'x'});
  const auto said = [&](const std::string& sources, const Blob& first) {
    return read(R"([{"seconds": 1, "log": "", "refusal": null, "variants": [{"$blob": 1}])" +
                    sources + "}]",
                std::vector<Blob>{plan, first, text});
  };
  const auto good = said(R"(, "sources": [{"$blob": 2}])", text);
  REQUIRE(!good.refusal);
  CHECK(good.sources == std::vector<Blob>{text});
  const auto none = said("", text);
  REQUIRE(!none.refusal);
  CHECK(none.sources.empty());
  for (const auto* sources : {R"(, "sources": [{"$blob": 2}, {"$blob": 3}])", R"(, "sources": [1])",
                              R"(, "sources": {})", R"(, "sources": [{"$blob": 9}])"}) {
    CAPTURE(sources);
    CHECK(said(sources, text).refusal->kind == "crashed");
  }
  const Blob large((8 << 20) + 1);
  CHECK(said(R"(, "sources": [{"$blob": 2}])", large).refusal->kind == "crashed");
}
