public import FoundationEssentials
public import Stet
import Synchronization

/// A clock that moves only when a test moves it.
///
/// ```swift
/// let clock = TestClock()
/// let store = try Store.inMemory(
///     for: Notebook.self, configuration: Store.Configuration(clock: clock))
/// clock.advance(by: .seconds(60))
/// ```
public final class TestClock: Sendable {
    private let time: Mutex<Date>

    /// A clock that shows a time.
    ///
    /// Defaults to the beginning of 2001 in UTC.
    public init(_ start: Date = Date(timeIntervalSinceReferenceDate: 0)) {
        time = Mutex(start)
    }

    /// The time that it shows.
    public var now: Date {
        get { time.withLock { $0 } }
        set { time.withLock { $0 = newValue } }
    }

    /// Moves the clock on, or back by a negative duration.
    public func advance(by duration: Duration) {
        let (seconds, attoseconds) = duration.components
        time.withLock { $0 += Double(seconds) + Double(attoseconds) / 1e18 }
    }
}

extension Store.Configuration {
    /// The usual configuration, with stamps and commits that take the time from a clock of the
    /// test.
    public init(clock: TestClock) {
        self.init()
        self.clock = { clock.now }
    }
}
