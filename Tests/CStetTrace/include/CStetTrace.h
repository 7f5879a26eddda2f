// Records the order in which functions are first called. Each function gets a breakpoint, which is
// removed when it is hit. A test compares the result with the walks in ARCHITECTURE.md.

#ifndef CSTET_TRACE_H
#define CSTET_TRACE_H

#include <stddef.h>
#include <stdint.h>

/// Returns the load bias of the program: add it to an address from its symbol table.
uintptr_t stet_trace_base(void);

/// Sets a breakpoint at each address, in ascending order. Returns 0, or an errno code.
int stet_trace_begin(const uintptr_t *addresses, size_t count);

/// Removes the remaining breakpoints. Returns how many were hit.
size_t stet_trace_end(void);

/// Returns the index of the address that was hit as the n-th, from 0.
size_t stet_trace_met(size_t n);

/// Returns 1 when the thread that began the trace hit it, else 0.
int stet_trace_met_here(size_t n);

#endif
