// The referee from an install tree: one verdict on one file.
#include <iostream>
#include <string>

#include "ouroboros/ouroboros.hpp"

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    std::cerr << "usage: consumer_referee KERNEL [PROBLEM [STAGE]]\n";
    return 2;
  }
  ouroboros::Options options;
  const bool timed = argc > 3 && std::string(argv[3]) == "time";
  options.until = timed ? ouroboros::Stage::time : ouroboros::Stage::sweep;
  const ouroboros::Referee referee(options);
  const auto problem = ouroboros::problems::get(argc > 2 ? argv[2] : "cumsum");
  const ouroboros::Verdict verdict =
      referee.judge(problem, ouroboros::Candidate::from_file(argv[1]));
  std::cout << verdict.explain() << '\n';
  return verdict.status == ouroboros::Status::ok ? 0 : 1;
}
