// Records what a process writes to one file and when it syncs it, so that a test can build the file as a power cut
// would have left it. Preload it into a child process:
//
//   LD_PRELOAD            libStetRecorder.so
//   STET_RECORD_FILE      the data file, as an absolute path; it need not exist yet
//   STET_RECORD_LOG       where the trace goes; one process per trace
//   STET_RECORD_DROP_SYNC "1" plants a bug: fdatasync and fsync of the data file do nothing and return 0
//
// Without STET_RECORD_FILE and STET_RECORD_LOG every call passes through. Passing through means to
// failures.c, which lets calls fail on request.
//
// Each call on the data file or on standard output runs under one mutex together with the append of its record. So
// the order of the trace is the order of the calls, and a SYNC covers exactly the writes recorded before it. A record
// is one write(2) to an O_APPEND descriptor: it survives SIGKILL, which can tear the last record and no other.
// Only calls that succeeded are recorded, with the byte count they returned.
//
// A descriptor belongs to the data file if it has the device and inode of the file that STET_RECORD_FILE names at the
// time of the call. That is asked each time, so open, dup and close need no attention; the position after a write and
// the O_DSYNC flag are asked of the kernel in the same way. While STET_RECORD_FILE names nothing, a new store is being
// made under another name: then a descriptor belongs to the data file if its own name begins with STET_RECORD_FILE and
// ".new-" and does not end in "-lock".
//
// Of calls that name files, link and renameat2 are recorded, when they give the data file its name.
//
// Not recorded: stdio (it does not call write through the symbol table; acknowledge with write(2)), truncate by path,
// splicing calls, and processes forked by this one. sync, syncfs, msync and sync_file_range do not count as a sync:
// the trace may call a byte volatile that is safe, never the reverse. Writes through a mapping cannot be seen, so
// a shared writable mapping of the data file (MDB_WRITEMAP) aborts the process.

#define _GNU_SOURCE
#include "CStetRecorder.h"
#include "failures.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

_Static_assert(sizeof(struct stet_trace_header) == 32, "the trace header has no padding");

// Set once before main.
static const char *data_path;
static const char *log_path;
static bool drops_sync;
static pid_t owner;

// Guarded by `mutex`.
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int log_descriptor = -1;
static uint64_t next_sequence;
static char *record;
static size_t record_capacity;

__attribute__((constructor)) static void start(void) {
    const char *drop = getenv("STET_RECORD_DROP_SYNC");
    data_path = getenv("STET_RECORD_FILE");
    log_path = getenv("STET_RECORD_LOG");
    drops_sync = drop && strcmp(drop, "1") == 0;
    owner = getpid();
}

// A trace with a hole would prove nothing, so every failure of the recorder ends the process.
static void give_up(const char *reason) {
    const char *parts[] = {"StetRecorder: ", reason, "\n"};
    for (int i = 0; i < 3; i++) syscall(SYS_write, STDERR_FILENO, parts[i], strlen(parts[i]));
    abort();
}

static bool is_recording(void) {
    return data_path && log_path && getpid() == owner;
}

static bool is_same_file(int fd, const char *path) {
    struct stat opened, named;
    return fstat(fd, &opened) == 0 && stat(path, &named) == 0
        && opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

// True for the data file of a store that is being made and has not got its name yet.
static bool is_nameless_data_file(int fd) {
    char link[32], path[PATH_MAX];
    if (access(data_path, F_OK) == 0) return false;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t count = readlink(link, path, sizeof path - 1);
    if (count < 0) return false;
    path[count] = 0;
    size_t prefix = strlen(data_path);
    return strncmp(path, data_path, prefix) == 0 && strncmp(path + prefix, ".new-", 5) == 0
        && strcmp(path + count - 5, "-lock") != 0;
}

static bool is_data_file(int fd) {
    if (!is_recording()) return false;
    int saved = errno;
    bool is = is_same_file(fd, data_path) || is_nameless_data_file(fd);
    errno = saved;
    return is;
}

static bool is_data_directory(int fd) {
    char path[PATH_MAX];
    const char *end = is_recording() ? strrchr(data_path, '/') : NULL;
    if (!end || (size_t)(end - data_path) >= sizeof path) return false;
    memcpy(path, data_path, end - data_path);
    path[end - data_path] = 0;
    int saved = errno;
    bool is = is_same_file(fd, path);
    errno = saved;
    return is;
}

// Makes `record` hold at least `count` bytes. Not malloc: the caller may be inside an allocator.
static void reserve(size_t count) {
    if (count <= record_capacity) return;
    size_t capacity = (count + 0xffff) & ~(size_t)0xffff;
    void *memory = record
        ? mremap(record, record_capacity, capacity, MREMAP_MAYMOVE)
        : (void *)syscall(SYS_mmap, NULL, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) give_up("no memory for a record");
    record = memory;
    record_capacity = capacity;
}

// Appends one record with the first `length` bytes of `parts`. The caller holds `mutex`.
static void append(uint32_t kind, off_t offset, const struct iovec *parts, size_t length) {
    int saved = errno;
    if (log_descriptor < 0) {
        log_descriptor = syscall(SYS_openat, AT_FDCWD, log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (log_descriptor < 0) give_up("cannot open STET_RECORD_LOG");
    }
    struct stet_trace_header header = {STET_TRACE_MAGIC, kind, next_sequence++, offset, length};
    size_t count = sizeof header;
    reserve(count + length);
    memcpy(record, &header, sizeof header);
    for (size_t left = length; left > 0; parts++) {
        size_t part = parts->iov_len < left ? parts->iov_len : left;
        memcpy(record + count, parts->iov_base, part);
        count += part;
        left -= part;
    }
    if (syscall(SYS_write, log_descriptor, record, count) != (long)count) give_up("cannot write STET_RECORD_LOG");
    errno = saved;
}

static void append_write(int fd, off_t offset, const struct iovec *parts, long length) {
    bool synced = (fcntl(fd, F_GETFL) & O_DSYNC) != 0; // O_SYNC contains the bit of O_DSYNC
    append(synced ? STET_TRACE_SYNC_WRITE : STET_TRACE_WRITE, offset, parts, (size_t)length);
}

// MARK: - Writes

ssize_t write(int fd, const void *bytes, size_t count) {
    bool acknowledges = fd == STDOUT_FILENO && is_recording();
    if (!acknowledges && !is_data_file(fd)) return syscall(SYS_write, fd, bytes, count);
    struct iovec part = {(void *)bytes, count};
    pthread_mutex_lock(&mutex);
    long written = syscall(SYS_write, fd, bytes, count);
    if (written > 0 && acknowledges) append(STET_TRACE_ACK, 0, &part, (size_t)written);
    else if (written > 0) append_write(fd, lseek(fd, 0, SEEK_CUR) - written, &part, written);
    pthread_mutex_unlock(&mutex);
    return written;
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    if (!is_data_file(fd)) return stet_writev(fd, parts, count);
    pthread_mutex_lock(&mutex);
    long written = stet_writev(fd, parts, count);
    if (written > 0) append_write(fd, lseek(fd, 0, SEEK_CUR) - written, parts, written);
    pthread_mutex_unlock(&mutex);
    return written;
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
    if (!is_data_file(fd)) return stet_pwrite(fd, bytes, count, offset);
    struct iovec part = {(void *)bytes, count};
    pthread_mutex_lock(&mutex);
    long written = stet_pwrite(fd, bytes, count, offset);
    if (written > 0) append_write(fd, offset, &part, written);
    pthread_mutex_unlock(&mutex);
    return written;
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
    if (!is_data_file(fd)) return stet_pwritev(fd, parts, count, offset);
    pthread_mutex_lock(&mutex);
    long written = stet_pwritev(fd, parts, count, offset);
    if (written > 0) append_write(fd, offset, parts, written);
    pthread_mutex_unlock(&mutex);
    return written;
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) {
    return pwrite(fd, bytes, count, offset);
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) {
    return pwritev(fd, parts, count, offset);
}

// MARK: - Size

int ftruncate(int fd, off_t count) {
    if (!is_data_file(fd)) return stet_ftruncate(fd, count);
    pthread_mutex_lock(&mutex);
    long result = stet_ftruncate(fd, count);
    if (result == 0) append(STET_TRACE_TRUNCATE, count, NULL, 0);
    pthread_mutex_unlock(&mutex);
    return (int)result;
}

int ftruncate64(int fd, off64_t count) {
    return ftruncate(fd, count);
}

// MARK: - The name

// Appends one record without bytes for a call that has just succeeded or failed.
static int append_call(uint32_t kind, long result) {
    if (result == 0) append(kind, 0, NULL, 0);
    pthread_mutex_unlock(&mutex);
    return (int)result;
}

int link(const char *old, const char *new) {
    if (!is_recording() || strcmp(new, data_path) != 0) return (int)syscall(SYS_link, old, new);
    pthread_mutex_lock(&mutex);
    return append_call(STET_TRACE_NAME, syscall(SYS_link, old, new));
}

int renameat2(int old_directory, const char *old, int new_directory, const char *new, unsigned int flags) {
    if (!is_recording() || strcmp(new, data_path) != 0)
        return (int)syscall(SYS_renameat2, old_directory, old, new_directory, new, flags);
    pthread_mutex_lock(&mutex);
    return append_call(
        STET_TRACE_NAME, syscall(SYS_renameat2, old_directory, old, new_directory, new, flags));
}

static int sync_directory(long call, int fd) {
    pthread_mutex_lock(&mutex);
    return append_call(STET_TRACE_NAME_SYNC, syscall(call, fd));
}

// MARK: - Syncs

static int sync_with(long call, int fd) {
    if (is_data_directory(fd)) return sync_directory(call, fd);
    if (!is_data_file(fd)) return stet_sync(call, fd);
    if (drops_sync) return 0;
    pthread_mutex_lock(&mutex);
    long result = stet_sync(call, fd);
    if (result == 0) append(STET_TRACE_SYNC, 0, NULL, 0);
    pthread_mutex_unlock(&mutex);
    return (int)result;
}

int fdatasync(int fd) {
    return sync_with(SYS_fdatasync, fd);
}

int fsync(int fd) {
    return sync_with(SYS_fsync, fd);
}

// MARK: - Mappings

void *mmap(void *address, size_t count, int protection, int flags, int fd, off_t offset) {
    // MAP_SHARED_VALIDATE contains the bit of MAP_SHARED.
    if ((protection & PROT_WRITE) && (flags & MAP_SHARED) && is_data_file(fd))
        give_up("a shared writable mapping of the data file hides its writes");
    return stet_mmap(address, count, protection, flags, fd, offset);
}

void *mmap64(void *address, size_t count, int protection, int flags, int fd, off64_t offset) {
    return mmap(address, count, protection, flags, fd, offset);
}
