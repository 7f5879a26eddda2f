// Lets system calls of a process fail, so that a test can see what the process makes of it:
//
//   STET_FAIL_FILE    the data file, as the process spells its path. Meant are all files whose
//                     path begins so: the lock file too, and the name under which a store is made
//   STET_FAIL_LOG     gets one line for every call on such a file: its name, its number among the
//                     calls of that name, and "passed" or what STET_FAIL_ERROR says
//   STET_FAIL_CALL    write, pwrite (pwritev too), writev, fdatasync (fsync too), ftruncate (fallocate too),
//                     mmap or open
//   STET_FAIL_AT      the number of the call that fails, from 1; 0 for none
//   STET_FAIL_ERROR   EIO, ENOSPC, EINTR, ENOMEM or EMFILE: nothing is done, and this is reported;
//                     short: half is written, and that is reported;
//                     persisted: all is done, and EIO is reported
//                     killed: nothing is done, and the process ends by SIGKILL
//   STET_FAIL_STICKY  "1" lets every later call of that name fail too: after persisted with EIO,
//                     and of EINTR every second one, because who tries again until it is not
//                     interrupted would do so for ever
//
// Without STET_FAIL_FILE every call passes through. The recorder in recorder.c makes its calls
// through this file, and records what they report; of a persisted failure, what was done.

#define _GNU_SOURCE
#include "failures.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum call { WRITE, PWRITE, WRITEV, FDATASYNC, FTRUNCATE, MMAP, OPEN, CALL_COUNT };
static const char *const names[CALL_COUNT] = {
    "write", "pwrite", "writev", "fdatasync", "ftruncate", "mmap", "open",
};

// What a call has to do.
enum action { PASS, REPORT, SHORTEN, PERSIST, KILL };

// Set once before main.
static const char *file;
static const char *log_path;
static const char *error_name;
static enum call failing_call = CALL_COUNT;
static unsigned long failing_number;
static enum action failing_action;
static int error;
static bool is_sticky;

static atomic_ulong counts[CALL_COUNT];

static void give_up(const char *reason) {
    const char *parts[] = {"StetRecorder: ", reason, "\n"};
    for (int i = 0; i < 3; i++) syscall(SYS_write, STDERR_FILENO, parts[i], strlen(parts[i]));
    abort();
}

__attribute__((constructor)) static void read_environment(void) {
    static const struct { const char *name; enum action action; int error; } errors[] = {
        {"EIO", REPORT, EIO}, {"ENOSPC", REPORT, ENOSPC}, {"EINTR", REPORT, EINTR},
        {"ENOMEM", REPORT, ENOMEM}, {"EMFILE", REPORT, EMFILE},
        {"short", SHORTEN, 0}, {"persisted", PERSIST, EIO}, {"killed", KILL, 0},
    };
    file = getenv("STET_FAIL_FILE");
    log_path = getenv("STET_FAIL_LOG");
    const char *call = getenv("STET_FAIL_CALL"), *number = getenv("STET_FAIL_AT");
    const char *sticky = getenv("STET_FAIL_STICKY");
    error_name = getenv("STET_FAIL_ERROR");
    if (!file || !call || !number || !error_name) return;
    for (int i = 0; i < CALL_COUNT; i++)
        if (strcmp(call, names[i]) == 0) failing_call = i;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (strcmp(error_name, errors[i].name) == 0) {
            failing_action = errors[i].action;
            error = errors[i].error;
        }
    if (failing_call == CALL_COUNT) give_up("STET_FAIL_CALL names no call that can fail");
    if (failing_action == PASS) give_up("STET_FAIL_ERROR names no error");
    bool is_write = failing_call == WRITE || failing_call == PWRITE || failing_call == WRITEV;
    if (failing_action == SHORTEN && !is_write) give_up("only a write can be short");
    // A descriptor or a mapping that is there, but is reported as missing, would only be a leak.
    bool makes_something = failing_call == MMAP || failing_call == OPEN;
    if (failing_action == PERSIST && makes_something) give_up("this call cannot persist");
    failing_number = strtoul(number, NULL, 10);
    is_sticky = sticky && strcmp(sticky, "1") == 0;
}

static bool is_meant(const char *path) {
    return strncmp(path, file, strlen(file)) == 0;
}

static bool is_open_on_it(int fd) {
    char link[32], path[PATH_MAX + 1];
    if (!file || fd < 0) return false;
    int saved = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t count = readlink(link, path, PATH_MAX);
    errno = saved;
    if (count < 0) return false;
    path[count] = 0;
    return is_meant(path);
}

static enum action action_of(enum call call, unsigned long number) {
    if (call != failing_call || failing_number == 0 || number < failing_number) return PASS;
    unsigned long later = number - failing_number;
    if (later == 0) return failing_action;
    if (!is_sticky || (error == EINTR && later % 2 == 1)) return PASS;
    return failing_action == PERSIST ? REPORT : failing_action;
}

// One write(2) to an O_APPEND descriptor: the line survives SIGKILL.
static void append_line(enum call call, unsigned long number, const char *result) {
    char line[64];
    int saved = errno;
    int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
    int count = snprintf(line, sizeof line, "%s %lu %s\n", names[call], number, result);
    int log = (int)syscall(SYS_openat, AT_FDCWD, log_path, flags, 0600);
    if (log < 0 || syscall(SYS_write, log, line, count) != count)
        give_up("cannot write STET_FAIL_LOG");
    syscall(SYS_close, log);
    errno = saved;
}

// Counts a call, and decides.
static enum action begin(enum call call, bool counts_here) {
    if (!counts_here) return PASS;
    unsigned long number = atomic_fetch_add(&counts[call], 1) + 1;
    enum action action = action_of(call, number);
    if (log_path) append_line(call, number, action == PASS ? "passed" : error_name);
    if (action == KILL) {
        syscall(SYS_kill, getpid(), SIGKILL);
        pause();
    }
    return action;
}

_Thread_local long stet_done;

static int report(void) {
    stet_done = -1;
    errno = error;
    return -1;
}

// What the caller is told of a call whose result was `result`.
static long end(enum action action, long result) {
    if (action == PERSIST) report();
    stet_done = action == PERSIST ? result : -1;
    return action == PERSIST ? -1 : result;
}

// MARK: - Writes

ssize_t stet_write(int fd, const void *bytes, size_t count) {
    enum action action = begin(WRITE, is_open_on_it(fd));
    if (action == REPORT) return report();
    if (action == SHORTEN && count > 1) count /= 2;
    return end(action, syscall(SYS_write, fd, bytes, count));
}

ssize_t stet_pwrite(int fd, const void *bytes, size_t count, off_t offset) {
    enum action action = begin(PWRITE, is_open_on_it(fd));
    if (action == REPORT) return report();
    if (action == SHORTEN) count /= 2;
    return end(action, syscall(SYS_pwrite64, fd, bytes, count, offset));
}

// Half of the parts, or half of the only one.
static long shortened(int fd, const struct iovec *parts, int count, off_t offset, long call) {
    struct iovec half = {parts->iov_base, parts->iov_len / 2};
    if (count > 1) return syscall(call, fd, parts, count / 2, offset, 0);
    return syscall(call, fd, &half, 1, offset, 0);
}

ssize_t stet_writev(int fd, const struct iovec *parts, int count) {
    enum action action = begin(WRITEV, is_open_on_it(fd));
    if (action == REPORT) return report();
    if (action == SHORTEN) return shortened(fd, parts, count, 0, SYS_writev);
    return end(action, syscall(SYS_writev, fd, parts, count));
}

ssize_t stet_pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
    enum action action = begin(PWRITE, is_open_on_it(fd));
    if (action == REPORT) return report();
    if (action == SHORTEN) return shortened(fd, parts, count, offset, SYS_pwritev);
    return end(action, syscall(SYS_pwritev, fd, parts, count, offset, 0));
}

// MARK: - Size, syncs, mappings

int stet_ftruncate(int fd, off_t count) {
    enum action action = begin(FTRUNCATE, is_open_on_it(fd));
    if (action == REPORT) return report();
    return (int)end(action, syscall(SYS_ftruncate, fd, count));
}

int stet_sync(long call, int fd) {
    enum action action = begin(FDATASYNC, is_open_on_it(fd));
    if (action == REPORT) return report();
    return (int)end(action, syscall(call, fd));
}

void *stet_mmap(void *address, size_t count, int protection, int flags, int fd, off_t offset) {
    enum action action = begin(MMAP, is_open_on_it(fd));
    if (action == REPORT) {
        errno = error;
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, address, count, protection, flags, fd, offset);
}

int fallocate(int fd, int mode, off_t offset, off_t count) {
    enum action action = begin(FTRUNCATE, is_open_on_it(fd));
    if (action == REPORT) return report();
    return (int)end(action, syscall(SYS_fallocate, fd, mode, offset, count));
}

int fallocate64(int fd, int mode, off64_t offset, off64_t count) {
    return fallocate(fd, mode, offset, count);
}

// MARK: - Open

static int open_with(int directory, const char *path, int flags, mode_t mode) {
    enum action action = begin(OPEN, file && is_meant(path));
    if (action == REPORT) return report();
    return (int)syscall(SYS_openat, directory, path, flags, mode);
}

// The mode is there only if the flags say so.
#define READ_MODE(mode, flags)                                     \
    mode_t mode = 0;                                               \
    if ((flags) & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))) {        \
        va_list arguments;                                         \
        va_start(arguments, flags);                                \
        mode = va_arg(arguments, mode_t);                          \
        va_end(arguments);                                         \
    }

int open(const char *path, int flags, ...) {
    READ_MODE(mode, flags)
    return open_with(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    READ_MODE(mode, flags)
    return open_with(AT_FDCWD, path, flags | O_LARGEFILE, mode);
}

int openat(int directory, const char *path, int flags, ...) {
    READ_MODE(mode, flags)
    return open_with(directory, path, flags, mode);
}

int openat64(int directory, const char *path, int flags, ...) {
    READ_MODE(mode, flags)
    return open_with(directory, path, flags | O_LARGEFILE, mode);
}
