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
    STET_TRACE_NAME = 6,       // `length` bytes follow: what comes after STET_RECORD_FILE in the name that the file
                               // was given; not yet synced
    STET_TRACE_NAME_SYNC = 7,  // the directory with the names is on the disk
    STET_TRACE_REMOVAL = 8,    // as NAME: this name was removed; `file` is the one that has no name now, or 0
    STET_TRACE_LOST_WRITE = 9, // as WRITE, but it reported an error: the process may see these bytes, and no sync brings
                               // them to the disk
    STET_TRACE_FAILED_SYNC = 10, // a sync of the file failed: no later one brings what was written before it to the disk
};

struct stet_trace_header {
    uint32_t magic;
    uint32_t kind;
    uint64_t sequence; // 0, 1, 2, … in each trace, for each process
    uint64_t process;
    uint64_t file; // the inode of the file; 0 where there is none
    int64_t offset;
    uint64_t length;
};

#endif
