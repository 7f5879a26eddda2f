#include "include/bare_lmdb.h"
#include <malloc.h>

size_t bare_heap_byte_count(void) {
    struct mallinfo2 information = mallinfo2();
    return information.uordblks + information.hblkhd;
}
