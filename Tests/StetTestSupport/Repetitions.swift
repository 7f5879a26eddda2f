/// Returns how often a long test repeats its steps: `count` times in an optimised build, a quarter
/// of that in a debug build, where each step takes several times as long.
package func repetitions(_ count: Int) -> Int {
    #if STET_OPTIMISED
        count
    #else
        max(count / 4, 1)
    #endif
}
