// Fuzzes what a candidate's tracing process returns: any bytes must become results or a refusal,
// and no error. Seeds are a document and, behind a zero byte, bytes that it may refer to.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "ouroboros/tracer.hpp"
#include "trace/results.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ouroboros;
  const auto* end = data + size;
  const auto* middle = std::find(data, end, std::uint8_t{0});
  const auto blob = [](const std::uint8_t* from, const std::uint8_t* to) {
    const auto* first = reinterpret_cast<const std::byte*>(from);
    return trace::Blob(first, first + (to - from));
  };
  TraceRequest request;
  request.signatures.resize(1);
  trace::Frame reply;
  reply.document = {
      {"isolation", {{"namespaces", {"user"}}, {"landlock_abi", 4}, {"missing", {"seccomp"}}}}};
  const auto others = blob(std::min(middle + 1, end), end);
  reply.blobs = {blob(data, middle), others, others};
  const auto results = trace::results_of(std::move(reply), request, {});
  if (results.size() != 1) std::abort();
  if (!results[0].sources.empty() && results[0].sources.size() != results[0].variants.size()) {
    std::abort();
  }
  for (const auto& output : results[0].outputs) {
    std::int64_t elements = 1;
    for (const auto extent : output.shape) elements *= extent;
    if (static_cast<std::size_t>(elements) * size_of(output.dtype) != output.bytes.size()) {
      std::abort();
    }
  }
  return 0;
}
