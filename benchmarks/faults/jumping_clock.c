/* A wall clock that jumps by hours at every reading. Preloaded into a referee's process. */

#define _GNU_SOURCE
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static atomic_uint readings;

static time_t jump(void) {
  return ((time_t)(atomic_fetch_add(&readings, 1) * 2654435761U % 200) - 100) * 1800;
}

int clock_gettime(clockid_t clock, struct timespec* time) {
  const long result = syscall(SYS_clock_gettime, clock, time);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    time->tv_sec += jump();
  }
  return (int)result;
}

int gettimeofday(struct timeval* restrict time, void* restrict zone) {
  const long result = syscall(SYS_gettimeofday, time, zone);
  if (result == 0 && time) time->tv_sec += jump();
  return (int)result;
}

time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
