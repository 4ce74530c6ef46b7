// The referee from an install tree: one verdict on one file.
#include <iostream>

#include "ouroboros/ouroboros.hpp"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: consumer_referee KERNEL.cpp\n";
    return 2;
  }
  ouroboros::Options options;
  options.until = ouroboros::Stage::sweep;
  const ouroboros::Referee referee(options);
  const ouroboros::Verdict verdict =
      referee.judge(ouroboros::problems::get("cumsum"), ouroboros::Candidate::from_file(argv[1]));
  std::cout << verdict.explain() << '\n';
  return verdict.status == ouroboros::Status::ok ? 0 : 1;
}
