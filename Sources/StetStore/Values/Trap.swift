/// Ends the process with a sentence about a mistake of the program that uses this package.
///
/// In optimised builds, too, where `precondition` drops its message.
package func trap(_ message: @autoclosure () -> String) -> Never {
    fatalError(message())
}

/// Ends the process with a sentence unless the caller has kept a promise.
package func trap(unless isKept: Bool, _ message: @autoclosure () -> String) {
    if !isKept { trap(message()) }
}
