/* Puts a delay into fsync, as rented disks have it. Compiled by `quiet.ts` where there is a C compiler. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>

static int late(long call, int file) {
  usleep(5000);
  return (int)syscall(call, file);
}

int fsync(int file) { return late(SYS_fsync, file); }
int fdatasync(int file) { return late(SYS_fdatasync, file); }
