#include "executor/cuda/frame.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "ouroboros/error.hpp"

namespace ouroboros::cuda {
namespace {

constexpr std::uint64_t most_body_bytes = 64ULL << 20;
constexpr std::uint64_t most_bytes = 4ULL << 30;
constexpr std::size_t first_piece = 64 << 10;

struct Header {
  std::uint64_t body_bytes = 0;
  std::uint64_t bytes = 0;
};

[[noreturn]] void gone(const char* what) {
  throw Error(ErrorCode::executor_lost,
              fmt::format("the CUDA executor's socket failed while {}: {}", what,
                          errno != 0 ? std::strerror(errno) : "the other side closed it"));
}

void send_all(int socket, const void* data, std::size_t size) {
  const auto* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t count = send(socket, next, size, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      gone("sending");
    }
    next += count;
    size -= static_cast<std::size_t>(count);
  }
}

void receive_all(int socket, void* data, std::size_t size, const Wait& wait) {
  auto* next = static_cast<char*>(data);
  while (size > 0) {
    wait(socket);
    const ssize_t count = recv(socket, next, size, MSG_DONTWAIT);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) {
      continue;
    }
    if (count <= 0) {
      errno = count == 0 ? 0 : errno;
      gone("receiving");
    }
    next += count;
    size -= static_cast<std::size_t>(count);
  }
}

/// Room is made for what has come, not for what a header promises.
template <class Bytes>
Bytes receive_bytes(int socket, std::uint64_t size, const Wait& wait) {
  Bytes bytes;
  while (bytes.size() < size) {
    const std::size_t at = bytes.size();
    bytes.resize(std::min<std::uint64_t>(size, 2 * at + first_piece));
    receive_all(socket, bytes.data() + at, bytes.size() - at, wait);
  }
  return bytes;
}

/// The header comes in one piece, with the descriptor if there is one.
Header receive_header(int socket, sandbox::Descriptor& descriptor, const Wait& wait) {
  Header header;
  iovec part{&header, sizeof header};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t count = 0;
  do {
    wait(socket);
    count = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (count < 0 && (errno == EINTR || errno == EAGAIN));
  if (count <= 0) {
    errno = count == 0 ? 0 : errno;
    gone("receiving");
  }
  if (const cmsghdr* sent = CMSG_FIRSTHDR(&message);
      sent != nullptr && sent->cmsg_type == SCM_RIGHTS) {
    int value = -1;
    std::memcpy(&value, CMSG_DATA(sent), sizeof value);
    descriptor = sandbox::Descriptor(value);
  }
  const auto received = static_cast<std::size_t>(count);
  receive_all(socket, reinterpret_cast<char*>(&header) + received, sizeof header - received, wait);
  return header;
}

}  // namespace

void send_frame(int socket, const nlohmann::json& body, std::span<const std::byte> bytes,
                int descriptor) {
  // A kernel's name is the candidate's: it may be no UTF-8.
  const std::string text = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  Header header{text.size(), bytes.size()};
  iovec part{&header, sizeof header};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* sent = CMSG_FIRSTHDR(&message);
    sent->cmsg_level = SOL_SOCKET;
    sent->cmsg_type = SCM_RIGHTS;
    sent->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(sent), &descriptor, sizeof descriptor);
  }
  ssize_t count = 0;
  do {
    count = sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (count < 0 && errno == EINTR);
  if (count <= 0) {
    gone("sending");
  }
  const auto sent = static_cast<std::size_t>(count);
  send_all(socket, reinterpret_cast<const char*>(&header) + sent, sizeof header - sent);
  send_all(socket, text.data(), text.size());
  send_all(socket, bytes.data(), bytes.size());
}

Frame receive_frame(int socket, const Wait& wait) {
  Frame frame;
  const auto header = receive_header(socket, frame.descriptor, wait);
  if (header.body_bytes > most_body_bytes || header.bytes > most_bytes) {
    throw Error(ErrorCode::executor_lost, "the CUDA executor's socket carried a frame too long");
  }
  const auto text = receive_bytes<std::string>(socket, header.body_bytes, wait);
  frame.bytes = receive_bytes<std::vector<std::byte>>(socket, header.bytes, wait);
  frame.body = nlohmann::json::parse(text, nullptr, false);
  if (!frame.body.is_object()) {
    throw Error(ErrorCode::executor_lost, "the CUDA executor's socket carried no JSON object");
  }
  return frame;
}

}  // namespace ouroboros::cuda
