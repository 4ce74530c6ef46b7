#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "ouroboros/error.hpp"

namespace ouroboros::launch_plan {

/// The way to a field, "launches[2].pointers[0].at". Put together only when something is refused.
class Place {
 public:
  Place() = default;

  /// A place borrows the one that it was made from, and the name.
  [[nodiscard]] Place key(std::string_view name) const { return Place(this, name, none); }
  [[nodiscard]] Place index(std::size_t position) const { return Place(this, {}, position); }

  [[nodiscard]] std::string path() const {
    if (parent_ == nullptr) return "";
    const std::string before = parent_->path();
    if (index_ != none) return fmt::format("{}[{}]", before, index_);
    return before.empty() ? std::string(key_) : fmt::format("{}.{}", before, key_);
  }

  /// `complaint` goes on from the field's name: "is missing".
  [[noreturn]] void refuse(std::string_view complaint) const {
    const std::string where = path();
    throw Error(ErrorCode::invalid_argument,
                where.empty() ? fmt::format("The launch plan {}.", complaint)
                              : fmt::format("The launch plan's {} {}.", where, complaint));
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  Place(const Place* parent, std::string_view key, std::size_t index)
      : parent_(parent), key_(key), index_(index) {}

  const Place* parent_ = nullptr;
  std::string_view key_;
  std::size_t index_ = none;
};

}  // namespace ouroboros::launch_plan
