// expect: error: ignoring return value
#include "ouroboros/verdict.hpp"

// A verdict that nobody looks at is a mistake.
void parse() { ouroboros::Verdict::from_json("{}"); }
