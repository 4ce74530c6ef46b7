// expect: error: .*(deleted function|deleted constructor)
#include "ouroboros/executor.hpp"

// Two arenas would own the same pages.
ouroboros::Arena copy(const ouroboros::Arena& arena) { return arena; }
