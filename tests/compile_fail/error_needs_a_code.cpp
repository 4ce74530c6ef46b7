// expect: error: no matching (function|constructor)
#include "ouroboros/error.hpp"

// Callers branch on the code: an error without one is of no use to them.
void fail() { throw ouroboros::Error("something went wrong"); }
