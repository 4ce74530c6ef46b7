#include "referee/stages.hpp"

namespace ouroboros::referee {

Misconduct misconduct(const Replay& replay, const std::string& stage) {
  const auto make = [&](Status status, const char* severity) {
    return Misconduct{status,
                      {std::string(to_string(replay.outcome)), severity, stage, replay.evidence}};
  };
  switch (replay.outcome) {
    case Outcome::forbidden_syscall:
    case Outcome::exited:
    case Outcome::tampered:
      return make(Status::rejected, "cheat");
    case Outcome::timeout:
      return make(Status::timeout, "error");
    case Outcome::load_failed:
      return make(Status::compile_error, "error");
    case Outcome::fault:
    case Outcome::out_of_memory:
      return make(Status::runtime_error, "error");
    case Outcome::returned:
      break;
  }
  throw Error(ErrorCode::internal, "a call that returned is no misconduct");
}

}  // namespace ouroboros::referee
