// The replay library alone: no torch. Sandboxes a program, so the helper programs must be found.
#include <iostream>
#include <vector>

#include "ouroboros/error.hpp"
#include "ouroboros/executor.hpp"
#include "ouroboros/timing.hpp"
#include "ouroboros/verdict.hpp"

int main() {
  const std::vector<double> values = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  if (ouroboros::timing::trimmed_mean(values, 0.1).mean != 5.5) {
    std::cerr << "trimmed_mean is wrong\n";
    return 1;
  }
  ouroboros::Verdict verdict;
  verdict.summary = "from a consumer";
  if (ouroboros::Verdict::from_json(verdict.to_json()).summary != verdict.summary) {
    std::cerr << "a verdict does not survive JSON\n";
    return 1;
  }
  try {
    const ouroboros::Isolation isolation = ouroboros::probe_isolation();
    std::cout << "isolation: " << isolation.level << '\n';
    return 0;
  } catch (const ouroboros::Error& error) {
    // A kernel that cannot seal a process is no fault of the install tree; a missing program is.
    std::cerr << error.what() << '\n';
    return error.code() == ouroboros::ErrorCode::sandbox_unavailable ? 0 : 1;
  }
}
