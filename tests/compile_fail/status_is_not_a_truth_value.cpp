// expect: error: (could not|cannot|no viable|value of type)
#include "ouroboros/verdict.hpp"

// `if (verdict.status)` would read as "was it right?" and mean the opposite.
bool accepted(const ouroboros::Verdict& verdict) { return verdict.status ? true : false; }
