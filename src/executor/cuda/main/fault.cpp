#include "executor/cuda/main/fault.hpp"

#include <fmt/format.h>

#include "ouroboros/error.hpp"

namespace ouroboros::cuda {
namespace {

/// What a kernel did, in words; null for what no kernel can be blamed for.
const char* deed(int status) {
  switch (status) {
    case 700:
      return "read or wrote memory that it was not given, or wrote to an input";
    case 714:
      return "overflowed its stack or jumped astray (hardware stack error)";
    case 715:
      return "executed an illegal instruction";
    case 716:
      return "read or wrote a misaligned address";
    case 717:
      return "used an address in the wrong address space";
    case 718:
      return "jumped to an invalid address";
    case 710:
      return "failed an assertion of its own";
    case 719:
      return "trapped or failed";
    case 720:
      return "has more blocks than a cooperative launch may have";
    case 721:
      return "ended without giving back its tensor memory";
    case 701:
      return "needs more registers, threads or shared memory than the device has";
    case 912:
      return "has a cluster size that the device does not support";
    case 1:
    case 400:
    case 801:
      return "cannot be launched with its configuration";
    default:
      return nullptr;
  }
}

}  // namespace

Replay judge_failure(const Device& device, const DriverError& failure, const std::string& launch) {
  Replay replay;
  const auto& driver = device.driver();
  if (const char* what = deed(failure.status); what != nullptr) {
    replay.outcome = Outcome::fault;
    replay.evidence = fmt::format("{} {}: {}", launch, what, driver.describe(failure.status));
    return replay;
  }
  if (failure.status == 702) {
    replay.outcome = Outcome::timeout;
    replay.evidence = fmt::format("{} was stopped by the driver: {}", launch, failure.what());
    return replay;
  }
  if (failure.status == status_out_of_memory) {
    // A launch needs memory for the threads' stacks alone. Where there is plenty, it asked for more
    // than a device has.
    if (device.free_bytes() > plenty_bytes) {
      replay.outcome = Outcome::out_of_memory;
      replay.evidence = fmt::format("{} needs more memory for its stacks than there is", launch);
      return replay;
    }
    throw Error(
        ErrorCode::out_of_memory,
        fmt::format("the GPU's memory is taken, perhaps by another program: {}", failure.what()));
  }
  throw Error(ErrorCode::executor_lost, fmt::format("{}: {}", launch, failure.what()));
}

}  // namespace ouroboros::cuda
