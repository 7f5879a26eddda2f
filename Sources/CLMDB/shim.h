#if !__has_include(<lmdb.h>)
#error "Stet needs the LMDB header: run `make setup`, or `sudo apt-get install liblmdb-dev`"
#endif
#include <lmdb.h>

// What Swift's Glibc module leaves out.
#include <linux/falloc.h>
#include <sys/random.h>
#include <sys/types.h>
#include <sys/vfs.h>
int fallocate(int, int, off_t, off_t);
int pipe2(int *, int);
int renameat2(int, const char *, int, const char *, unsigned int);

// What Swift has no function for: starts to load bytes into the cache of the processor.
static inline void prefetch_bytes(const char *start, size_t count) {
    for (size_t offset = 0; offset < count; offset += 64) __builtin_prefetch(start + offset);
}
