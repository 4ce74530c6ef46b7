#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <cstring>
#include <iterator>

#include "executor/host/arena_layout.hpp"
#include "ouroboros/error.hpp"

namespace ouroboros {
namespace {

// A poisoned word is a quiet NaN in every floating-point type (of float64 and float32 in its high
// half, of the 16-bit types in every half) and an implausible integer. The seed varies the
// payload, so that a value that was computed from poison differs from one replay to the next; the
// buffer's number does, so that poison copied from one buffer to another is seen.
std::uint64_t poison_word(DType dtype, std::uint64_t seed, std::size_t buffer) {
  const std::uint64_t bits = (seed + 1 + buffer * 0xd1342543de82ef95ULL) * 0x9e3779b97f4a7c15ULL;
  switch (dtype) {
    case DType::float16:
      return 0x7e007e007e007e00ULL | (bits & 0x01ff01ff01ff01ffULL);
    case DType::bfloat16:
      return 0x7fc07fc07fc07fc0ULL | (bits & 0x003f003f003f003fULL);
    case DType::float32:
      return 0x7fc000007fc00000ULL | (bits & 0x003fffff003fffffULL);
    case DType::float64:
      return 0x7ff8000000000000ULL | (bits & 0x0007ffffffffffffULL);
    case DType::float8_e4m3fn:  // One NaN for each sign.
      return 0x7f7f7f7f7f7f7f7fULL | (bits & 0x8080808080808080ULL);
    case DType::float8_e5m2:
      return 0x7d7d7d7d7d7d7d7dULL | (bits & 0x8282828282828282ULL);
    case DType::boolean:  // Neither 0 nor 1.
      return 0x0202020202020202ULL | (bits & 0xfdfdfdfdfdfdfdfdULL);
    case DType::int8:
    case DType::uint8:
    case DType::int32:
    case DType::int64:
      break;
  }
  return bits;
}

std::uint64_t drawn(std::uint64_t seed, std::size_t buffer) {
  return (seed + 1 + buffer * 0xd1342543de82ef95ULL) * 0x9e3779b97f4a7c15ULL >> 32;
}

// What memory may well hold that nobody wrote: who takes the least of it and a result, or adds to
// it where it is a number, is right on a NaN.
std::uint64_t number_word(DType dtype, std::uint64_t draw) {
  // Zero, much, much below zero and about one, in every floating-point type.
  constexpr std::uint64_t reals[] = {0, 0x7b7b7b7b7b7b7b7bULL, 0xfbfbfbfbfbfbfbfbULL,
                                     0x3f3f3f3f3f3f3f3fULL};
  if (is_floating(dtype)) return reals[draw % std::size(reals)];
  const auto bits = 8 * size_of(dtype);
  const auto lowest = std::uint64_t{1} << (bits - 1);
  const std::uint64_t wholes[] = {0, 1, ~std::uint64_t{0}, lowest, lowest - 1};
  const auto whole = wholes[draw % (dtype == DType::boolean ? 2 : std::size(wholes))];
  std::uint64_t word = 0;
  for (std::size_t at = 0; at < 64; at += bits) {
    word |= (whole & ~std::uint64_t{0} >> (64 - bits)) << at;
  }
  return word;
}

// At the low end an element that was not written is known by its word; at the high end it is a
// number as any other.
std::uint64_t element_word(DType dtype, Placement placement, std::uint64_t seed,
                           std::size_t buffer) {
  return placement == Placement::low ? poison_word(dtype, seed, buffer)
                                     : number_word(dtype, drawn(seed, buffer));
}

// Regions are whole pages, so words fit; the pattern's phase is the region's.
void fill(std::byte* region, std::size_t begin, std::size_t end, std::uint64_t word) {
  std::byte pattern[sizeof word];
  std::memcpy(pattern, &word, sizeof word);
  while (begin < end && begin % sizeof word != 0) {
    region[begin] = pattern[begin % sizeof word];
    ++begin;
  }
  for (; begin + sizeof word <= end; begin += sizeof word) {
    std::memcpy(region + begin, &word, sizeof word);
  }
  for (; begin < end; ++begin) {
    region[begin] = pattern[begin % sizeof word];
  }
}

// First byte in [begin, end) that is not the pattern's; `end` when there is none.
std::size_t first_difference(const std::byte* region, std::size_t begin, std::size_t end,
                             std::uint64_t word) {
  std::byte pattern[sizeof word];
  std::memcpy(pattern, &word, sizeof word);
  while (begin < end && region[begin] == pattern[begin % sizeof word]) {
    ++begin;
  }
  return begin;
}

}  // namespace

Arena::Arena(std::vector<Call> calls) : layout_(std::make_unique<Layout>(std::move(calls))) {}
Arena::~Arena() = default;

const std::vector<Call>& Arena::calls() const noexcept { return layout_->calls(); }
const Arena::Layout& Arena::layout() const noexcept { return *layout_; }

std::span<std::byte> Arena::view(std::size_t call, std::size_t buffer, Placement placement) const {
  const auto& region = layout_->region(call, buffer);
  return {layout_->pages(region) + layout_->offset(call, buffer, placement),
          layout_->calls()[call].buffers[buffer].bytes()};
}

void Arena::poison(std::size_t call, Placement placement, std::uint64_t seed) const {
  const auto& buffers = layout_->calls().at(call).buffers;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const auto& region = layout_->region(call, i);
    const auto word = poison_word(buffers[i].dtype, seed, i);
    std::byte* pages = layout_->pages(region);
    const std::size_t begin = layout_->offset(call, i, placement);
    const std::size_t end = begin + buffers[i].bytes();
    fill(pages, 0, begin, word);
    fill(pages, end, region.bytes, word);
    if (buffers[i].role == BufferRole::output) {
      fill(pages, begin, end, element_word(buffers[i].dtype, placement, seed, i));
    }
  }
}

void Arena::poison_outputs(std::size_t call, Placement placement, std::uint64_t seed) const {
  const auto& buffers = layout_->calls().at(call).buffers;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].role == BufferRole::output) {
      const std::size_t begin = layout_->offset(call, i, placement);
      const auto kind = drawn(~seed, i) % 2 == 0 ? Placement::low : Placement::high;
      fill(layout_->pages(layout_->region(call, i)), begin, begin + buffers[i].bytes(),
           element_word(buffers[i].dtype, kind, seed, i));
    }
  }
}

std::optional<std::string> Arena::slack_damage(std::size_t call, Placement placement,
                                               std::uint64_t seed) const {
  const auto& buffers = layout_->calls().at(call).buffers;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].role != BufferRole::output) {
      continue;  // Read-only where the candidate sees it.
    }
    const auto& region = layout_->region(call, i);
    const auto word = poison_word(buffers[i].dtype, seed, i);
    const std::byte* pages = layout_->pages(region);
    const std::size_t begin = layout_->offset(call, i, placement);
    const std::size_t end = begin + buffers[i].bytes();
    if (const auto at = first_difference(pages, end, region.bytes, word); at < region.bytes) {
      return fmt::format("wrote {} bytes past the end of output '{}'", at - end + 1,
                         buffers[i].name);
    }
    if (const auto at = first_difference(pages, 0, begin, word); at < begin) {
      return fmt::format("wrote {} bytes before the beginning of output '{}'", begin - at,
                         buffers[i].name);
    }
  }
  return std::nullopt;
}

std::optional<std::string> Arena::unwritten(std::size_t call, std::size_t buffer,
                                            Placement placement, std::uint64_t seed) const {
  if (placement == Placement::high) {
    return std::nullopt;
  }
  const auto& output = layout_->calls().at(call).buffers.at(buffer);
  const auto word = poison_word(output.dtype, seed, buffer);
  const std::byte* pages = layout_->pages(layout_->region(call, buffer));
  const std::size_t begin = layout_->offset(call, buffer, placement);
  const std::size_t step = size_of(output.dtype);
  std::int64_t count = 0;
  std::int64_t first = -1;
  for (std::int64_t element = 0; element < output.elements(); ++element) {
    const std::size_t at = begin + static_cast<std::size_t>(element) * step;
    if (first_difference(pages, at, at + step, word) == at + step) {
      first = first < 0 ? element : first;
      ++count;
    }
  }
  // One byte in 256 is the filling by chance.
  const std::int64_t by_chance = step == 1 ? 4 + output.elements() / 64 : 0;
  if (count <= by_chance) {
    return std::nullopt;
  }
  return fmt::format("left {} of {} elements of output '{}' unwritten, from element {} on", count,
                     output.elements(), output.name, first);
}

void Arena::release(std::size_t call) const {
  const auto& buffers = layout_->calls().at(call).buffers;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const auto& region = layout_->region(call, i);
    if (fallocate(layout_->descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  static_cast<off_t>(region.arena_offset), static_cast<off_t>(region.bytes)) != 0) {
      throw Error(ErrorCode::io, "the pages of a finished call could not be given back");
    }
  }
}

}  // namespace ouroboros
