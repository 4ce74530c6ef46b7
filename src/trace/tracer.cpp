#include "ouroboros/tracer.hpp"

#include <algorithm>
#include <mutex>
#include <thread>

#include "base/door.hpp"
#include "ouroboros/error.hpp"
#include "trace/results.hpp"
#include "trace/zygote.hpp"

namespace ouroboros {
namespace {

/// What compilers, tuning and a context take beyond what a dry trace does.
Limits for_gpu(Limits limits) {
  constexpr int times = 4;
  limits.compile_seconds *= times;
  limits.compile_memory_mib *= times;
  limits.compile_processes *= times;
  // A reply has room for four images, and a frame for a GiB.
  limits.image_mib =
      std::max(limits.image_mib, std::min<std::int64_t>(times * limits.image_mib, 256));
  return limits;
}

TracerOptions checked(TracerOptions options) {
  if (options.command.empty() || !std::filesystem::path(options.command.front()).is_absolute()) {
    throw Error(ErrorCode::invalid_argument,
                "TracerOptions::command names no program by an absolute path");
  }
  if (options.concurrency == 0) {
    options.concurrency = std::max(1U, std::thread::hardware_concurrency());
  }
  if (options.gpu) {
    options.limits = for_gpu(options.limits);
  }
  return options;
}

}  // namespace

class Tracer::Impl {
  /// Carries `work` out; once more, on a new zygote, when the first was lost over it.
  template <class Work>
  auto twice(const Work& work) {
    try {
      return work(*zygote());
    } catch (const trace::Lost&) {
    }
    try {
      return work(*zygote());
    } catch (const trace::Lost& second) {
      throw Error(ErrorCode::executor_lost,
                  "the tracer's zygote was lost twice over one request: " + second.reason);
    }
  }

 public:
  explicit Impl(TracerOptions options)
      : options_(checked(std::move(options))), door_(options_.concurrency) {}

  std::vector<TraceResult> trace(const TraceRequest& request) {
    if (request.source.size() > static_cast<std::size_t>(options_.limits.source_kib) * 1024) {
      throw Error(ErrorCode::invalid_argument, "the source is larger than Limits::source_kib");
    }
    const Place place(door_, options_.cancelled);
    const auto frame = trace::frame_of(request, options_.limits);
    return twice([&](trace::Zygote& zygote) {
      const double seconds = trace::seconds_of(request, options_.limits);
      auto reply = zygote.call(frame, (1 + trace::waiting_share) * seconds);
      return trace::results_of(std::move(reply), request, zygote.isolation());
    });
  }

  void forget(const std::string& builds) {
    std::shared_ptr<trace::Zygote> zygote;
    {
      const std::lock_guard lock(mutex_);
      zygote = zygote_;
    }
    if (zygote && !zygote->lost()) {
      zygote->forget(builds);
    }
  }

  Isolation isolation() {
    return twice([](trace::Zygote& zygote) { return zygote.isolation(); });
  }

 private:
  std::shared_ptr<trace::Zygote> zygote() {
    const std::lock_guard lock(mutex_);
    if (!zygote_ || zygote_->lost()) {
      zygote_.reset();
      zygote_ = std::make_shared<trace::Zygote>(options_);
    }
    return zygote_;
  }

  const TracerOptions options_;
  Door door_;
  std::mutex mutex_;
  std::shared_ptr<trace::Zygote> zygote_;
};

Tracer::Tracer(TracerOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}

Tracer::~Tracer() = default;

std::vector<TraceResult> Tracer::trace(const TraceRequest& request) {
  return impl_->trace(request);
}

void Tracer::forget(const std::string& builds) noexcept {
  try {
    impl_->forget(builds);
  } catch (const std::exception&) {
    // It goes with the tracer.
  }
}

Isolation Tracer::isolation() { return impl_->isolation(); }

}  // namespace ouroboros
