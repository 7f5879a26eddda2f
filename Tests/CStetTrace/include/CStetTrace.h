// The order in which functions are called, by a breakpoint at each that is taken away when it is
// met: what a test compares with the walks that ARCHITECTURE.md describes.

#ifndef CSTET_TRACE_H
#define CSTET_TRACE_H

#include <stddef.h>
#include <stdint.h>

/// Where the program's own code is loaded, less the address that its file names.
uintptr_t stet_trace_base(void);

/// Sets a breakpoint at each address; they ascend. 0, or an error of the system.
int stet_trace_begin(const uintptr_t *addresses, size_t count);

/// Takes the rest of them away. The number of those that were met.
size_t stet_trace_end(void);

/// The place among the addresses of the one that was met as the n-th, from 0 on.
size_t stet_trace_met(size_t n);

/// Whether the thread that began the trace has met it.
int stet_trace_met_here(size_t n);

#endif
