// What a candidate's tracing process may return, read as hostile.

#include <string>

#include "catch.hpp"
#include "ouroboros/tracer.hpp"
#include "trace/results.hpp"

using namespace ouroboros;

namespace {

/// What is made of such a document, for a request of one signature.
TraceResult read(const std::string& document) {
  TraceRequest request;
  request.signatures.resize(1);
  trace::Frame reply;
  reply.document = {{"isolation",
                     {{"namespaces", nlohmann::json::array()},
                      {"landlock_abi", 4},
                      {"missing", nlohmann::json::array()}}}};
  const auto* bytes = reinterpret_cast<const std::byte*>(document.data());
  reply.blobs = {{bytes, bytes + document.size()}};
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
