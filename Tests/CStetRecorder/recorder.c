// Records what processes write to the files of a store and when they sync them, so that a test can build the files as a
// power cut would have left them. Preload it into a child process, or into several:
//
//   LD_PRELOAD            libStetRecorder.so
//   STET_RECORD_FILE      the data file, as an absolute path; it need not exist yet. Meant are all files whose path begins
//                         so, but for lock files: copies beside the store, too, and files that have not got their name yet
//   STET_RECORD_LOG       where the trace goes
//   STET_RECORD_DROP_SYNC "1" plants a bug: fdatasync and fsync of a data file do nothing and return 0
//
// Without STET_RECORD_FILE and STET_RECORD_LOG every call passes through. Passing through means to
// failures.c, which lets calls fail on request.
//
// Each call on a data file or on standard output runs under one mutex, and under a lock of the trace that the processes
// share, together with the append of its record. So the order of the trace is the order of the calls, and a SYNC covers
// exactly the writes of its file recorded before it. A record is one write(2) to an O_APPEND descriptor: it survives
// SIGKILL, which can tear the last record and no other. Only calls that succeeded are recorded, with the byte count they
// returned; and of those that failures.c lets fail, syncs, and writes that were carried out: after such an error Linux takes
// what it could not write for written.
//
// A descriptor belongs to a data file if its own name begins with STET_RECORD_FILE, or if it has the device and inode of
// the file that this names. That is asked each time, so open, dup and close need no attention; the position after a
// write and the O_DSYNC flag are asked of the kernel in the same way.
//
// Of calls that name files, link, rename, renameat2 and unlink are recorded, unless they concern lock files, or give a name
// that is only for a file that is not complete (".new-"). A trace of a file that is there begins with its name. The file of
// a log ("-log-") is not renamed: its name is recorded with the first write by a process.
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
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

_Static_assert(sizeof(struct stet_trace_header) == 48, "the trace header has no padding");

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

static bool has_suffix(const char *text, const char *suffix) {
    size_t length = strlen(text), count = strlen(suffix);
    return length >= count && strcmp(text + length - count, suffix) == 0;
}

static bool is_data_path(const char *path) {
    return strncmp(path, data_path, strlen(data_path)) == 0 && !has_suffix(path, "-lock")
        && !has_suffix(path, "-lock (deleted)");
}

static bool is_data_file(int fd) {
    if (!is_recording()) return false;
    char link[32], path[PATH_MAX];
    int saved = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t count = readlink(link, path, sizeof path - 1);
    if (count > 0) path[count] = 0;
    bool is = count > 0 && (is_data_path(path) || is_same_file(fd, data_path));
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

// Begins a call that is recorded; no other thread or process makes one until `end_call`.
static void begin_call(void) {
    pthread_mutex_lock(&mutex);
    int saved = errno;
    if (log_descriptor < 0) {
        log_descriptor = syscall(SYS_openat, AT_FDCWD, log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (log_descriptor < 0) give_up("cannot open STET_RECORD_LOG");
    }
    while (flock(log_descriptor, LOCK_EX) != 0)
        if (errno != EINTR) give_up("cannot lock STET_RECORD_LOG");
    errno = saved;
}

static void end_call(void) {
    int saved = errno;
    flock(log_descriptor, LOCK_UN);
    errno = saved;
    pthread_mutex_unlock(&mutex);
}

static uint64_t inode_of(int fd) {
    struct stat status;
    return fstat(fd, &status) == 0 ? status.st_ino : 0;
}

// Appends one record with the first `length` bytes of `parts`, after `begin_call`.
static void append(uint32_t kind, uint64_t file, off_t offset, const struct iovec *parts, size_t length) {
    int saved = errno;
    struct stet_trace_header header = {
        STET_TRACE_MAGIC, kind, next_sequence++, (uint64_t)owner, file, offset, length,
    };
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

// Records a write that reported `length`. One at the file's position has moved it behind what it wrote.
static void append_write(int fd, off_t offset, const struct iovec *parts, long length, bool at_position) {
    bool is_reported = length >= 0;
    if (!is_reported) length = stet_done;
    if (length <= 0) return;
    if (at_position) offset = lseek(fd, 0, SEEK_CUR) - length;
    bool is_synced = (fcntl(fd, F_GETFL) & O_DSYNC) != 0; // O_SYNC contains the bit of O_DSYNC
    uint32_t kind = !is_reported ? STET_TRACE_LOST_WRITE : is_synced ? STET_TRACE_SYNC_WRITE : STET_TRACE_WRITE;
    append(kind, inode_of(fd), offset, parts, (size_t)length);
}

// `lost` is the inode of a file that has lost its last name.
static void append_name(uint32_t kind, const char *path, uint64_t lost) {
    struct stat status;
    struct iovec suffix = {(void *)(path + strlen(data_path)), strlen(path) - strlen(data_path)};
    uint64_t file = kind == STET_TRACE_NAME && stat(path, &status) == 0 ? status.st_ino : lost;
    append(kind, file, 0, &suffix, suffix.iov_len);
}

// The log files whose names this process has recorded.
static uint64_t named[8];

static void forget_name(uint64_t inode) {
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
        if (named[i] == inode) named[i] = 0;
}

// Records the name of a log's file before its first write, after `begin_call`.
static void append_log_name(int fd) {
    char link[32], path[PATH_MAX];
    uint64_t inode = inode_of(fd);
    size_t free = sizeof named / sizeof named[0];
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
        if (named[i] == inode) return;
        if (named[i] == 0) free = i;
    }
    int saved = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t count = readlink(link, path, sizeof path - 1);
    if (count > 0) path[count] = 0;
    errno = saved;
    if (count <= 0 || !is_data_path(path) || !strstr(path + strlen(data_path), "-log-")) return;
    if (strstr(path + strlen(data_path), ".new-") || has_suffix(path, " (deleted)")) return;
    if (free == sizeof named / sizeof named[0]) give_up("too many logs");
    named[free] = inode;
    append_name(STET_TRACE_NAME, path, 0);
}

__attribute__((constructor)) static void start(void) {
    const char *drop = getenv("STET_RECORD_DROP_SYNC");
    data_path = getenv("STET_RECORD_FILE");
    log_path = getenv("STET_RECORD_LOG");
    drops_sync = drop && strcmp(drop, "1") == 0;
    owner = getpid();
    if (!is_recording() || access(data_path, F_OK) != 0) return;
    begin_call();
    if (lseek(log_descriptor, 0, SEEK_END) == 0) {
        append_name(STET_TRACE_NAME, data_path, 0);
        append(STET_TRACE_NAME_SYNC, 0, 0, NULL, 0);
    }
    end_call();
}

// MARK: - Writes

ssize_t write(int fd, const void *bytes, size_t count) {
    bool acknowledges = fd == STDOUT_FILENO && is_recording();
    if (!acknowledges && !is_data_file(fd)) return stet_write(fd, bytes, count);
    struct iovec part = {(void *)bytes, count};
    begin_call();
    long written = acknowledges ? syscall(SYS_write, fd, bytes, count) : stet_write(fd, bytes, count);
    if (!acknowledges) append_write(fd, 0, &part, written, true);
    else if (written > 0) append(STET_TRACE_ACK, 0, 0, &part, (size_t)written);
    end_call();
    return written;
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    if (!is_data_file(fd)) return stet_writev(fd, parts, count);
    begin_call();
    long written = stet_writev(fd, parts, count);
    append_write(fd, 0, parts, written, true);
    end_call();
    return written;
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
    if (!is_data_file(fd)) return stet_pwrite(fd, bytes, count, offset);
    struct iovec part = {(void *)bytes, count};
    begin_call();
    append_log_name(fd);
    long written = stet_pwrite(fd, bytes, count, offset);
    append_write(fd, offset, &part, written, false);
    end_call();
    return written;
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
    if (!is_data_file(fd)) return stet_pwritev(fd, parts, count, offset);
    begin_call();
    long written = stet_pwritev(fd, parts, count, offset);
    append_write(fd, offset, parts, written, false);
    end_call();
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
    begin_call();
    long result = stet_ftruncate(fd, count);
    if (result == 0 || stet_done == 0) append(STET_TRACE_TRUNCATE, inode_of(fd), count, NULL, 0);
    end_call();
    return (int)result;
}

int ftruncate64(int fd, off64_t count) {
    return ftruncate(fd, count);
}

// MARK: - Names

static bool is_recorded_name(uint32_t kind, const char *path) {
    if (!is_recording() || !is_data_path(path)) return false;
    return kind == STET_TRACE_REMOVAL || !strstr(path + strlen(data_path), ".new-");
}

// Makes a call that gives a file a name, or takes it away, and records it.
static int change_name(uint32_t kind, const char *path, long call, long a, long b, long c, long d, long e) {
    if (!is_recorded_name(kind, path)) return (int)syscall(call, a, b, c, d, e);
    struct stat status;
    begin_call();
    int saved = errno;
    bool is_last = kind == STET_TRACE_REMOVAL && lstat(path, &status) == 0 && status.st_nlink == 1;
    errno = saved;
    long result = syscall(call, a, b, c, d, e);
    if (result == 0 && is_last) forget_name(status.st_ino);
    if (result == 0) append_name(kind, path, is_last ? status.st_ino : 0);
    end_call();
    return (int)result;
}

int link(const char *old, const char *new) {
    return change_name(STET_TRACE_NAME, new, SYS_link, (long)old, (long)new, 0, 0, 0);
}

int rename(const char *old, const char *new) {
    return change_name(STET_TRACE_NAME, new, SYS_rename, (long)old, (long)new, 0, 0, 0);
}

int renameat2(int old_directory, const char *old, int new_directory, const char *new, unsigned int flags) {
    return change_name(
        STET_TRACE_NAME, new, SYS_renameat2, old_directory, (long)old, new_directory, (long)new, flags);
}

int unlink(const char *path) {
    return change_name(STET_TRACE_REMOVAL, path, SYS_unlink, (long)path, 0, 0, 0, 0);
}

// MARK: - Syncs

static int sync_with(long call, int fd) {
    bool is_directory = is_data_directory(fd);
    if (!is_directory && !is_data_file(fd)) return stet_sync(call, fd);
    if (drops_sync && !is_directory) return 0;
    begin_call();
    long result = is_directory ? syscall(call, fd) : stet_sync(call, fd);
    if (is_directory && result == 0) append(STET_TRACE_NAME_SYNC, 0, 0, NULL, 0);
    if (!is_directory) append(result == 0 ? STET_TRACE_SYNC : STET_TRACE_FAILED_SYNC, inode_of(fd), 0, NULL, 0);
    end_call();
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
