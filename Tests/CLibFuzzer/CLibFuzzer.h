#include <stddef.h>
#include <stdint.h>

/// The fuzzer's main function (llvm.org/docs/LibFuzzer.html, "Using libFuzzer as a library"); the
/// toolchain brings the library, but no header.
int LLVMFuzzerRunDriver(
    int *argument_count, char ***arguments, int (*callback)(const uint8_t *data, size_t size));
