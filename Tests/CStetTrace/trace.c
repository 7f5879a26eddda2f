#define _GNU_SOURCE
#include "CStetTrace.h"

#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__x86_64__)
typedef uint8_t instruction;
static const instruction breakpoint = 0xcc;
#elif defined(__aarch64__)
typedef uint32_t instruction;
static const instruction breakpoint = 0xd4200000;
#else
#error "breakpoints are known for x86-64 and arm64"
#endif

static const uintptr_t *places;
static size_t placeCount;
static instruction *originals;
static size_t *met;
static char *metHere;
static atomic_size_t metCount;
static long beginner;
static struct sigaction former;

static int note_base(struct dl_phdr_info *info, size_t size, void *base) {
    (void)size;
    *(uintptr_t *)base = info->dlpi_addr;
    return 1;
}

uintptr_t stet_trace_base(void) {
    uintptr_t base = 0;
    // The first one is the program.
    dl_iterate_phdr(note_base, &base);
    return base;
}

static void put(size_t place, instruction code) {
    __atomic_store_n((instruction *)places[place], code, __ATOMIC_SEQ_CST);
    __builtin___clear_cache((char *)places[place], (char *)places[place] + sizeof code);
}

static void meet(int signal, siginfo_t *info, void *context) {
    (void)signal;
    (void)info;
    ucontext_t *state = context;
#if defined(__x86_64__)
    uintptr_t address = (uintptr_t)state->uc_mcontext.gregs[REG_RIP] - 1;
#else
    uintptr_t address = (uintptr_t)state->uc_mcontext.pc;
#endif
    size_t low = 0, high = placeCount;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (places[middle] < address) low = middle + 1; else high = middle;
    }
    if (low == placeCount || places[low] != address) abort();
    // Two threads may meet the same one.
    instruction expected = breakpoint;
    if (__atomic_compare_exchange_n((instruction *)address, &expected, originals[low], 0,
                                    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        __builtin___clear_cache((char *)address, (char *)address + sizeof expected);
        size_t n = atomic_fetch_add(&metCount, 1);
        met[n] = low;
        metHere[n] = syscall(SYS_gettid) == beginner;
    }
#if defined(__x86_64__)
    state->uc_mcontext.gregs[REG_RIP] = (greg_t)address;
#endif
}

int stet_trace_begin(const uintptr_t *addresses, size_t count) {
    places = addresses;
    placeCount = count;
    originals = calloc(count, sizeof *originals);
    met = calloc(count, sizeof *met);
    metHere = calloc(count, 1);
    if (!originals || !met || !metHere || count == 0) return ENOMEM;
    beginner = syscall(SYS_gettid);
    struct sigaction action = {.sa_sigaction = meet, .sa_flags = SA_SIGINFO};
    if (sigaction(SIGTRAP, &action, &former)) return errno;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t start = addresses[0] & ~(page - 1), end = addresses[count - 1] + page;
    if (mprotect((void *)start, end - start, PROT_READ | PROT_WRITE | PROT_EXEC)) return errno;
    for (size_t place = 0; place < count; place++) {
        originals[place] = *(instruction *)addresses[place];
    }
    for (size_t place = 0; place < count; place++) put(place, breakpoint);
    return 0;
}

size_t stet_trace_end(void) {
    for (size_t place = 0; place < placeCount; place++) {
        if (*(instruction *)places[place] == breakpoint) put(place, originals[place]);
    }
    sigaction(SIGTRAP, &former, NULL);
    return atomic_load(&metCount);
}

size_t stet_trace_met(size_t n) { return met[n]; }

int stet_trace_met_here(size_t n) { return metHere[n]; }
