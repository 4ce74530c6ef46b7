#include "ouroboros/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>

#include "ouroboros/error.hpp"
#include "plan/identifier.hpp"

namespace ouroboros {
namespace {

constexpr std::int64_t most_elements = std::numeric_limits<std::int64_t>::max();

// Far above any machine's memory, and far enough below 2^63 that an executor may round every buffer
// up to pages and add guards without a check of its own.
constexpr std::size_t most_plan_bytes = std::size_t{1} << 56;

[[noreturn]] void refuse(std::size_t call, const std::string& entry, const std::string& what) {
  throw Error(ErrorCode::invalid_argument, fmt::format("Call {} ('{}'): {}", call, entry, what));
}

}  // namespace

std::int64_t Buffer::elements() const noexcept {
  // A zero anywhere wins over an overflow elsewhere; a negative size makes nothing accessible.
  if (std::any_of(shape.begin(), shape.end(), [](std::int64_t size) { return size <= 0; })) {
    return 0;
  }
  std::int64_t product = 1;
  for (const std::int64_t size : shape) {
    if (__builtin_mul_overflow(product, size, &product)) return most_elements;
  }
  return product;
}

std::size_t Buffer::bytes() const noexcept {
  std::size_t result = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(elements()), size_of(dtype), &result)) {
    return std::numeric_limits<std::size_t>::max();
  }
  return result;
}

void audit(const HostPlan& plan) {
  std::size_t total_bytes = 0;
  for (std::size_t index = 0; index < plan.calls.size(); ++index) {
    const Call& call = plan.calls[index];
    if (!is_identifier(call.entry))
      refuse(index, call.entry, "the entry point is no C identifier.");
    const std::size_t arguments = call.buffers.size() + call.sizes.size();
    if (arguments > max_call_arguments) {
      refuse(index, call.entry,
             fmt::format("{} buffers and {} sizes make {} arguments; at most {} are allowed.",
                         call.buffers.size(), call.sizes.size(), arguments, max_call_arguments));
    }
    bool outputs_began = false;
    for (const Buffer& buffer : call.buffers) {
      const auto refuse_buffer = [&](std::string_view what) {
        refuse(index, call.entry, fmt::format("buffer '{}' {}", buffer.name, what));
      };
      if (size_of(buffer.dtype) == 0) refuse_buffer("has an unknown element type.");
      if (buffer.role != BufferRole::input && buffer.role != BufferRole::output) {
        refuse_buffer("has an unknown role.");
      }
      if (buffer.role == BufferRole::input && outputs_began) {
        refuse_buffer("is an input after an output; inputs come first.");
      }
      outputs_began = outputs_began || buffer.role == BufferRole::output;
      for (const std::int64_t size : buffer.shape) {
        if (size < 0) refuse_buffer(fmt::format("has the negative size {}.", size));
      }
      const std::size_t bytes = buffer.bytes();
      if (bytes > most_plan_bytes) refuse_buffer("has a shape whose size in bytes overflows.");
      total_bytes += bytes;
      if (total_bytes > most_plan_bytes) {
        refuse_buffer("brings the plan's size in bytes to an overflow.");
      }
    }
    for (std::size_t size = 0; size < call.sizes.size(); ++size) {
      if (call.sizes[size] < 0) {
        refuse(index, call.entry,
               fmt::format("size argument {} is negative ({}).", size, call.sizes[size]));
      }
    }
  }
}

}  // namespace ouroboros
