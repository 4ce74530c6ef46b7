#include "trace/zygote.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <future>

#include "base/start_thread.hpp"
#include "ouroboros/error.hpp"

namespace ouroboros::trace {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

constexpr int socket_in_zygote = 4;  // 3 is the sandbox's report.
constexpr std::uint64_t ready_id = 0;
constexpr std::size_t chunk_bytes = 1 << 18;
constexpr std::size_t complaint_bytes = 8192;
constexpr auto cancel_interval = 20ms;
constexpr auto cancel_patience = 5s;

std::chrono::nanoseconds in_seconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(seconds));
}

/// What a candidate's process may read: no /proc, where other processes are, unless it must.
std::vector<std::filesystem::path> readable_for_children(const TracerOptions& options) {
  auto paths = sandbox::system_folders();
  for (const char* path : {"/dev/null", "/dev/zero", "/dev/urandom", "/proc/cpuinfo",
                           "/proc/meminfo", "/sys/devices/system/cpu", "/etc/localtime"}) {
    paths.emplace_back(path);
  }
  if (options.gpu) {
    for (const char* path : {"/sys", "/etc/nvidia", "/opt"}) {
      paths.emplace_back(path);
    }
  }
  paths.emplace_back(options.command.front());
  paths.insert(paths.end(), options.readable.begin(), options.readable.end());
  return paths;
}

/// What a candidate's process may write besides its scratch folder: nothing, unless it uses a GPU,
/// whose driver names its threads in /proc and does not start when it cannot.
std::vector<std::filesystem::path> writable_for_children(const TracerOptions& options) {
  if (!options.gpu) {
    return {};
  }
  auto paths = sandbox::nvidia_devices();
  paths.insert(paths.begin(), {"/proc", "/dev/shm"});
  return paths;
}

sandbox::Request sandboxed(const TracerOptions& options, const std::filesystem::path& scratch) {
  sandbox::Request request;
  request.command = options.command;
  const auto readable = readable_for_children(options);
  const auto writable = writable_for_children(options);
  for (const auto& [option, value] :
       {std::pair("--socket", std::to_string(socket_in_zygote)), {"--scratch", scratch.string()}}) {
    request.command.emplace_back(option);
    request.command.push_back(value);
  }
  for (const auto& path : readable) {
    request.command.emplace_back("--read");
    request.command.push_back(path.string());
  }
  if (options.gpu) {
    request.command.emplace_back("--gpu");
  }
  for (const auto& path : writable) {
    request.command.emplace_back("--write");
    request.command.push_back(path.string());
  }
  request.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C.UTF-8", "OMP_NUM_THREADS=1",
                         "MKL_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1",
                         // Who asks for the user's name must not look for a file of users.
                         "LOGNAME=tracer", "HOME=" + scratch.string(),
                         "TMPDIR=" + scratch.string()};
  request.environment.insert(request.environment.end(), options.environment.begin(),
                             options.environment.end());
  request.folder = scratch;
  request.readable = readable;
  request.readable.emplace_back("/proc");
  request.writable = {scratch, "/dev/null"};
  request.writable.insert(request.writable.end(), writable.begin(), writable.end());
  request.limits = {{"open_files", 4096}};
  // /proc stays that of the outer namespace, where CUDA's driver would not find its own threads.
  request.pid_namespace = !options.gpu;
  return request;
}

}  // namespace

Zygote::Zygote(const TracerOptions& options)
    : options_(options),
      scratch_(options.scratch, "TracerOptions::scratch"),
      stop_(eventfd(0, EFD_CLOEXEC)),
      chunk_(chunk_bytes) {
  int sockets[2];
  int pipes[2];
  if (!stop_) {
    throw Error(ErrorCode::io, std::string("an eventfd cannot be made: ") + std::strerror(errno));
  }
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    throw Error(ErrorCode::io, std::string("a socket cannot be made: ") + std::strerror(errno));
  }
  socket_ = sandbox::Descriptor(sockets[0]);
  sandbox::Descriptor socket_end(sockets[1]);
  if (pipe2(pipes, O_CLOEXEC | O_NONBLOCK) != 0) {
    throw Error(ErrorCode::io, std::string("a pipe cannot be made: ") + std::strerror(errno));
  }
  complaints_ = sandbox::Descriptor(pipes[0]);
  sandbox::Descriptor complaints_end(pipes[1]);
  fcntl(socket_.get(), F_SETFL, O_NONBLOCK);

  auto request = sandboxed(options, scratch_.path());
  request.descriptors = {
      {socket_end.get(), socket_in_zygote}, {complaints_end.get(), 1}, {complaints_end.get(), 2}};
  replies_.emplace(ready_id, std::nullopt);
  // A sandboxed process dies with the thread that started it, and requests come from any.
  std::packaged_task<void()> start([&] { process_.emplace(request); });
  auto started = start.get_future();
  reader_ = start_thread([this, start = std::move(start)]() mutable {
    start();
    if (process_) {
      read();
    }
  });
  try {
    started.get();
    socket_end.reset();
    complaints_end.reset();
    if (!wait(ready_id, Clock::now() + in_seconds(options.start_seconds), true)) {
      lose(fmt::format("it was not ready after {} seconds", options.start_seconds));
      throw Lost{reason()};
    }
  } catch (...) {
    end();
    throw;
  }
}

Zygote::~Zygote() { end(); }

void Zygote::end() {
  eventfd_write(stop_.get(), 1);
  reader_.join();
  process_.reset();
}

bool Zygote::lost() {
  const std::lock_guard lock(mutex_);
  return lost_;
}

void Zygote::lose(std::string reason) noexcept {
  const std::lock_guard lock(mutex_);
  if (!lost_) {
    lost_ = true;
    loss_ = std::move(reason);
  }
  changed_.notify_all();
}

std::string Zygote::reason() {
  const std::lock_guard lock(mutex_);
  const std::string loss = loss_.empty() ? "the referee ran out of memory" : loss_;
  // Of a traceback the last line says what happened.
  const auto end = complaint_.find_last_not_of(" \n");
  if (end == std::string::npos) {
    return loss;
  }
  const auto line = complaint_.rfind('\n', end);
  const auto begin = line == std::string::npos ? 0 : line + 1;
  return loss + "; its last words: " + complaint_.substr(begin, end + 1 - begin);
}

/// The reader's thread. What it finds wrong is the zygote's end, also that there is no memory.
void Zygote::read() noexcept {
  std::string why;
  try {
    auto found = serve();
    if (!found) {
      return;
    }
    why = *std::move(found);
  } catch (const std::exception& error) {
    try {
      why = error.what();
    } catch (const std::bad_alloc&) {
      // Then it stays empty.
    }
  }
  lose(std::move(why));
}

/// Sorts replies until the zygote ends. Empty when this side ends it, else why it is lost.
std::optional<std::string> Zygote::serve() {
  std::array<pollfd, 3> ready{
      {{socket_.get(), POLLIN, 0}, {complaints_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
  for (;;) {
    if (poll(ready.data(), ready.size(), -1) < 0) {
      if (errno == EINTR) {
        continue;
      }
      return std::string("poll failed: ") + std::strerror(errno);
    }
    if (ready[2].revents != 0) {
      return std::nullopt;
    }
    if (ready[1].revents != 0 && !read_complaints()) {
      ready[1].fd = -1;
    }
    if (ready[0].revents != 0 && !read_frames()) {
      read_last_words();
      return "its process ended";
    }
  }
}

bool Zygote::read_frames() {
  const ssize_t count = recv(socket_.get(), chunk_.data(), chunk_.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
    return true;
  }
  if (count <= 0) {
    return false;
  }
  decoder_.feed(std::span(chunk_).first(static_cast<std::size_t>(count)));
  while (auto frame = decoder_.next()) {
    const auto id = frame->document.value("id", ready_id);
    const std::lock_guard lock(mutex_);
    const auto waiting = replies_.find(id);
    if (waiting != replies_.end()) {
      waiting->second = std::move(*frame);
      changed_.notify_all();
    }
  }
  return true;
}

/// The pipe ends when all processes that hold it are gone.
void Zygote::read_last_words() {
  pollfd ready{complaints_.get(), POLLIN, 0};
  while (poll(&ready, 1, 1000) == 1 && read_complaints()) {
  }
}

/// Reads what is there. Returns whether there may be more later.
bool Zygote::read_complaints() {
  std::array<char, 4096> chunk;
  for (;;) {
    const ssize_t count = ::read(complaints_.get(), chunk.data(), chunk.size());
    if (count <= 0) {
      return count < 0 && (errno == EAGAIN || errno == EINTR);
    }
    const std::lock_guard lock(mutex_);
    complaint_.append(chunk.data(), static_cast<std::size_t>(count));
    if (complaint_.size() > complaint_bytes) {
      complaint_.erase(0, complaint_.size() - complaint_bytes);
    }
  }
}

void Zygote::send(std::uint64_t id, const std::vector<std::byte>& bytes,
                  Clock::time_point deadline) {
  const std::lock_guard lock(sending_);
  std::span<const std::byte> left = bytes;
  while (!left.empty()) {
    const ssize_t count = ::send(socket_.get(), left.data(), left.size(), MSG_NOSIGNAL);
    if (count >= 0) {
      left = left.subspan(static_cast<std::size_t>(count));
      continue;
    }
    if (errno != EAGAIN && errno != EINTR) {
      lose(std::string("it cannot be written to: ") + std::strerror(errno));
      return;
    }
    if (Clock::now() > deadline) {
      lose(fmt::format("it did not read request {} in time", id));
      return;
    }
    pollfd ready{socket_.get(), POLLOUT, 0};
    poll(&ready, 1, 50);
  }
}

/// Empty when time ran out. Throws `Lost`, and `Error{cancelled}` when that may happen.
std::optional<Frame> Zygote::wait(std::uint64_t id, Clock::time_point deadline, bool cancellable) {
  std::unique_lock lock(mutex_);
  for (;;) {
    auto& reply = replies_.at(id);
    if (reply) {
      return std::move(replies_.extract(id).mapped());
    }
    if (lost_) {
      replies_.erase(id);
      lock.unlock();
      throw Lost{reason()};
    }
    if (Clock::now() >= deadline) {
      replies_.erase(id);
      return std::nullopt;
    }
    if (cancellable && options_.cancelled) {
      lock.unlock();
      if (options_.cancelled()) {
        throw Error(ErrorCode::cancelled, "cancelled while a candidate was traced");
      }
      lock.lock();
      if (!replies_.at(id) && !lost_) {
        changed_.wait_for(lock, cancel_interval);
      }
    } else {
      changed_.wait_until(lock, deadline);
    }
  }
}

Frame Zygote::call(const Frame& request, double seconds) {
  std::uint64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    id = next_id_++;
  }
  auto document = request.document;
  document["id"] = id;
  const auto bytes = encode(std::move(document), request.blobs);
  {
    const std::lock_guard lock(mutex_);
    replies_.emplace(id, std::nullopt);
  }
  const auto deadline = Clock::now() + in_seconds(seconds + options_.grace_seconds);
  send(id, bytes, deadline);
  try {
    if (auto reply = wait(id, deadline, true)) {
      return std::move(*reply);
    }
  } catch (const Lost&) {
    throw;
  } catch (...) {
    // Cancelled. A reply says that the candidate's tree is gone.
    const auto patience = Clock::now() + cancel_patience;
    send(id, encode({{"cancel", id}}, {}), patience);
    try {
      if (!wait(id, patience, false)) {
        lose("it did not end a request that was cancelled");
      }
    } catch (const Lost&) {
      // Nor does anything of the candidate live.
    }
    throw;
  }
  lose(fmt::format("it was silent for {:g} seconds beyond a request's limit of {:g}",
                   options_.grace_seconds, seconds));
  throw Lost{reason()};
}

void Zygote::forget(const std::string& builds) {
  send(ready_id, encode({{"forget", builds}}, {}), Clock::now() + cancel_patience);
}

}  // namespace ouroboros::trace
