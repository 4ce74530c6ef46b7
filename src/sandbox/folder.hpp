#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

/// Folders, read and removed without std::filesystem's iterators: those of libstdc++ end the
/// process where an entry's name finds no memory.
namespace ouroboros::sandbox {

/// What is in a folder, in no order; nothing where it cannot be read.
[[nodiscard]] std::vector<std::string> names_in(const std::filesystem::path& folder);

/// Bytes of the files below a folder.
[[nodiscard]] std::uint64_t bytes_below(const std::filesystem::path& folder);

/// Removes a folder and everything in it, whatever a candidate has made of it: however deep, and
/// closed to its owner. Takes no memory and two descriptors, and stops where it gets nowhere.
void remove_tree(const std::filesystem::path& folder) noexcept;

}  // namespace ouroboros::sandbox
