#include "judge/judge.hpp"

namespace ouroboros {

std::string Problem::prototypes() const { return judge::prototypes(*this); }

}  // namespace ouroboros
