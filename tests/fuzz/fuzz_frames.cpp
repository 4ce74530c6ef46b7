// Fuzzes both protocols of frames, a tracer's and a CUDA executor's: any bytes must be refused with
// an error of the library's or cut into frames, and what was cut must encode to what it was.

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "executor/cuda/frame.hpp"
#include "ouroboros/error.hpp"
#include "trace/frames.hpp"

namespace {

using namespace ouroboros;

/// The library encodes what it made itself, which is never deep: what is may exhaust the stack.
constexpr std::size_t most_encoded = 4096;

void require(bool holds) {
  if (!holds) std::abort();
}

/// In pieces, as a socket gives them.
void cut(std::span<const std::byte> bytes, std::size_t piece) {
  const auto whole = bytes.size();
  trace::Decoder decoder;
  try {
    while (!bytes.empty()) {
      const auto part = bytes.first(std::min(piece, bytes.size()));
      decoder.feed(part);
      bytes = bytes.subspan(part.size());
      while (const auto frame = decoder.next()) {
        if (whole > most_encoded) continue;
        trace::Decoder again;
        again.feed(trace::encode(frame->document, frame->blobs));
        const auto same = again.next();
        require(same && same->blobs == frame->blobs);
      }
    }
  } catch (const Error& error) {
    require(error.code() == ErrorCode::io);
  }
}

void receive(std::span<const std::byte> bytes) {
  std::array<int, 2> ends{};
  require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  // A socket holds at least so much; what is longer is only cut off.
  require(send(ends[0], bytes.data(), std::min<std::size_t>(bytes.size(), 65536), MSG_DONTWAIT) >=
          0);
  close(ends[0]);
  try {
    for (;;) {
      require(cuda::receive_frame(ends[1], [](int) {}).body.is_object());
    }
  } catch (const Error& error) {
    require(error.code() == ErrorCode::executor_lost);
  }
  close(ends[1]);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  if (data[0] % 2 == 0) {
    cut(bytes, 1 + data[0] / 2U);
  } else {
    receive(bytes);
  }
  return 0;
}
