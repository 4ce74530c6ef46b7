// Tracers: what becomes of candidates that misbehave, of the candidates beside them, and of zygotes
// that die. The operation is tests/python/zygote/stub.py, which needs no PyTorch: a request's
// source is Python, and its `run(request)` says what comes back.

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>

#include "catch.hpp"
#include "ouroboros/error.hpp"
#include "ouroboros/tracer.hpp"
#include "processes.hpp"
#include "trace/frames.hpp"

using namespace ouroboros;
using namespace std::chrono_literals;

namespace {

constexpr const char* python = "/usr/bin/python3";

TracerOptions options_in(const std::filesystem::path& scratch) {
  TracerOptions options;
  options.command = {python, OUROBOROS_SOURCE_DIR "/tests/python/zygote"};
  options.readable = {OUROBOROS_SOURCE_DIR};
  options.scratch = scratch;
  options.concurrency = 8;
  options.start_seconds = 30;
  options.limits.compile_seconds = 10;
  return options;
}

/// A source whose `run` has `body`, and afterwards returns one result with the smallest refusal.
std::string source_of(const std::string& body, const std::string& before = "") {
  std::string indented;
  for (std::size_t at = 0; at < body.size();) {
    const auto end = std::min(body.find('\n', at), body.size());
    indented += "    " + body.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return "import ctypes, os, signal, socket, sys, time\n" + before + "\ndef run(request):\n" +
         indented +
         "    refusal = {'kind': 'stub', 'op': 'aten::item', 'message': "
         "str(locals().get('said')),\n"
         "               'traceback': ''}\n"
         "    return [{'variants': [], 'refusal': refusal, 'log': '', 'kernels': [],\n"
         "             'seconds': 0.5}]\n";
}

TraceRequest request_of(const std::string& source) {
  TraceRequest request;
  request.source = source;
  request.name = "candidate.py";
  request.language = "triton";
  request.target = "sm_90";
  TraceSignature signature;
  PlanBuffer input;
  input.name = "x";
  input.shape = {4, 2};
  input.strides = {2, 1};
  signature.inputs = {input};
  signature.outputs = {"out"};
  request.signatures = {signature};
  return request;
}

/// One tracer; what it left behind is checked when it goes.
class Workshop {
 public:
  explicit Workshop(const std::function<void(TracerOptions&)>& change = {})
      : tracer(std::in_place, changed(change)) {}
  ~Workshop() {
    tracer.reset();
    CHECK(ouroboros_test::has_no_children());
    CHECK(ouroboros_test::open_descriptors() == descriptors_);
    CHECK(folder_.empty());
  }
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;

  TraceResult result(const std::string& body, const std::string& before = "") {
    const auto results = tracer->trace(request_of(source_of(body, before)));
    REQUIRE(results.size() == 1);
    return results[0];
  }

  TraceRefusal refusal(const std::string& body, const std::string& before = "") {
    const auto found = result(body, before);
    REQUIRE(found.refusal.has_value());
    CHECK(found.variants.empty());
    return *found.refusal;
  }

  /// What a candidate said, which was not stopped.
  std::string said(const std::string& body, const std::string& before = "") {
    const auto found = refusal(body, before);
    INFO(found.message);
    INFO(found.traceback);
    REQUIRE(found.kind == "stub");
    return found.message;
  }

  [[nodiscard]] const std::filesystem::path& scratch() const { return folder_.path(); }

  /// The zygote's folder, which holds those of its children.
  [[nodiscard]] std::filesystem::path zygote_folder() const {
    return *std::filesystem::directory_iterator(folder_.path());
  }

 private:
  TracerOptions changed(const std::function<void(TracerOptions&)>& change) const {
    auto options = options_in(folder_.path());
    if (change) change(options);
    return options;
  }

  ouroboros_test::Folder folder_;
  std::ptrdiff_t descriptors_ = ouroboros_test::open_descriptors();

 public:
  std::optional<Tracer> tracer;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The ids of all processes whose command line has `word`.
std::vector<pid_t> processes_with(const std::string& word) {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    std::ifstream file(entry.path() / "cmdline", std::ios::binary);
    std::string line;
    std::getline(file, line, '\n');  // Nothing of a process that has just ended.
    const int id = std::atoi(entry.path().filename().c_str());
    if (id > 0 && contains(line, word)) found.push_back(id);
  }
  return found;
}

/// The zygote of `workshop` and what it has forked, the sandbox's own process left out.
std::vector<pid_t> zygote_processes(const Workshop& workshop) {
  std::vector<pid_t> found;
  for (const pid_t id : processes_with(workshop.zygote_folder().string())) {
    std::error_code gone;
    const auto program =
        std::filesystem::read_symlink("/proc/" + std::to_string(id) + "/exe", gone);
    if (!gone && !contains(program.string(), "ouroboros-sandbox")) {
      found.push_back(id);
    }
  }
  return found;
}

}  // namespace

TEST_CASE("a candidate gets its request and its result comes back") {
  Workshop workshop;
  const auto result = workshop.result(
      "print('printed')\n"
      "said = [request['signatures'][0], request['target'], request['entry'], request['name']]");
  REQUIRE(result.refusal);
  CHECK(result.refusal->op == "aten::item");
  CHECK(result.refusal->message ==
        "[{'inputs': [{'dtype': 'float32', 'name': 'x', 'shape': [4, 2], 'strides': [2, 1]}], "
        "'outputs': ['out']}, 'sm_90', 'run', 'candidate.py']");
  CHECK(result.log == "printed\n");
  CHECK(result.seconds == 0.5);
}

TEST_CASE("a tracer that is not used starts nothing") {
  Workshop workshop;
  CHECK(std::filesystem::is_empty(workshop.scratch()));
}

TEST_CASE("a plan comes through, and one that is none is the candidate's doing") {
  LaunchPlan plan;
  plan.language = "triton";
  plan.target = "sm_90";
  PlanBuffer out;
  out.name = "out";
  out.role = PlanRole::output;
  out.bytes = 32;
  out.shape = {4, 2};
  out.strides = {2, 1};
  plan.buffers = {out};
  plan.launches = {MemsetLaunch{{0, 0}, 0, 4, 8}};
  std::string hex;
  for (const auto byte : plan.serialise()) {
    constexpr const char* digits = "0123456789abcdef";
    hex += digits[std::to_integer<int>(byte) >> 4];
    hex += digits[std::to_integer<int>(byte) & 15];
  }
  const auto returning = [](const std::string& bytes) {
    return "return [{'variants': [" + bytes +
           "], 'refusal': None, 'log': '', 'notes': ['dropped'], 'kernels': [{'function': 'k', "
           "'module': '', 'registers': 7, 'spills': 0, 'shared_bytes': 1, 'num_warps': 4, "
           "'num_stages': 3}], "
           "'seconds': 1}]";
  };
  Workshop workshop;
  const auto result = workshop.result(returning("bytes.fromhex('" + hex + "')"));
  REQUIRE_FALSE(result.refusal);
  REQUIRE(result.variants.size() == 1);
  CHECK(result.variants[0].serialise() == plan.serialise());
  REQUIRE(result.kernels.size() == 1);
  CHECK(result.kernels[0].function == "k");
  CHECK(result.kernels[0].registers == 7);
  CHECK(result.notes == std::vector<std::string>{"dropped"});

  CHECK(workshop.refusal(returning("b'nonsense'")).kind == "malformed_plan");

  // Its process may return what it likes: not more variants than were asked for, and no bytes
  // twice.
  const auto flood = workshop.refusal(returning("*[bytes.fromhex('" + hex + "')] * 17"));
  CHECK(flood.kind == "crashed");
  CHECK(contains(flood.message, "17 variants where 16 are the most"));
  const auto twice = workshop.refusal(returning("bytes.fromhex('" + hex + "'), {'$blob': 1}"));
  CHECK(twice.kind == "malformed_plan");
}

TEST_CASE("an operation may take values and return outputs") {
  Workshop workshop;
  auto request = request_of(source_of(
      "x = request['inputs'][0][0]\n"
      "def result(dtype, shape, data): return {'refusal': None, 'log': '', 'seconds': 0, "
      "'outputs': [\n"
      "    {'dtype': dtype, 'shape': shape, 'strides': [1] * len(shape), 'bytes': data}]}\n"
      "return [eval(request['entry'])]"));
  request.signatures[0].values = {{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}}};
  const auto traced = [&](const std::string& expression) {
    request.entry = expression;
    return workshop.tracer->trace(request)[0];
  };
  const auto result = traced("result('float32', [1], x[::-1])");
  REQUIRE(result.outputs.size() == 1);
  CHECK(result.outputs[0].dtype == DType::float32);
  CHECK(result.outputs[0].shape == std::vector<std::int64_t>{1});
  CHECK(result.outputs[0].bytes ==
        std::vector{std::byte{4}, std::byte{3}, std::byte{2}, std::byte{1}});
  CHECK(traced("result('float16', [0, 7], b'')").outputs.size() == 1);
  CHECK(traced("result('float16', [], b'ab')").outputs.size() == 1);
  for (const char* wrong :
       {"result('float32', [2], x)", "result('float32', [-1], x)", "result('float32', [1], x + x)",
        "result('float32', [2 ** 62, 4], x)", "result('float32', [0], x)",
        "result('complex', [1], x)", "result('float16', [1.5], x)", "result('float16', [2], 'ab')",
        "result('float32', [1], x + b'y')"}) {
    CAPTURE(wrong);
    const auto refused = traced(wrong);
    CHECK(refused.outputs.empty());
    REQUIRE(refused.refusal);
    CHECK(refused.refusal->kind == "crashed");
  }
}

TEST_CASE("what a candidate does to its own process is its own fault") {
  Workshop workshop;
  const auto check = [&](const std::string& body, const std::string& kind, const std::string& part,
                         const std::string& before = "") {
    const auto refusal = workshop.refusal(body, before);
    CAPTURE(body, before, refusal.message);
    CHECK(refusal.kind == kind);
    CHECK(contains(refusal.message, part));
  };
  check("os._exit(3)", "crashed", "status 3");
  check("", "crashed", "status 0", "os._exit(0)");
  check("ctypes.string_at(0)", "crashed", "Segmentation fault");
  check("sys.exit('enough')", "crashed", "end of its process");
  check("raise ValueError('wrong')", "crashed", "ValueError: wrong");
  check("for d in range(3, 64):\n  try: os.write(d, b'garbage ' * 99)\n  except OSError: pass",
        "crashed", "do not begin like a frame");
  check("return 5", "crashed", "no list of 1 results");
  check("return []", "crashed", "no list of 1 results");
  check("return [{'variants': []}]", "crashed", "without \"seconds\"");
  check("return [float('nan')]", "crashed", "no list of 1 results");
  check("return [10 ** 400, '\\ud800']", "crashed", "no list of 1 results");
  check("a = []\nfor i in range(100000): a = [a]\nreturn a", "crashed", "RecursionError");
  check(
      "return [{'seconds': 0, 'log': '', 'kernels': [], 'refusal': None, "
      "'variants': [{'$blob': 99}]}]",
      "crashed", "bytes which are not there");
  check("x = bytearray(4 << 30)", "out_of_memory", "memory");
  // And the next one is served as if nothing had been.
  CHECK(workshop.said("said = 'well'") == "well");
}

TEST_CASE("time, memory, disk, processes and results have limits") {
  Workshop workshop([](TracerOptions& options) {
    options.limits.compile_seconds = 20;
    options.limits.compile_memory_mib = 256;
    options.limits.compile_processes = 6;
    options.limits.image_mib = 4;
    options.limits.log_kib = 1;
  });
  const auto check = [&](const std::string& body, const std::string& kind, const std::string& part,
                         const std::string& before = "") {
    const auto refusal = workshop.refusal(body, before);
    CAPTURE(body, before, refusal.message);
    CHECK(refusal.kind == kind);
    CHECK(contains(refusal.message, part));
    CHECK(std::filesystem::is_empty(workshop.zygote_folder()));
  };
  SECTION("time") {
    Workshop other([](TracerOptions& options) { options.limits.compile_seconds = 0.3; });
    const auto refusal = other.refusal("", "time.sleep(60)");
    CHECK(refusal.kind == "timeout");
    CHECK(contains(refusal.message, "0.3 seconds"));
  }
  SECTION("memory of one process") { check("x = bytes(1 << 30)", "out_of_memory", "memory"); }
  SECTION("memory of many processes") {
    check(
        "for i in range(4):\n  if os.fork() == 0:\n    x = b'x' * (100 << 20)\n"
        "    time.sleep(60)\ntime.sleep(60)",
        "out_of_memory", "256 MiB");
  }
  SECTION("disk") {
    check("for i in range(99):\n  open(str(i), 'wb').write(bytes(4 << 20))\ntime.sleep(60)",
          "output_too_large", "16 MiB");
  }
  SECTION("size of a file") {
    check("open('x', 'wb').write(bytes(5 << 20))", "crashed", "File too large");
  }
  SECTION("many files") {
    check("for i in range(10 ** 6): open(str(i), 'wb')", "output_too_large", "10000 files");
  }
  SECTION("a folder that hides what is in it") {
    check("os.mkdir('a', 0)\ntime.sleep(60)", "output_too_large", "10000 files");
  }
  SECTION("processes") {
    // The kernel counts them for users other than root; for root the supervisor does.
    check("while True:\n  try: os.fork()\n  except BlockingIOError: time.sleep(60)", "crashed",
          "6 processes");
  }
  SECTION("result") { check("return [b'x' * (17 << 20)]", "output_too_large", "16 MiB"); }
  SECTION("result that is not returned but written") {
    check(
        "d = 3\nwhile True:\n  try:\n    os.write(d, b'OURF' + bytes(8) + b'\\1' + bytes(9))\n"
        "  except OSError: d += 1",
        "crashed", "no result");
  }
  SECTION("output") {
    const auto result = workshop.result("os.write(1, b'x' * (8 << 20))\nos.write(2, b'y')");
    CHECK(result.refusal->kind == "stub");
    CHECK(result.log == std::string(1024, 'x'));
  }
}

TEST_CASE("nothing of a candidate is left when its result is there") {
  Workshop workshop;
  workshop.said("said = 1");
  const auto processes = zygote_processes(workshop).size();
  CHECK(processes == 1);
  SECTION("a child that stays") {
    CHECK(workshop.said("if os.fork() == 0: time.sleep(60)\nsaid = 'parent'") == "parent");
  }
  SECTION("a daemon of its own session that has cleared its death signal") {
    CHECK(workshop.said("if os.fork() == 0:\n"
                        "  os.setsid()\n"
                        "  if os.fork() == 0:\n"
                        "    ctypes.CDLL(None).prctl(1, 0)\n"
                        "    for s in range(1, 32):\n"
                        "      try: signal.signal(s, signal.SIG_IGN)\n"
                        "      except OSError: pass\n"
                        "    time.sleep(60)\n"
                        "  os._exit(0)\n"
                        "said = os.wait()[1]") == "0");
  }
  SECTION("folders that nobody may read, and paths longer than paths may be") {
    // Whether it is stopped over that depends on when its supervisor looks.
    workshop.refusal(
        "for i in range(1200):\n  os.mkdir('deeper')\n  os.chdir('deeper')\n"
        "os.mkdir('closed')\nos.mkdir('closed/a', 0)\nopen('file', 'w').close()\n"
        "os.symlink('/usr', 'link')");
  }
  SECTION("thousands of files") {
    CHECK(workshop.said("for i in range(3000): os.close(os.open(str(i), os.O_CREAT, 0))\n"
                        "said = 'made'") == "made");
  }
  SECTION("files that the candidate has deleted itself, and moved about") {
    CHECK(workshop.said("os.makedirs('a/b')\nos.chdir('a/b')\nos.rename('../../a/b', '../../c')\n"
                        "os.rmdir('../a')\nsaid = os.listdir('..')") == "['c']");
  }
  CHECK(std::filesystem::is_empty(workshop.zygote_folder()));
  CHECK(zygote_processes(workshop).size() == processes);
}

TEST_CASE("a candidate reaches neither the zygote nor the next candidate") {
  Workshop workshop;
  SECTION("it sees no process but its own") {
    CHECK(workshop.said("said = [os.getpid(), os.getppid()]") == "[1, 0]");
    CHECK(contains(workshop.said("try: said = os.listdir('/proc')\nexcept OSError as e: said = e"),
                   "Permission denied"));
  }
  SECTION("it cannot signal the zygote, its supervisor or anybody else") {
    // Signal 0 asks for the permission alone: on a machine where this fails, nobody is hurt.
    CHECK(workshop.said("said = 0\n"
                        "for pid in list(range(2, 5000)) + [-1]:\n"
                        "  try:\n    os.kill(pid, 0)\n    said += 1\n"
                        "  except OSError: pass") == "0");
  }
  SECTION("it holds no descriptor but its output and its result") {
    CHECK(workshop.said("said = []\n"
                        "for d in range(3, 5000):\n"
                        "  try:\n    os.fstat(d)\n    said.append(d)\n  except OSError: pass\n"
                        "said = len(said)") == "1");
  }
  SECTION("it writes nowhere but to its scratch folder") {
    CHECK(workshop.said("said = []\n"
                        "here = os.path.dirname(os.getcwd())\n"
                        "for folder in ['/dev/shm', '/tmp', '/usr', here, '" OUROBOROS_SOURCE_DIR
                        "', '/proc/self']:\n"
                        "  try:\n    open(folder + '/left', 'w')\n    said.append(folder)\n"
                        "  except OSError: pass") == "[]");
  }
  SECTION("it cannot list or read other candidates' folders") {
    CHECK(contains(workshop.said("try: said = os.listdir('..')\nexcept OSError as e: said = e"),
                   "Permission denied"));
  }
  SECTION("it cannot close a file of the zygote's to the next candidate") {
    ouroboros_test::Folder folder;
    Workshop other([&](TracerOptions& options) { options.readable.push_back(folder.path()); });
    const auto file = folder.path() / "module.py";
    std::ofstream(file) << "pass\n";
    const auto before = std::filesystem::status(file).permissions();
    const std::string path = "'" + file.string() + "'";
    CHECK(other.said("said = []\n"
                     "for change in [lambda: os.chmod(" +
                     path +
                     ", 0),\n"
                     "               lambda: os.fchmod(os.open(" +
                     path +
                     ", os.O_RDONLY), 0),\n"
                     "               lambda: os.utime(" +
                     path +
                     ", (0, 0)),\n"
                     "               lambda: os.chown(" +
                     path +
                     ", -1, -1),\n"
                     "               lambda: os.setxattr(" +
                     path +
                     ", 'user.a', b'b'),\n"
                     "               lambda: os.unlink(" +
                     path +
                     ")]:\n"
                     "  try:\n    change()\n    said.append('changed')\n"
                     "  except OSError as e: said.append(e.errno)") == "[1, 1, 1, 1, 1, 13]");
    CHECK(std::filesystem::status(file).permissions() == before);
  }
  SECTION("System V memory is its own") {
    const std::string get = "libc = ctypes.CDLL(None, use_errno=True)\n";
    CHECK(workshop.said(get + "said = libc.shmget(0x6f75, 4096, 0o1666) >= 0") == "True");
    CHECK(workshop.said(get + "said = libc.shmget(0x6f75, 4096, 0o666)") == "-1");
  }
  SECTION("the memory that it inherits is a copy") {
    CHECK(workshop.said("import json\njson.poisoned = True\nsaid = 'set'") == "set");
    CHECK(workshop.said("import json\nsaid = hasattr(json, 'poisoned')") == "False");
  }
  SECTION("it has no network, and no sockets that others hear") {
    CHECK(workshop.said("said = []\n"
                        "for family, name in [(socket.AF_INET, ('127.0.0.1', 9)),\n"
                        "                     (socket.AF_UNIX, '\\0ouroboros')]:\n"
                        "  try:\n"
                        "    socket.socket(family).connect(name)\n    said.append(family)\n"
                        "  except OSError: pass") == "[]");
  }
  SECTION("it has no capabilities and cannot mount") {
    CHECK(workshop.said("said = ctypes.CDLL(None).mount(b'none', b'/tmp', b'tmpfs', 0, None)") ==
          "-1");
  }
  SECTION("it finds nothing of the caller in its environment") {
    setenv("OUROBOROS_TEST_SECRET", "tell nobody", 1);
    Workshop other;
    CHECK(other.said("said = 'OUROBOROS_TEST_SECRET' in os.environ") == "False");
    unsetenv("OUROBOROS_TEST_SECRET");
  }
  SECTION("what confines it is reported") {
    const auto isolation = workshop.result("said = 1").isolation;
    CHECK(isolation.landlock_abi > 0);
    CHECK(isolation.resource_limits);
    CHECK(isolation.level == "sandboxed");
    CHECK(std::ranges::find(isolation.namespaces, "pid") != isolation.namespaces.end());
    CHECK(workshop.tracer->isolation().level == "sandboxed");
  }
  // Whatever happened, the zygote serves.
  CHECK(workshop.said("said = 'well'") == "well");
}

TEST_CASE("what a candidate builds is kept for its later processes alone") {
  Workshop workshop([](TracerOptions& options) {
    options.limits.compile_seconds = 20;
    options.limits.image_mib = 4;
  });
  const std::string one(32, 'a');
  const std::string two(32, 'b');
  const auto run = [&](const std::string& builds, const std::string& body) {
    auto request = request_of(source_of(body));
    request.builds = builds;
    const auto result = workshop.tracer->trace(request).at(0);
    REQUIRE(result.refusal);
    INFO(result.refusal->message << result.refusal->traceback);
    return *result.refusal;
  };
  const std::string build =
      "folder = os.environ['TORCH_EXTENSIONS_DIR']\n"
      "said = os.path.exists(folder)\n"
      "os.makedirs(folder, exist_ok=True)\n";
  const auto found = [&](const std::string& builds) {
    const auto refusal = run(builds, build);
    CHECK(refusal.kind == "stub");
    return refusal.message;
  };
  CHECK(found(one) == "False");
  CHECK(found(one) == "True");
  CHECK(found(two) == "False");
  CHECK(found("") == "False");
  CHECK(found("") == "False");
  SECTION("it is not where other files are") {
    CHECK(run(one, "said = os.listdir(os.getcwd())").message == "[]");
    CHECK(run(one, "said = os.path.dirname(request['builds']) == os.path.dirname(os.getcwd())")
              .message == "True");
    CHECK(run("", "said = [request['builds']]").message == "['']");
  }
  SECTION("until it is forgotten") {
    workshop.tracer->forget(one);
    workshop.tracer->forget(std::string(32, 'c'));  // Nobody's.
    CHECK(found(two) == "True");
    CHECK(std::distance(std::filesystem::directory_iterator(workshop.zygote_folder()), {}) == 1);
    CHECK(found(one) == "False");
  }
  SECTION("or a process fails, which may have left a lock on it") {
    CHECK(run(one, "os._exit(1)").kind == "crashed");
    CHECK(found(one) == "False");
    CHECK(found(one) == "True");
    // A process that shares it still has it; whoever comes meanwhile does not.
    const std::string wait =
        "said = 0\nopen(request['builds'] + '/waits', 'w').close()\n"
        "while not os.path.exists(request['builds'] + '/go'): time.sleep(0.01)\n"
        "said = os.path.exists(os.environ['TORCH_EXTENSIONS_DIR'])";
    auto waiting = std::async(std::launch::async, [&] {
      auto request = request_of(source_of(wait));
      request.builds = one;
      return workshop.tracer->trace(request).at(0).refusal->message;
    });
    const auto folder = workshop.zygote_folder() / ("builds-" + one);
    while (!std::filesystem::exists(folder / "waits")) std::this_thread::yield();
    CHECK(run(one, "os._exit(1)").kind == "crashed");
    CHECK(found(one) == "False");
    std::ofstream(folder / "go").close();
    CHECK(waiting.get() == "True");
    CHECK_FALSE(std::filesystem::exists(folder));
  }
  SECTION("it counts as the scratch folder does") {
    const auto refusal = run(one,
                             "for i in range(99):\n"
                             "  open(request['builds'] + f'/{i}', 'wb').write(bytes(4 << 20))\n"
                             "time.sleep(60)");
    CHECK(refusal.kind == "output_too_large");
    CHECK(found(one) == "False");
  }
  SECTION("under no other kind of name") {
    for (const auto& name : {std::string("../x"), std::string(31, 'a'), std::string(32, 'G')}) {
      auto request = request_of(source_of("said = 1"));
      request.builds = name;
      CHECK_THROWS_WITH(workshop.tracer->trace(request), Catch::Contains("32 hexadecimal digits"));
    }
  }
}

TEST_CASE("a candidate that uses the GPU is ended with its tree and leaves nothing") {
  // Without a pid namespace, in which CUDA's driver does not start.
  Workshop workshop([](TracerOptions& options) {
    options.gpu = true;
    options.limits.compile_seconds = 1;
  });
  const auto check = [&](const std::string& body, const std::string& kind,
                         const std::string& part) {
    const auto refusal = workshop.refusal(body);
    CAPTURE(body, refusal.message);
    CHECK(refusal.kind == kind);
    CHECK(contains(refusal.message, part));
    CHECK(std::filesystem::is_empty(workshop.zygote_folder()));
    CHECK(zygote_processes(workshop).size() == 1);
  };
  check("time.sleep(60)", "timeout", "4 seconds");
  check(
      "if os.fork() == 0:\n  os.setsid()\n  if os.fork() == 0: time.sleep(60)\n  os._exit(0)\n"
      "os.wait()\nsaid = 1",
      "stub", "1");
  check("os._exit(3)", "crashed", "status 3");
  check("ctypes.string_at(0)", "crashed", "Segmentation fault");
  check("for d in range(3, 64):\n  try: os.write(d, b'garbage ' * 99)\n  except OSError: pass",
        "crashed", "do not begin like a frame");
  check("return [{'variants': [b'nonsense'], 'refusal': None, 'log': '', 'seconds': 0}]",
        "malformed_plan", "plan");
  check("return bytes(1 << 30)", "output_too_large", "1024 MiB");
  const auto flood = workshop.result("for i in range(1000): print('x' * 1000)\nsaid = 1");
  CHECK(flood.log.size() <= 64 << 10);
}

TEST_CASE("what confines a candidate that uses the GPU, and what does not, is said") {
  Workshop workshop([](TracerOptions& options) { options.gpu = true; });
  const auto result = workshop.result(
      "import fcntl, resource\n"
      "said = []\n"
      "for what, attempt in {\n"
      "    'outside': lambda: open(request['scratch'] + '/../x', 'w'),\n"
      "    'home': lambda: os.listdir('/root'),\n"
      "    'passwords': lambda: open('/etc/shadow'),\n"
      "    'network': lambda: socket.create_connection(('127.0.0.1', 9), 1),\n"
      "    'parent': lambda: os.kill(os.getppid(), 0),\n"
      "    'all': lambda: os.kill(-1, 0),\n"
      "    'by pidfd': lambda: signal.pidfd_send_signal(os.pidfd_open(os.getppid()), 0),\n"
      "    'by file': lambda: fcntl.fcntl(1, fcntl.F_SETOWN, os.getppid()),\n"
      "    'limits': lambda: resource.prlimit(os.getppid(), resource.RLIMIT_CPU),\n"
      "    'priority': lambda: os.setpriority(os.PRIO_PROCESS, os.getppid(), 19),\n"
      "    'memory': lambda: open(f'/proc/{os.getppid()}/mem', 'rb'),\n"
      "    'itself': lambda: os.kill(os.getpid(), 0),\n"
      "    'own limits': lambda: resource.prlimit(os.getpid(), resource.RLIMIT_CPU),\n"
      "    'raise': lambda: signal.raise_signal(signal.SIGCHLD),\n"
      "    'flags': lambda: fcntl.fcntl(1, fcntl.F_GETFL),\n"
      "    'scratch': lambda: open('x', 'w')}.items():\n"
      "  try: attempt(); said.append(what)\n"
      "  except OSError: pass\n"
      "said.append(resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY)");
  REQUIRE(result.refusal);
  const auto& isolation = result.isolation;
  CHECK(result.refusal->message == "['itself', 'own limits', 'raise', 'flags', 'scratch', True]");
  CHECK(isolation.level == "degraded");
  const auto said = [&](const std::string& part) {
    return std::any_of(isolation.missing.begin(), isolation.missing.end(),
                       [&](const std::string& sentence) { return contains(sentence, part); });
  };
  CHECK(said("reaches the GPU's driver"));
  CHECK(said("pid namespace"));
  CHECK(said("address space is not limited"));
}

TEST_CASE("a machine that cannot trace live is not the candidate's fault") {
  Workshop workshop([](TracerOptions& options) {
    options.gpu = true;
    options.environment = {"OUROBOROS_STUB_UNFIT=there is no GPU in here"};
  });
  try {
    workshop.result("said = 1");
    FAIL("it was traced");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::sandbox_unavailable);
    CHECK(contains(error.what(), "there is no GPU in here"));
  }
}

TEST_CASE("many candidates at once get their own results") {
  Workshop workshop;
  std::vector<std::future<std::string>> answers;
  for (int i = 0; i < 40; ++i) {
    const std::string body = i % 4 == 3 ? "os._exit(1)" : "said = " + std::to_string(i);
    answers.push_back(std::async(std::launch::async, [&workshop, body] {
      return workshop.tracer->trace(request_of(source_of(body)))[0].refusal->message;
    }));
  }
  for (int i = 0; i < 40; ++i) {
    const auto answer = answers[static_cast<std::size_t>(i)].get();
    if (i % 4 == 3) {
      CHECK(contains(answer, "status 1"));
    } else {
      CHECK(answer == std::to_string(i));
    }
  }
}

TEST_CASE("a zygote that dies with requests in flight is replaced, and they are repeated") {
  Workshop workshop;
  workshop.said("said = 1");
  std::vector<std::future<std::string>> answers;
  for (int i = 0; i < 4; ++i) {
    answers.push_back(std::async(std::launch::async, [&workshop, i] {
      const auto source = source_of("time.sleep(0.5)\nsaid = " + std::to_string(i));
      return workshop.tracer->trace(request_of(source))[0].refusal->message;
    }));
  }
  // The zygote, four supervisors and four candidates are one command line.
  while (zygote_processes(workshop).size() < 9) std::this_thread::yield();
  const auto all = zygote_processes(workshop);
  kill(*std::ranges::min_element(all), SIGKILL);
  for (int i = 0; i < 4; ++i) {
    CHECK(answers[static_cast<std::size_t>(i)].get() == std::to_string(i));
  }
}

TEST_CASE("a zygote that cannot live is the machine's fault") {
  const auto code_of = [](Workshop& workshop) {
    try {
      workshop.tracer->trace(request_of(source_of("said = 1")));
    } catch (const Error& error) {
      UNSCOPED_INFO(error.what());
      return std::pair(error.code(), std::string(error.what()));
    }
    return std::pair(ErrorCode::internal, std::string("no error"));
  };
  SECTION("it ends at once, and its last words are told") {
    Workshop workshop([](TracerOptions& options) {
      options.command = {"/bin/sh", "-c", "echo no such module >&2"};
    });
    const auto [code, message] = code_of(workshop);
    CHECK(code == ErrorCode::executor_lost);
    CHECK(contains(message, "no such module"));
  }
  SECTION("it says nothing") {
    Workshop workshop([](TracerOptions& options) {
      options.command = {"/bin/sh", "-c", "sleep 60"};
      options.start_seconds = 0.2;
    });
    CHECK(code_of(workshop).first == ErrorCode::executor_lost);
  }
  SECTION("it talks nonsense") {
    Workshop workshop([](TracerOptions& options) {
      options.command = {"/bin/sh", "-c", "head -c 64 /dev/zero >&4; sleep 60"};
    });
    CHECK(code_of(workshop).first == ErrorCode::executor_lost);
  }
  SECTION("it is not there") {
    Workshop workshop([](TracerOptions& options) { options.command = {"/nonexistent/python"}; });
    CHECK(code_of(workshop).first == ErrorCode::sandbox_unavailable);
  }
  SECTION("it does not know the operation") {
    Workshop workshop;
    auto request = request_of(source_of(""));
    request.operation = "unheard-of";
    CHECK_THROWS_AS(workshop.tracer->trace(request), Error);
    CHECK(workshop.said("said = 'well'") == "well");
  }
}

TEST_CASE("a zygote that is stopped is silent, and its second silence ends the request") {
  Workshop workshop([](TracerOptions& options) {
    options.limits.compile_seconds = 0.2;
    options.grace_seconds = 0.2;
  });
  workshop.said("said = 1");
  const auto all = zygote_processes(workshop);
  REQUIRE(all.size() == 1);
  kill(all[0], SIGSTOP);
  CHECK(workshop.said("said = 'again'") == "again");
}

TEST_CASE("a cancelled request ends at once, with its tree") {
  std::atomic<bool> cancelled = false;
  Workshop workshop([&](TracerOptions& options) {
    options.cancelled = [&cancelled] { return cancelled.load(); };
  });
  workshop.said("said = 1");
  auto answer = std::async(std::launch::async, [&] {
    try {
      workshop.refusal("if os.fork() == 0: time.sleep(60)\ntime.sleep(60)");
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::internal;
  });
  while (zygote_processes(workshop).size() < 4) std::this_thread::yield();
  const auto start = std::chrono::steady_clock::now();
  cancelled = true;
  CHECK(answer.get() == ErrorCode::cancelled);
  CHECK(std::chrono::steady_clock::now() - start < 3s);
  CHECK(zygote_processes(workshop).size() == 1);
  CHECK(std::filesystem::is_empty(workshop.zygote_folder()));
  cancelled = false;
  CHECK(workshop.said("said = 'well'") == "well");
}

TEST_CASE("a tracer's command has an absolute path") {
  CHECK_THROWS_AS(Tracer(TracerOptions{}), Error);
  TracerOptions options;
  options.command = {"python3"};
  CHECK_THROWS_AS(Tracer(options), Error);
}

TEST_CASE("frames are cut from a stream, and what is none is refused") {
  const trace::Blob blob(3, std::byte{7});
  const auto bytes = trace::encode({{"id", 5}}, {blob, {}});
  trace::Decoder decoder;
  for (const auto byte : bytes) {
    CHECK_FALSE(decoder.next());
    decoder.feed({&byte, 1});
  }
  const auto frame = decoder.next();
  REQUIRE(frame);
  CHECK(frame->document["id"] == 5);
  CHECK(frame->blobs == std::vector<trace::Blob>{blob, {}});
  CHECK_FALSE(decoder.next());

  for (const std::size_t at : {0, 7, 15, 17}) {
    auto damaged = bytes;
    damaged[at] = std::byte{0xff};
    trace::Decoder other;
    other.feed(damaged);
    CAPTURE(at);
    CHECK_THROWS_AS(other.next(), Error);
  }
}
