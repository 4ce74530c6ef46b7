// Fuzzes the readers of records: verdicts, calibrations, reward policies and traces. Any text must
// be refused with an error of the library's or read, and what was read must keep its text.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "ouroboros/calibration.hpp"
#include "ouroboros/error.hpp"
#include "ouroboros/trace.hpp"
#include "ouroboros/verdict.hpp"

namespace {

using namespace ouroboros;

void require(bool holds) {
  if (!holds) std::abort();
}

template <class Read, class Write>
void round_trip(std::string_view text, const Read& read, const Write& write) {
  try {
    const auto once = write(read(text));
    require(write(read(once)) == once);
  } catch (const Error& error) {
    require(error.code() == ErrorCode::invalid_argument);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  round_trip(text, Verdict::from_json, [](const Verdict& one) {
    static_cast<void>(one.feedback());
    return one.to_json();
  });
  round_trip(text, Calibration::from_json, [](const Calibration& one) { return one.to_json(); });
  round_trip(text, timing::trace_from_json,
             [](const std::vector<timing::Block>& one) { return timing::to_json(one); });
  try {
    static_cast<void>(RewardPolicy::from_json(text));
  } catch (const Error& error) {
    require(error.code() == ErrorCode::invalid_argument);
  }
  return 0;
}
