#ifndef CSTETRECORDER_H
#define CSTETRECORDER_H

#include <stdint.h>

// The trace that the recorder writes: records without padding between them, all numbers little-endian.
// Swift reads it with WriteTrace, in StetTestSupport.

#define STET_TRACE_MAGIC 0x43525453u // "STRC"

enum stet_trace_kind {
    STET_TRACE_WRITE = 1,      // `length` bytes follow, written at `offset`, not yet synced
    STET_TRACE_SYNC = 2,       // everything recorded before it is on the disk
    STET_TRACE_SYNC_WRITE = 3, // as WRITE, through a descriptor with O_DSYNC: these bytes are on the disk, no others
    STET_TRACE_TRUNCATE = 4,   // the file now has `offset` bytes; not yet synced
    STET_TRACE_ACK = 5,        // `length` bytes follow, written to standard output
    STET_TRACE_NAME = 6,       // the file was given the name STET_RECORD_FILE; not yet synced
    STET_TRACE_NAME_SYNC = 7,  // the directory with that name is on the disk
};

struct stet_trace_header {
    uint32_t magic;
    uint32_t kind;
    uint64_t sequence; // 0, 1, 2, … in each trace
    int64_t offset;
    uint64_t length;
};

#endif
