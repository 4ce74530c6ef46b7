#include "trace/scratch.hpp"

#include "sandbox/folder.hpp"

namespace ouroboros::trace {

Scratch::Scratch(const std::filesystem::path& parent)
    : path_(sandbox::make_scratch(parent, "TracerOptions::scratch")) {}

Scratch::~Scratch() { sandbox::remove_tree(path_); }

}  // namespace ouroboros::trace
