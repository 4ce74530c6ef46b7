#include "judge/judge.hpp"
#include "ouroboros/error.hpp"

namespace ouroboros {

std::string Problem::prototypes() const {
  try {
    return judge::prototypes(*this);
  } catch (const judge::ReferenceFault& fault) {
    // Which dtypes the outputs have is known from running the reference only.
    throw Error(ErrorCode::invalid_argument, fault.what());
  }
}

}  // namespace ouroboros
