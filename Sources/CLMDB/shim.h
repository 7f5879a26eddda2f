#if !__has_include(<lmdb.h>)
#error "Stet needs the LMDB header: run `make setup`, or `sudo apt-get install liblmdb-dev`"
#endif
#include <lmdb.h>

// What Swift's Glibc module leaves out.
#include <linux/falloc.h>
#include <sys/random.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/vfs.h>
int fallocate(int, int, off_t, off_t);
int pipe2(int *, int);
int renameat2(int, const char *, int, const char *, unsigned int);

// What Swift has no function for: starts to load bytes into the cache of the processor.
static inline void prefetch_bytes(const char *start, size_t count) {
    for (size_t offset = 0; offset < count; offset += 64) __builtin_prefetch(start + offset);
}

// Does so for the entry behind one that a cursor has found, where LMDB puts it if entries were
// added in ascending order: it fills pages from their end, in the order of their addresses. The
// loads are wasted, and do no harm, where entries or pages are in another order or size.
static inline void prefetch_next_entry(const MDB_val *key, const MDB_val *value) {
    const uintptr_t page_size = 4096, header_size = 8, line_size = 64, most = 1024;
    const uintptr_t start = (uintptr_t)key->mv_data - header_size;
    const uintptr_t end = (uintptr_t)value->mv_data + value->mv_size;
    const uintptr_t size = end - start;
    if (size > page_size / 2) return;  // Its value has pages of its own.
    const uintptr_t page = start & -page_size;
    // A smaller one shares its lines with the next.
    if (size >= 2 * line_size) {
        const uintptr_t below = start - size - line_size;
        const uintptr_t first = below < page ? page : below;
        const uintptr_t count = start - first;
        prefetch_bytes((const char *)first, count < most ? count : most);
    }
    const int is_first_of_page = ((end + 1) & (page_size - 1)) <= 1;
    if (is_first_of_page) {
        const uintptr_t count = size < 4 * line_size ? 4 * line_size : size + line_size;
        prefetch_bytes((const char *)page + page_size, header_size);
        prefetch_bytes((const char *)end + page_size - count, count < most ? count : most);
    }
}
