// ouroboros-sandbox: enters a sandbox, reports what it achieved, and executes a program in it.
//
//   ouroboros-sandbox [--read PATH]... [--write PATH]... [--limit NAME=VALUE]... [--pid-namespace]
//                     --report FD -- PROGRAM [ARGUMENT]...
//
// It is a program of its own, and not code between fork and exec, because the referee lives in
// processes with many threads, where hardly anything is safe after a fork.

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/main/landlock.hpp"
#include "sandbox/main/namespaces.hpp"
#include "sandbox/protocol.hpp"

namespace {

using ouroboros::sandbox::enter_namespaces;
using ouroboros::sandbox::restrict_files;

struct Arguments {
  std::vector<std::string> readable;
  std::vector<std::string> writable;
  std::map<std::string, rlim_t> limits;
  bool pid_namespace = false;
  int report = -1;
  char** program = nullptr;
};

void await_go_ahead(int descriptor) {
  char word = 0;
  ssize_t count = 0;
  do {
    count = read(descriptor, &word, 1);
  } while (count < 0 && errno == EINTR);
  if (count != 1 || word != ouroboros::sandbox::go_ahead) {
    _exit(126);  // The referee is gone.
  }
}

void report(int descriptor, const char* key, const std::string& value) {
  const std::string line = std::string(key) + " " + value + "\n";
  if (write(descriptor, line.data(), line.size()) < 0) {
    _exit(126);  // Nobody listens any more.
  }
}

[[noreturn]] void fail(int descriptor, const std::string& message) {
  if (descriptor >= 0) {
    report(descriptor, ouroboros::sandbox::report_error, message);
  }
  _exit(126);
}

Arguments parse(int count, char** values) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string_view option = values[i];
    if (option == "--pid-namespace") {
      arguments.pid_namespace = true;
      continue;
    }
    if (option == "--") {
      arguments.program = values + i + 1;
      break;
    }
    if (++i == count) {
      break;
    }
    const std::string value = values[i];
    if (option == "--read") {
      arguments.readable.push_back(value);
    } else if (option == "--write") {
      arguments.writable.push_back(value);
    } else if (option == "--report") {
      arguments.report = std::atoi(value.c_str());
    } else if (option == "--limit") {
      const auto equals = value.find('=');
      arguments.limits[value.substr(0, equals)] =
          std::strtoull(value.c_str() + equals + 1, nullptr, 10);
    }
  }
  if (arguments.report < 0 || arguments.program == nullptr || *arguments.program == nullptr) {
    fail(arguments.report,
         "usage: ouroboros-sandbox [options] --report FD -- PROGRAM [ARGUMENT]...");
  }
  return arguments;
}

/// `own_user`: this process is in a user namespace, whose processes are counted by themselves.
void set_limits(const Arguments& arguments, bool own_user) {
  const std::map<std::string, int> resources = {
      {"address_space", RLIMIT_AS},  {"file_size", RLIMIT_FSIZE}, {"processes", RLIMIT_NPROC},
      {"open_files", RLIMIT_NOFILE}, {"stack", RLIMIT_STACK},     {"cpu_seconds", RLIMIT_CPU}};
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  setrlimit(RLIMIT_MEMLOCK, &none);
  for (const auto& [name, value] : arguments.limits) {
    if (name == "processes" && !own_user) {
      continue;  // It would count every process of the user, and refuse the first.
    }
    const auto resource = resources.find(name);
    const rlimit limit{value, value};
    if (resource == resources.end() ||
        setrlimit(static_cast<__rlimit_resource>(resource->second), &limit) != 0) {
      fail(arguments.report, "the limit " + name + " could not be set: " + std::strerror(errno));
    }
  }
  report(arguments.report, ouroboros::sandbox::report_limits, "set");
}

// The first process of a pid namespace runs the program; this one, outside, passes its end on.
[[noreturn]] void wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) {
      _exit(126);
    }
  }
  if (WIFSIGNALED(status)) {
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
  }
  _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 126);
}

}  // namespace

int main(int count, char** values) {
  namespace sandbox = ouroboros::sandbox;
  const pid_t referee = getppid();
  const Arguments arguments = parse(count, values);
  fcntl(arguments.report, F_SETFD, FD_CLOEXEC);
  await_go_ahead(arguments.report);

  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    fail(arguments.report, std::string("no_new_privs could not be set: ") + std::strerror(errno));
  }
  const auto namespaces = enter_namespaces(arguments.pid_namespace);
  for (const auto& name : namespaces.entered) {
    report(arguments.report, sandbox::report_namespace, name);
  }
  for (const auto& sentence : namespaces.missing) {
    report(arguments.report, sandbox::report_missing, sentence);
  }
  // Nothing outlives the referee. A new user namespace resets this, so it comes after.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != referee) {
    _exit(126);
  }
  pid_t child = 0;
  if (arguments.pid_namespace) {
    child = fork();
    if (child < 0) {
      fail(arguments.report, std::string("fork failed: ") + std::strerror(errno));
    }
    if (child > 0) {
      report(arguments.report, sandbox::report_child, std::to_string(child));
      close(arguments.report);
      wait_for(child);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
  } else {
    report(arguments.report, sandbox::report_child, std::to_string(getpid()));
  }
  set_limits(arguments, !namespaces.entered.empty() && namespaces.entered.front() == "user");
  std::string problem;
  const int abi = restrict_files(arguments.readable, arguments.writable, problem);
  if (abi > 0) {
    report(arguments.report, sandbox::report_landlock, std::to_string(abi));
  } else {
    report(arguments.report, sandbox::report_missing, problem);
  }
  execv(arguments.program[0], arguments.program);
  fail(arguments.report,
       std::string(arguments.program[0]) + " could not be executed: " + std::strerror(errno));
}
