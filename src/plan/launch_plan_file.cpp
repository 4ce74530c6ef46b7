#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "ouroboros/launch_plan.hpp"
#include "ouroboros/plan.hpp"
#include "plan/launch_plan_json.hpp"
#include "plan/launch_plan_place.hpp"
#include "plan/launch_plan_structure.hpp"

namespace ouroboros {
namespace {

using launch_plan::Place;

constexpr std::string_view magic = "OUROPLAN";

// Where things stand in the header; see docs/plan.md.
constexpr std::size_t version_at = 8;
constexpr std::size_t document_size_at = 12;
constexpr std::size_t images_size_at = 16;
constexpr std::size_t hash_at = 24;
constexpr std::size_t hash_bytes = 32;
constexpr std::size_t header_bytes = 56;

// Thousands of launches with the largest parameters that kernels of today have.
constexpr std::uint32_t most_document_bytes = 32u << 20;

template <class Integer>
void write_integer(std::byte* at, Integer value) {
  for (std::size_t i = 0; i < sizeof(Integer); ++i) at[i] = std::byte(value >> (8 * i) & 0xFF);
}

template <class Integer>
Integer read_integer(const std::byte* at) {
  Integer value = 0;
  for (std::size_t i = 0; i < sizeof(Integer); ++i) {
    value |= std::to_integer<Integer>(at[i]) << (8 * i);
  }
  return value;
}

std::array<std::byte, hash_bytes> hash_of(std::span<const std::byte> bytes) {
  const std::string hex = sha256_hex(bytes.data(), bytes.size());
  const auto digit = [](char c) {
    return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
  };
  std::array<std::byte, hash_bytes> hash;
  for (std::size_t i = 0; i < hash.size(); ++i) {
    hash[i] = std::byte(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
  }
  return hash;
}

}  // namespace

LaunchPlan LaunchPlan::parse(std::span<const std::byte> bytes) {
  const Place root;
  if (bytes.size() < header_bytes) {
    root.refuse(fmt::format("has {} bytes, fewer than its header", bytes.size()));
  }
  if (std::memcmp(bytes.data(), magic.data(), magic.size()) != 0) {
    root.refuse("does not begin with \"OUROPLAN\"");
  }
  const auto version = read_integer<std::uint32_t>(bytes.data() + version_at);
  if (version != format_version) {
    root.refuse(fmt::format("is of format version {}, but this library reads version {}", version,
                            format_version));
  }
  const auto document_bytes = read_integer<std::uint32_t>(bytes.data() + document_size_at);
  const auto images_bytes = read_integer<std::uint64_t>(bytes.data() + images_size_at);
  const std::span<const std::byte> payload = bytes.subspan(header_bytes);
  if (document_bytes > payload.size() || images_bytes != payload.size() - document_bytes) {
    root.refuse(fmt::format("has {} bytes after its header, which speaks of {} and {}",
                            payload.size(), document_bytes, images_bytes));
  }
  if (document_bytes > most_document_bytes) {
    root.refuse(fmt::format("has a document of {} bytes; at most {} are read", document_bytes,
                            most_document_bytes));
  }
  const std::array<std::byte, hash_bytes> hash = hash_of(payload);
  if (!std::equal(hash.begin(), hash.end(), bytes.data() + hash_at)) {
    root.refuse("has another SHA-256 than its header says; it was damaged or changed");
  }

  launch_plan::Document document =
      launch_plan::read_document({reinterpret_cast<const char*>(payload.data()), document_bytes});
  LaunchPlan& plan = document.plan;
  const Place images = root.key("images");
  std::span<const std::byte> rest = payload.subspan(document_bytes);
  for (std::size_t i = 0; i < plan.images.size(); ++i) {
    const std::uint64_t size = document.image_bytes[i];
    const Place place = images.index(i);
    if (size > rest.size()) {
      place.key("bytes").refuse(
          fmt::format("is {}, but {} are left in the file", size, rest.size()));
    }
    const std::span<const std::byte> image = rest.first(size);
    if (sha256_hex(image.data(), image.size()) != plan.images[i].sha256) {
      place.key("sha256").refuse("is not the SHA-256 of the image's bytes");
    }
    plan.images[i].bytes.assign(image.begin(), image.end());
    rest = rest.subspan(size);
  }
  if (!rest.empty()) {
    images.refuse(fmt::format("leave {} bytes of the file over", rest.size()));
  }
  launch_plan::require_structure(plan);
  return std::move(plan);
}

std::vector<std::byte> LaunchPlan::serialise() const {
  const std::string document = launch_plan::write_document(*this);
  if (document.size() > most_document_bytes) {
    Place().refuse(fmt::format("has a document of {} bytes; at most {} are written",
                               document.size(), most_document_bytes));
  }
  std::uint64_t images_bytes = 0;
  for (const PlanImage& image : images) images_bytes += image.bytes.size();

  std::vector<std::byte> bytes(header_bytes);
  bytes.reserve(header_bytes + document.size() + images_bytes);
  const auto append = [&](std::span<const std::byte> part) {
    bytes.insert(bytes.end(), part.begin(), part.end());
  };
  append(std::as_bytes(std::span(document)));
  for (const PlanImage& image : images) append(image.bytes);

  std::memcpy(bytes.data(), magic.data(), magic.size());
  write_integer<std::uint32_t>(bytes.data() + version_at, format_version);
  write_integer(bytes.data() + document_size_at, static_cast<std::uint32_t>(document.size()));
  write_integer(bytes.data() + images_size_at, images_bytes);
  const auto hash = hash_of(std::span(bytes).subspan(header_bytes));
  std::copy(hash.begin(), hash.end(), bytes.begin() + hash_at);
  return bytes;
}

}  // namespace ouroboros
