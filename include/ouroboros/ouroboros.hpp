#pragma once

/// Everything in one include.
#include "ouroboros/calibration.hpp"
#include "ouroboros/candidate.hpp"
#include "ouroboros/declared_dtypes.hpp"
#include "ouroboros/dtype.hpp"
#include "ouroboros/error.hpp"
#include "ouroboros/executor.hpp"
#include "ouroboros/limits.hpp"
#include "ouroboros/options.hpp"
#include "ouroboros/plan.hpp"
#include "ouroboros/problem.hpp"
#include "ouroboros/referee.hpp"
#include "ouroboros/timing.hpp"
#include "ouroboros/trace.hpp"
#include "ouroboros/verdict.hpp"
