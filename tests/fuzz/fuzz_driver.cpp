// Drives a libFuzzer entry point without libFuzzer: seeds, changed at random, until time is up.
// Blind to coverage, but it needs nothing but a compiler with sanitizers.
//
//   fuzz_driver SECONDS CORPUS_FOLDER [SEED]

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;
using Random = std::mt19937_64;

constexpr std::size_t most_bytes = 1 << 16;

// What formats are made of, and what bounds are about.
constexpr std::string_view tokens[] = {"0",
                                       "1",
                                       "-1",
                                       "255",
                                       "256",
                                       "65535",
                                       "2147483648",
                                       "4294967295",
                                       "4294967296",
                                       "null",
                                       "true",
                                       "[]",
                                       "{}",
                                       "[",
                                       "]",
                                       "{",
                                       "}",
                                       ",",
                                       ":",
                                       "\"\"",
                                       "1e99",
                                       "0.5",
                                       "\"",
                                       "\\u0000",
                                       "18446744073709551615",
                                       "9223372036854775808",
                                       "\"state\"",
                                       "\"kind\":\"copy\"",
                                       "\"image\":0"};

std::size_t below(Random& random, std::size_t most) { return random() % most; }

void change(Bytes& bytes, const std::vector<Bytes>& seeds, Random& random) {
  const std::size_t at = below(random, bytes.size() + 1);
  const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
  switch (below(random, 7)) {
    case 0:  // A bit.
      if (at < bytes.size()) bytes[at] ^= static_cast<std::uint8_t>(1u << below(random, 8));
      break;
    case 1:  // A byte.
      if (at < bytes.size()) bytes[at] = static_cast<std::uint8_t>(random());
      break;
    case 2: {  // A run less.
      const std::size_t size = std::min(bytes.size() - at, 1 + below(random, 16));
      bytes.erase(place, place + static_cast<std::ptrdiff_t>(size));
      break;
    }
    case 3: {  // A token more.
      const std::string_view token = tokens[below(random, std::size(tokens))];
      bytes.insert(place, token.begin(), token.end());
      break;
    }
    case 4: {  // Another number.
      const auto is_digit = [](std::uint8_t byte) { return byte >= '0' && byte <= '9'; };
      const auto begin = std::find_if(place, bytes.end(), is_digit);
      const auto end = std::find_if_not(begin, bytes.end(), is_digit);
      const std::string_view token = tokens[below(random, 9)];
      const auto left = bytes.erase(begin, end);
      bytes.insert(left, token.begin(), token.end());
      break;
    }
    case 5: {  // A run of another seed.
      const Bytes& other = seeds[below(random, seeds.size())];
      const std::size_t from = below(random, other.size());
      const std::size_t size = std::min(other.size() - from, 1 + below(random, 64));
      const auto begin = other.begin() + static_cast<std::ptrdiff_t>(from);
      bytes.insert(place, begin, begin + static_cast<std::ptrdiff_t>(size));
      break;
    }
    default: {  // A word of a header.
      const std::uint64_t value = below(random, 2) == 0 ? random() : below(random, 256);
      for (std::size_t i = 0; i < 8 && at + i < bytes.size(); ++i) {
        bytes[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
      }
    }
  }
  if (bytes.size() > most_bytes) bytes.resize(most_bytes);
}

// A plan's header speaks of two sizes. Lets the document's be what the change made of it, so that
// changes reach what is behind the header.
void mend_sizes(Bytes& bytes, std::size_t images) {
  constexpr std::string_view magic = "OUROPLAN";
  constexpr std::size_t header = 56;
  if (bytes.size() < header + images || !std::equal(magic.begin(), magic.end(), bytes.begin())) {
    return;
  }
  const std::uint64_t document = bytes.size() - header - images;
  for (std::size_t i = 0; i < 4; ++i) {
    bytes[12 + i] = static_cast<std::uint8_t>(document >> (8 * i));
  }
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[16 + i] = static_cast<std::uint8_t>(std::uint64_t{images} >> (8 * i));
  }
}

std::size_t images_of(const Bytes& bytes) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < 8 && 16 + i < bytes.size(); ++i) {
    size |= std::size_t{bytes[16 + i]} << (8 * i);
  }
  return size;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) {
    std::fputs("usage: fuzz_driver SECONDS CORPUS_FOLDER [SEED]\n", stderr);
    return 2;
  }
  std::vector<Bytes> seeds;
  for (const auto& entry : std::filesystem::directory_iterator(arguments[2])) {
    std::ifstream file(entry.path(), std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    if (seeds.back().empty()) seeds.pop_back();
  }
  if (seeds.empty()) {
    std::fprintf(stderr, "no seeds in %s\n", arguments[2]);
    return 2;
  }
  const std::uint64_t seed =
      count > 3 ? std::strtoull(arguments[3], nullptr, 0) : std::random_device{}();
  std::printf("seed %llu, %zu files\n", static_cast<unsigned long long>(seed), seeds.size());
  std::fflush(stdout);
  Random random(seed);
  for (const Bytes& one : seeds) LLVMFuzzerTestOneInput(one.data(), one.size());
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(arguments[1]));
  std::uint64_t runs = 0;
  while (std::chrono::steady_clock::now() < end) {
    const Bytes& base = seeds[below(random, seeds.size())];
    Bytes bytes = base;
    for (std::size_t changes = 1 + below(random, 4); changes > 0; --changes) {
      change(bytes, seeds, random);
    }
    if (below(random, 8) != 0) mend_sizes(bytes, images_of(base));
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    ++runs;
  }
  std::printf("%llu inputs, nothing found\n", static_cast<unsigned long long>(runs));
  return 0;
}
