#ifndef CSTETRECORDER_FAILURES_H
#define CSTETRECORDER_FAILURES_H

#include <sys/types.h>
#include <sys/uio.h>

// The system calls, which fail where the environment asks for it; see failures.c.
#pragma GCC visibility push(hidden)

ssize_t stet_write(int fd, const void *bytes, size_t count);
ssize_t stet_pwrite(int fd, const void *bytes, size_t count, off_t offset);
ssize_t stet_writev(int fd, const struct iovec *parts, int count);
ssize_t stet_pwritev(int fd, const struct iovec *parts, int count, off_t offset);
int stet_ftruncate(int fd, off_t count);
// What the thread's last call that reported an error has done all the same: bytes written, or 0 for a size that was set;
// -1 for nothing.
extern _Thread_local long stet_done;
// `call` is SYS_fdatasync or SYS_fsync.
int stet_sync(long call, int fd);
void *stet_mmap(void *address, size_t count, int protection, int flags, int fd, off_t offset);

#pragma GCC visibility pop

#endif
