#include <dlfcn.h>
#include <elf.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../../src/executor/host/main/elf.hpp"
#include "catch.hpp"

namespace {

using ouroboros::host::LoadError;
using ouroboros::host::Module;
using Bytes = std::vector<std::byte>;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
constexpr std::int64_t kDtRelr = 36;  // younger than some <elf.h>

/// The referee's flags, and what a test adds to them.
const std::string kFlags =
    "-std=c++20 -O2 -fPIC -shared -nodefaultlibs -Wl,-z,now,-z,noexecstack,--hash-style=both ";

std::string compiler() {
  const char* chosen = std::getenv("CXX");
  return chosen != nullptr && *chosen != '\0' ? chosen : "c++";
}

bool have_compiler() {
  static const bool found = std::system((compiler() + " --version >/dev/null 2>&1").c_str()) == 0;
  return found;
}

/// A folder that goes away with the test program.
const std::filesystem::path& scratch() {
  struct Folder {
    std::filesystem::path path;
    Folder() {
      std::string name = (std::filesystem::temp_directory_path() / "ouroboros-elf-XXXXXX").string();
      if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
      path = name;
    }
    ~Folder() { std::filesystem::remove_all(path); }
  };
  static const Folder folder;
  return folder.path;
}

/// Compiles a source as the referee does. Nothing when the compiler refuses (an option it lacks).
std::optional<Bytes> try_compile(const std::string& source, const std::string& flags = "") {
  static std::map<std::string, Bytes> cache;
  const auto known = cache.find(flags + source);
  if (known != cache.end()) return known->second;
  const std::string from = scratch() / "fixture.cpp";
  const std::string to = scratch() / "fixture.so";
  std::ofstream(from) << source;
  const std::string command =
      compiler() + " " + kFlags + flags + " " + from + " -lgcc -o " + to + " 2>/dev/null";
  if (std::system(command.c_str()) != 0) return std::nullopt;
  std::ifstream file(to, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  Bytes bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  cache.emplace(flags + source, bytes);
  return bytes;
}

Bytes compile(const std::string& source, const std::string& flags = "") {
  auto bytes = try_compile(source, flags);
  REQUIRE(bytes.has_value());
  return *bytes;
}

void* from_this_process(const char* name) { return dlsym(RTLD_DEFAULT, name); }

Module map(const Bytes& bytes) { return Module::map(bytes, from_this_process); }

template <typename Function>
Function* find(const Module& module, const char* name) {
  void* address = module.find(name);
  REQUIRE(address != nullptr);
  return reinterpret_cast<Function*>(address);
}

std::string refusal(const Bytes& bytes, const Module::Resolver& resolve = from_this_process) {
  try {
    Module::map(bytes, resolve);
  } catch (const LoadError& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// ---- editing ELF files ----

template <typename T>
T get(const Bytes& bytes, std::size_t offset) {
  T value;
  REQUIRE(offset + sizeof value <= bytes.size());
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

template <typename T>
void put(Bytes& bytes, std::size_t offset, const T& value) {
  REQUIRE(offset + sizeof value <= bytes.size());
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

Elf64_Ehdr elf_header(const Bytes& bytes) { return get<Elf64_Ehdr>(bytes, 0); }

std::size_t program_header(const Bytes& bytes, std::size_t index) {
  return elf_header(bytes).e_phoff + index * sizeof(Elf64_Phdr);
}

/// The file offset of the n-th program header of a type; nothing when there are fewer.
std::optional<std::size_t> find_program_header(const Bytes& bytes, std::uint32_t type,
                                               std::size_t nth = 0) {
  for (std::size_t i = 0; i < elf_header(bytes).e_phnum; ++i) {
    const std::size_t at = program_header(bytes, i);
    if (get<Elf64_Phdr>(bytes, at).p_type == type && nth-- == 0) return at;
  }
  return std::nullopt;
}

/// The file offset of the loadable segment that has a flag: PF_X is the code, PF_W the data.
std::size_t find_segment(const Bytes& bytes, std::uint32_t flag) {
  for (std::size_t i = 0; const auto at = find_program_header(bytes, PT_LOAD, i); ++i) {
    if ((get<Elf64_Phdr>(bytes, *at).p_flags & flag) != 0) return *at;
  }
  FAIL("no such segment");
  return 0;
}

std::size_t file_offset(const Bytes& bytes, std::uint64_t address) {
  for (std::size_t i = 0; i < elf_header(bytes).e_phnum; ++i) {
    const auto header = get<Elf64_Phdr>(bytes, program_header(bytes, i));
    if (header.p_type == PT_LOAD && address >= header.p_vaddr &&
        address < header.p_vaddr + header.p_filesz) {
      return header.p_offset + (address - header.p_vaddr);
    }
  }
  FAIL("address outside the file");
  return 0;
}

/// The file offset of the dynamic entry with a tag; nothing when the module has none.
std::optional<std::size_t> find_tag(const Bytes& bytes, std::int64_t tag) {
  const auto header = get<Elf64_Phdr>(bytes, *find_program_header(bytes, PT_DYNAMIC));
  for (std::size_t at = header.p_offset;; at += sizeof(Elf64_Dyn)) {
    const auto entry = get<Elf64_Dyn>(bytes, at);
    if (entry.d_tag == tag) return at;
    if (entry.d_tag == DT_NULL) return std::nullopt;
  }
}

std::uint64_t tag_value(const Bytes& bytes, std::int64_t tag) {
  const auto at = find_tag(bytes, tag);
  REQUIRE(at.has_value());
  return get<Elf64_Dyn>(bytes, *at).d_un.d_val;
}

Bytes with_tag(Bytes bytes, std::int64_t from, Elf64_Dyn to) {
  const auto at = find_tag(bytes, from);
  REQUIRE(at.has_value());
  put(bytes, *at, to);
  return bytes;
}

Elf64_Dyn dyn(std::int64_t tag, std::uint64_t value) {
  Elf64_Dyn entry{};
  entry.d_tag = tag;
  entry.d_un.d_val = value;
  return entry;
}

/// Everything at once: relocations of every supported kind, constructors, unwind tables, TLS.
const char* const kEverything = R"(
#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>
extern "C" int missing() __attribute__((weak));
static int first() { return 40; }
extern "C" { static int (*choose())() { return first; } }
static int inner() __attribute__((ifunc("choose")));
extern "C" int outer() __attribute__((ifunc("choose")));
thread_local int counter = 2;
thread_local std::vector<double> kept;
static std::vector<double> table{3.0, 1.0, 2.0};
char big[1 << 20];
extern "C" double run(int n) {
  std::sort(table.begin(), table.end());
  std::function<double(double)> f = [n](double x) { return std::exp(x) + n; };
  try {
    if (n < 0) throw std::runtime_error("negative: " + std::to_string(n));
  } catch (const std::exception& error) {
    return static_cast<double>(std::string(error.what()).size());
  }
  kept.push_back(table[2]);
  return f(0.0) + inner() + outer() + counter + kept[0] + (missing ? 1 : 0) + big[12345];
}
)";

}  // namespace

#define NEEDS_COMPILER()                                                             \
  if (!have_compiler()) {                                                            \
    WARN("skipped: no C++ compiler ('" << compiler() << "') to make fixtures with"); \
    return;                                                                          \
  }                                                                                  \
  static_cast<void>(0)

TEST_CASE("elf: a plain function is found and runs", "[elf]") {
  NEEDS_COMPILER();
  const Module module =
      map(compile("extern \"C\" int add(int a, int b) { return a + b; }\n"
                  "int data = 3;"));
  CHECK(find<int(int, int)>(module, "add")(2, 40) == 42);
  CHECK(module.exports("add"));
  CHECK_FALSE(module.exports("data"));  // an object is not a function
  CHECK(module.find("data") == nullptr);
  CHECK(module.find("subtract") == nullptr);
  CHECK(module.find("") == nullptr);
}

TEST_CASE("elf: the C and C++ libraries come from the executor", "[elf]") {
  NEEDS_COMPILER();
  Module module = map(compile(R"(
    #include <algorithm>
    #include <cmath>
    #include <functional>
    #include <string>
    #include <vector>
    extern "C" double run(double x) {
      std::vector<double> values{std::exp(x), std::tanh(x), std::sqrt(x)};
      std::sort(values.begin(), values.end());
      std::string text = std::to_string(values.size());
      for (int i = 0; i < 100; ++i) text += "abc";
      std::function<double()> f = [&] { return values[2] + static_cast<double>(text.size()); };
      return f();
    })"));
  module.start();
  CHECK(find<double(double)>(module, "run")(1.0) == std::exp(1.0) + 301);
}

TEST_CASE("elf: constructors run in start, in order, and destructors never", "[elf]") {
  NEEDS_COMPILER();
  static std::string log;
  log.clear();
  {
    Module module = Module::map(compile(R"(
          extern "C" void note(char what);
          struct Noisy { char name; Noisy(char n) : name(n) { note(n); } ~Noisy() { note('~'); } };
          static Noisy a('a'); static Noisy b('b');
          __attribute__((constructor(101))) static void early() { note('e'); }
          extern "C" int ready() { return a.name + b.name; })"),
                                [](const char* name) -> void* {
                                  if (std::string(name) == "note") {
                                    return reinterpret_cast<void*>(+[](char what) { log += what; });
                                  }
                                  return from_this_process(name);
                                });
    CHECK(log.empty());
    CHECK(find<int()>(module, "ready")() == 0);
    module.start();
    CHECK(log == "eab");
    CHECK(find<int()>(module, "ready")() == 'a' + 'b');
  }
  CHECK(log == "eab");
}

TEST_CASE("elf: IFUNC resolvers run only in start", "[elf]") {
  NEEDS_COMPILER();
  static int resolved;
  resolved = 0;
  const auto image = try_compile(R"(
    extern "C" void note();
    static int first() { return 7; }
    extern "C" { static int (*choose())() { note(); return first; } }
    static int inner() __attribute__((ifunc("choose")));
    extern "C" int outer() __attribute__((ifunc("choose")));
    int (*pointer)() = outer;
    extern "C" int run() { return inner() * 100 + outer() * 10 + pointer(); })");
  if (!image) {
    WARN("skipped: the compiler has no ifunc attribute");
    return;
  }
  Module module = Module::map(*image, [](const char* name) -> void* {
    return std::string(name) == "note" ? reinterpret_cast<void*>(+[] { ++resolved; })
                                       : from_this_process(name);
  });
  CHECK(module.exports("outer"));
  CHECK(module.find("outer") == nullptr);
  CHECK(resolved == 0);
  module.start();
  CHECK(resolved >= 3);
  CHECK(find<int()>(module, "run")() == 777);
  CHECK(find<int()>(module, "outer")() == 7);
}

TEST_CASE("elf: thread_local variables have their values, alignment and own storage", "[elf]") {
  NEEDS_COMPILER();
  const char* const source = R"(
    #include <cstdint>
    static int target = 5;
    thread_local int initial = 11;
    thread_local int zero;
    static thread_local int* pointer = &target;
    thread_local char padding = 'p';
    alignas(64) thread_local char aligned[64];
    static thread_local int local_a = 1, local_b = 2;
    extern "C" int run() {
      ++zero; ++local_b;
      return initial + zero + *pointer + local_a * local_b + (padding == 'p');
    }
    extern "C" bool is_aligned() { return reinterpret_cast<std::uintptr_t>(aligned) % 64 == 0; })";
#if defined(__x86_64__)
  const std::array dialects = {"-mtls-dialect=gnu", "-mtls-dialect=gnu2"};
#else
  const std::array dialects = {"-mtls-dialect=trad", "-mtls-dialect=desc"};
#endif
  int tried = 0;
  for (const char* dialect : dialects) {
    CAPTURE(dialect);
    const auto image = try_compile(source, dialect);
    if (!image) continue;  // not every compiler speaks both
    ++tried;
    Module one = map(*image);
    Module two = map(*image);
    one.start();
    two.start();
    CHECK(find<int()>(one, "run")() == 11 + 1 + 5 + 3 + 1);
    CHECK(find<int()>(one, "run")() == 11 + 2 + 5 + 4 + 1);
    CHECK(find<int()>(two, "run")() == 11 + 1 + 5 + 3 + 1);
    CHECK(find<bool()>(one, "is_aligned")());
  }
  if (tried == 0) {
    Module module = map(compile(source));
    module.start();
    CHECK(find<int()>(module, "run")() == 11 + 1 + 5 + 3 + 1);
  }
}

TEST_CASE("elf: C++ exceptions are thrown and caught inside the module", "[elf]") {
  NEEDS_COMPILER();
  Module module = map(compile(R"(
    #include <stdexcept>
    #include <string>
    struct Cleanup { int& count; ~Cleanup() { ++count; } };
    __attribute__((noinline)) static void thrower(int n, int& count) {
      Cleanup cleanup{count};
      if (n == 1) throw std::out_of_range("range");
      if (n == 2) throw 2;
      std::string("abc").at(5);  // thrown by the library
    }
    extern "C" int run(int n) {
      int count = 0;
      try { thrower(n, count); }
      catch (const std::out_of_range&) { return 10 + count; }
      catch (int value) { return value * 10 + count; }
      return 0;
    })"));
  module.start();
  const auto run = find<int(int)>(module, "run");
  CHECK(run(1) == 11);
  CHECK(run(2) == 21);
  CHECK(run(3) == 11);
}

TEST_CASE("elf: weak undefined symbols are null, strong ones are named", "[elf]") {
  NEEDS_COMPILER();
  Module module =
      map(compile("extern \"C\" int maybe() __attribute__((weak));\n"
                  "extern \"C\" int run() { return maybe ? maybe() : -1; }"));
  module.start();
  CHECK(find<int()>(module, "run")() == -1);

  const std::string why =
      refusal(compile("extern \"C\" int nowhere_to_be_found();\n"
                      "extern \"C\" int run() { return nowhere_to_be_found(); }"));
  CHECK(contains(why, "'nowhere_to_be_found'"));
  CHECK(contains(why, "unknown"));
}

TEST_CASE("elf: a hostile symbol name is made printable", "[elf]") {
  NEEDS_COMPILER();
  const std::string why =
      refusal(compile("extern int nowhere() __asm__(\"\\\"bad\\x1b[31m\\\"\");\n"
                      "extern \"C\" int run() { return nowhere(); }"));
  CHECK(contains(why, "bad?[31m"));
  CHECK(std::all_of(why.begin(), why.end(), [](char c) { return c >= 0x20 && c <= 0x7e; }));
}

TEST_CASE("elf: a large bss is zero and costs no file", "[elf]") {
  NEEDS_COMPILER();
  Module module =
      map(compile("static char big[200 << 20];\n"
                  "extern \"C\" char* run(long i) { return &big[i]; }"));
  const auto run = find<char*(long)>(module, "run");
  CHECK(*run(0) == 0);
  *run((200 << 20) - 1) = 1;
  CHECK(*run((200 << 20) - 1) == 1);

  CHECK(contains(refusal(compile("static char big[1100 << 20];\n"
                                 "extern \"C\" char* run(long i) { return &big[i]; }")),
                 "1 GiB"));
}

TEST_CASE("elf: packed relative relocations", "[elf]") {
  NEEDS_COMPILER();
  const char* const source = R"(
    #define FOUR(i) &values[i], &values[i + 1], &values[i + 2], &values[i + 3]
    #define SIXTEEN(i) FOUR(i), FOUR(i + 4), FOUR(i + 8), FOUR(i + 12)
    int values[96];
    static int* volatile table[] = {SIXTEEN(0), SIXTEEN(16), SIXTEEN(32), SIXTEEN(48), SIXTEEN(64),
                                    SIXTEEN(80)};
    struct Sparse { int* first; long gap[80]; int* last; };
    static volatile Sparse sparse = {&hidden_value, {}, &hidden_value};
    extern "C" __attribute__((visibility("default"))) bool run() {
      for (int i = 0; i < 96; ++i) if (table[i] != &values[i]) return false;
      for (int i = 0; i < 80; ++i) if (sparse.gap[i] != 0) return false;
      return sparse.first == &hidden_value && sparse.last == &hidden_value;
    })";
  const std::string hidden = "static int hidden_value;\n" + std::string(source);
  REQUIRE(try_compile(hidden, "-fvisibility=hidden").has_value());
  const auto image = try_compile(hidden, "-fvisibility=hidden -Wl,-z,pack-relative-relocs");
  if (!image || !find_tag(*image, kDtRelr)) {
    WARN("skipped: the linker makes no DT_RELR");
    return;
  }
  CHECK(find<bool()>(map(*image), "run")());
}

TEST_CASE("elf: start makes no system call", "[elf]") {
  NEEDS_COMPILER();
  if (kSanitized) {
    WARN("skipped: the sanitizer's own allocator calls the kernel");
    return;
  }
  const Bytes image = compile(kEverything);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    Module module = map(image);
    std::free(std::malloc(1 << 20));  // leaves a heap that start and the module can use
    int result = 1;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) {
      _exit(77);
    }
    module.start();
    const auto run = reinterpret_cast<double (*)(int)>(module.find("run"));
    if (run(1) == 1 + 1 + 40 + 40 + 2 + 3 && run(-5) == 12) result = 0;
    syscall(SYS_exit, result);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
    WARN("skipped: this kernel has no seccomp");
    return;
  }
  CHECK_FALSE(WIFSIGNALED(status));
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("elf: features outside the contract are refused by name", "[elf]") {
  NEEDS_COMPILER();
  const std::string plain = "extern \"C\" int run() { return 1; }\nint* self; int** p = &self;";
  CHECK(contains(refusal(compile(plain, "-Wl,--no-as-needed -lm")), "DT_NEEDED"));
  CHECK(contains(refusal(compile(plain, "-Wl,-rpath,/tmp")), "DT_R"));
  CHECK(contains(refusal(compile(plain, "-Wl,-z,execstack")), "executable stack"));
  CHECK(contains(refusal(compile(plain, "-Wl,--hash-style=gnu")), "DT_HASH"));
  CHECK(
      contains(refusal(compile("thread_local int x __attribute__((tls_model(\"initial-exec\")));\n"
                               "extern \"C\" int run() { return ++x; }")),
               "initial-exec thread-local storage is not supported"));
  const auto foreign = refusal(
      compile("extern thread_local int elsewhere;\nextern \"C\" int run() { return elsewhere; }"));
  CHECK(contains(foreign, "elsewhere"));
  CHECK(contains(foreign, "std::call_once and std::async"));

  const Bytes image = compile(plain);
  CHECK(refusal(image).empty());
  const auto retagged = [&](std::int64_t tag, std::uint64_t value = 0) {
    return refusal(with_tag(image, DT_GNU_HASH, dyn(tag, value)));
  };
  CHECK(contains(retagged(DT_REL), "DT_REL"));
  CHECK(contains(retagged(DT_TEXTREL), "DT_TEXTREL"));
  CHECK(contains(retagged(DT_FLAGS, DF_TEXTREL), "DF_TEXTREL"));
  CHECK(contains(retagged(DT_AUDIT), "DT_AUDIT"));
  CHECK(contains(retagged(DT_DEPAUDIT), "DT_AUDIT"));
  CHECK(contains(retagged(DT_FILTER), "DT_FILTER"));
  CHECK(contains(retagged(DT_AUXILIARY), "DT_AUXILIARY"));
  CHECK(contains(retagged(DT_PREINIT_ARRAY), "DT_PREINIT_ARRAY"));
}

TEST_CASE("elf: an unwind table without an end is refused", "[elf]") {
  NEEDS_COMPILER();
  const Bytes image = compile("extern \"C\" int run() { return 1; }");
  const auto at = find_program_header(image, PT_GNU_EH_FRAME);
  REQUIRE(at.has_value());
  const auto header = get<Elf64_Phdr>(image, *at);
  const std::uint64_t table =
      header.p_vaddr + 4 +
      static_cast<std::uint64_t>(std::int64_t{get<std::int32_t>(image, header.p_offset + 4)});
  Bytes long_record = image;
  put(long_record, file_offset(image, table), std::uint32_t{0x7fffffff});
  CHECK(contains(refusal(long_record), "unwind table"));
  Bytes outside = image;
  put(outside, header.p_offset + 4, std::int32_t{0x7fffffff});
  CHECK(contains(refusal(outside), "unwind table"));
  Bytes encoding = image;
  put(encoding, header.p_offset + 1, std::uint8_t{0x9b});
  CHECK(contains(refusal(encoding), "unwind header"));
}

TEST_CASE("elf: a relocation that aims outside the module's data is refused", "[elf]") {
  NEEDS_COMPILER();
  const Bytes image = compile("int data; int* p = &data;\nextern \"C\" int* run() { return p; }");
  const std::size_t table = file_offset(image, tag_value(image, DT_RELA));
  const std::size_t count = tag_value(image, DT_RELASZ) / sizeof(Elf64_Rela);
  REQUIRE(count > 0);
  const auto code = get<Elf64_Phdr>(image, find_segment(image, PF_X));
  const auto data = get<Elf64_Phdr>(image, find_segment(image, PF_W));
  static int victim = 1234;
  const std::array<std::uint64_t, 9> targets = {
      0,                                         // the module's read-only pages
      code.p_vaddr,                              // its code
      data.p_vaddr - 1,                          // one byte before its data
      data.p_vaddr + data.p_memsz - 7,           // one byte past it
      data.p_vaddr + data.p_memsz,               //
      std::uint64_t{1} << 40,                    // far away
      ~std::uint64_t{0} - 3,                     // wraps around
      ~std::uint64_t{0},                         //
      reinterpret_cast<std::uint64_t>(&victim),  // something of ours
  };
  for (std::size_t i = 0; i < count; ++i) {
    for (const std::uint64_t target : targets) {
      CAPTURE(i, target);
      Bytes hostile = image;
      auto entry = get<Elf64_Rela>(image, table + i * sizeof(Elf64_Rela));
      if (ELF64_R_TYPE(entry.r_info) == 0) continue;
      entry.r_offset = target;
      put(hostile, table + i * sizeof(Elf64_Rela), entry);
      CHECK(contains(refusal(hostile), "outside the module's writable segments"));
    }
  }
  CHECK(victim == 1234);

  Bytes unknown_symbol = image;
  auto entry = get<Elf64_Rela>(image, table);
#if defined(__x86_64__)
  entry.r_info = ELF64_R_INFO(std::uint64_t{0xffffff}, R_X86_64_64);
#else
  entry.r_info = ELF64_R_INFO(std::uint64_t{0xffffff}, R_AARCH64_ABS64);
#endif
  put(unknown_symbol, table, entry);
  CHECK(contains(refusal(unknown_symbol), "symbol"));
  Bytes unknown_type = image;
  entry.r_info = 12345;
  put(unknown_type, table, entry);
  CHECK(contains(refusal(unknown_type), "12345"));
}

TEST_CASE("elf: hostile segments are refused", "[elf]") {
  NEEDS_COMPILER();
  const Bytes image = compile("int data = 3;\nextern \"C\" int* run() { return &data; }");
  const auto edited = [&](std::uint32_t flag, const std::function<void(Elf64_Phdr&)>& edit) {
    Bytes bytes = image;
    const std::size_t at = find_segment(bytes, flag);
    auto header = get<Elf64_Phdr>(bytes, at);
    edit(header);
    put(bytes, at, header);
    return refusal(bytes);
  };
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 40;
  constexpr std::uint64_t kTop = ~std::uint64_t{0};
  CHECK(contains(edited(PF_X, [](auto& h) { h.p_flags |= PF_W; }), "writable and executable"));
  CHECK(contains(edited(PF_W, [](auto& h) { h.p_flags |= PF_X; }), "writable and executable"));
  CHECK(contains(edited(PF_W, [](auto& h) { h.p_vaddr = 0; }), "overlap"));
  CHECK(contains(edited(PF_X, [](auto& h) { h.p_vaddr = 1 << 24; }), "not in order"));
  CHECK(contains(edited(PF_X, [](auto& h) { h.p_offset = kTop - 8; }), "outside the file"));
  CHECK(contains(edited(PF_X, [](auto& h) { h.p_filesz = kHuge; }), "outside the file"));
  CHECK(contains(edited(PF_W, [](auto& h) { h.p_memsz = h.p_filesz - 1; }), "larger than its"));
  CHECK(contains(edited(PF_W, [](auto& h) { h.p_memsz = kTop; }), "1 GiB"));
  CHECK(contains(edited(PF_W, [](auto& h) { h.p_vaddr = kTop - 4096; }), "1 GiB"));
  CHECK(contains(edited(PF_X, [](auto& h) { h.p_align = 3; }), "alignment"));
  CHECK(contains(edited(PF_X, [](auto& h) { h.p_align = std::uint64_t{1} << 60; }), "alignment"));
}

TEST_CASE("elf: functions outside the code are refused", "[elf]") {
  NEEDS_COMPILER();
  const Bytes image = compile(
      "int value; __attribute__((constructor)) static void c() { value = 1; }\n"
      "extern \"C\" int run() { return value; }");
  const std::size_t symbols = file_offset(image, tag_value(image, DT_SYMTAB));
  const std::size_t count =
      get<std::uint32_t>(image, file_offset(image, tag_value(image, DT_HASH)) + 4);
  const auto data = get<Elf64_Phdr>(image, find_segment(image, PF_W));
  Bytes hostile = image;
  bool edited = false;
  for (std::size_t i = 1; i < count; ++i) {
    auto symbol = get<Elf64_Sym>(image, symbols + i * sizeof(Elf64_Sym));
    if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
    symbol.st_value = std::uint64_t{0x600000000000};
    put(hostile, symbols + i * sizeof(Elf64_Sym), symbol);
    edited = true;
  }
  REQUIRE(edited);
  CHECK(contains(refusal(hostile), "'run' lies outside"));
  CHECK(contains(
      refusal(with_tag(image, DT_INIT_ARRAY, dyn(DT_INIT_ARRAY, tag_value(image, DT_SYMTAB)))),
      "DT_INIT_ARRAY"));
  CHECK(contains(refusal(with_tag(image, DT_INIT_ARRAYSZ, dyn(DT_INIT_ARRAYSZ, 1 << 20))),
                 "table of constructors is too long"));
  CHECK(contains(refusal(with_tag(image, DT_INIT_ARRAY, dyn(DT_INIT_ARRAY, 1 << 20))),
                 "table of constructors lies outside"));
  CHECK(contains(refusal(with_tag(image, DT_GNU_HASH, dyn(DT_INIT, data.p_vaddr))), "DT_INIT"));
}

TEST_CASE("elf: bytes that are no module are refused", "[elf]") {
  CHECK(contains(refusal({}), "too short"));
  CHECK(contains(refusal(Bytes(64)), "not an ELF file"));
  CHECK(contains(refusal(Bytes(1 << 16, std::byte{0xff})), "not an ELF file"));
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    Bytes noise(random() % 4096);
    for (std::byte& byte : noise) byte = static_cast<std::byte>(random());
    CHECK_FALSE(refusal(noise).empty());
  }
}

namespace {

/// Maps bytes that may be anything. True when they were refused; a crash fails the test program.
bool survives(const Bytes& bytes) {
  static int dummy[64];
  return !refusal(bytes, [](const char* name) -> void* {
            return std::strlen(name) < 1000000 ? static_cast<void*>(dummy) : nullptr;
          }).empty();
}

}  // namespace

TEST_CASE("elf: a file cut short anywhere is refused or maps safely", "[elf]") {
  NEEDS_COMPILER();
  const Bytes image = compile(kEverything);
  std::size_t last = 0;  // the end of what is loaded; symbols for debuggers follow
  for (std::size_t i = 0; auto at = find_program_header(image, PT_LOAD, i); ++i) {
    const auto header = get<Elf64_Phdr>(image, *at);
    last = std::max<std::size_t>(last, header.p_offset + header.p_filesz);
  }
  std::size_t accepted = 0;
  for (std::size_t size = 0; size < last; size += size < 1024 ? 1 : 61) {
    if (!survives(Bytes(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(size)))) {
      ++accepted;
    }
  }
  CHECK(accepted == 0);
  CHECK_FALSE(survives(Bytes(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(last))));
}

TEST_CASE("elf: every byte of the metadata changed, one at a time", "[elf]") {
  NEEDS_COMPILER();
  const Bytes image = compile(kEverything);
  std::vector<std::pair<std::size_t, std::size_t>> ranges = {
      {0, sizeof(Elf64_Ehdr) + elf_header(image).e_phnum * sizeof(Elf64_Phdr)}};
  const auto dynamic = get<Elf64_Phdr>(image, *find_program_header(image, PT_DYNAMIC));
  ranges.emplace_back(dynamic.p_offset, dynamic.p_filesz);
  ranges.emplace_back(file_offset(image, tag_value(image, DT_RELA)), tag_value(image, DT_RELASZ));
  ranges.emplace_back(file_offset(image, tag_value(image, DT_JMPREL)),
                      tag_value(image, DT_PLTRELSZ));
  ranges.emplace_back(file_offset(image, tag_value(image, DT_HASH)), 16);
  const auto unwind = get<Elf64_Phdr>(image, *find_program_header(image, PT_GNU_EH_FRAME));
  ranges.emplace_back(unwind.p_offset, unwind.p_filesz + 256);
  ranges.emplace_back(file_offset(image, tag_value(image, DT_SYMTAB)), 64 * sizeof(Elf64_Sym));
  std::size_t refused = 0;
  std::size_t tried = 0;
  for (const auto& [start, size] : ranges) {
    for (std::size_t at = start; at < start + size; ++at) {
      for (const unsigned change : {0x01U, 0x80U, 0xffU}) {
        Bytes bytes = image;
        bytes[at] ^= static_cast<std::byte>(change);
        refused += survives(bytes) ? 1 : 0;
        ++tried;
      }
    }
  }
  INFO("refused " << refused << " of " << tried);
  CHECK(refused > tried / 10);
  CHECK(refused < tried);  // some bytes mean nothing to a loader: section headers, hints
}

TEST_CASE("elf: words of the metadata replaced by boundary values", "[elf]") {
  NEEDS_COMPILER();
  const Bytes image = compile(kEverything);
  const auto dynamic = get<Elf64_Phdr>(image, *find_program_header(image, PT_DYNAMIC));
  const std::array<std::pair<std::size_t, std::size_t>, 4> ranges = {
      {{0, sizeof(Elf64_Ehdr) + elf_header(image).e_phnum * sizeof(Elf64_Phdr)},
       {dynamic.p_offset, dynamic.p_filesz},
       {file_offset(image, tag_value(image, DT_RELA)), tag_value(image, DT_RELASZ)},
       {file_offset(image, tag_value(image, DT_SYMTAB)), 64 * sizeof(Elf64_Sym)}}};
  std::mt19937_64 random(7);
  std::size_t refused = 0;
  constexpr std::size_t kRounds = 20000;
  for (std::size_t round = 0; round < kRounds; ++round) {
    Bytes bytes = image;
    for (std::size_t edits = 1 + random() % 3; edits > 0; --edits) {
      const auto& [start, size] = ranges[random() % ranges.size()];
      const std::size_t at = start + random() % (size / 8) * 8;
      const std::uint64_t near = get<std::uint64_t>(bytes, start + random() % (size / 8) * 8);
      const std::array<std::uint64_t, 10> values = {0,
                                                    1,
                                                    0x7fffffff,
                                                    0xffffffff,
                                                    std::uint64_t{1} << 63,
                                                    ~std::uint64_t{0},
                                                    image.size(),
                                                    std::uint64_t{1} << (random() % 64),
                                                    near,
                                                    near + random() % 17 - 8};
      if (at + 8 <= bytes.size()) put(bytes, at, values[random() % values.size()]);
    }
    refused += survives(bytes) ? 1 : 0;
  }
  CHECK(refused > kRounds / 4);
  CHECK(refused < kRounds);
}
