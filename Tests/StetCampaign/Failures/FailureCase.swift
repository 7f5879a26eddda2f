/// A case of the campaign `failures`: the call that fails, and the kind of failure.
struct FailureCase: Hashable, CustomStringConvertible {
    let call: String
    /// The number of the call among those with its name, from 1.
    let number: Int
    let error: String
    /// True if every later call with that name fails as well.
    let isSticky: Bool
    /// True if another process has the store open all the time, so that the session finds it
    /// existing.
    let isHeld: Bool

    /// The failures of each call.
    ///
    /// A short sync does not exist, nor does a mapping that exists but is reported as missing.
    static let errors: KeyValuePairs<String, [String]> = [
        "pwrite": ["EIO", "ENOSPC", "EINTR", "short", "persisted"],
        "writev": ["EIO", "ENOSPC", "EINTR", "short", "persisted"],
        "fdatasync": ["EIO", "ENOSPC", "EINTR", "persisted"],
        "ftruncate": ["EIO", "ENOSPC", "EINTR", "persisted"],
        "mmap": ["ENOMEM", "EIO", "EINTR"],
        "open": ["EMFILE", "EIO", "ENOSPC", "EINTR"],
    ]

    /// Returns every case; `counts` returns the number of calls of each name that a session makes,
    /// held or not.
    static func all(_ counts: (_ isHeld: Bool) throws -> [String: Int]) rethrows -> [FailureCase] {
        var cases: [FailureCase] = []
        for isHeld in [false, true] {
            let counts = try counts(isHeld)
            for (call, errors) in Self.errors {
                for error in errors {
                    for isSticky in [false, true] {
                        cases += (0..<counts[call, default: 0]).map { index in
                            FailureCase(
                                call: call, number: index + 1, error: error, isSticky: isSticky,
                                isHeld: isHeld)
                        }
                    }
                }
            }
        }
        return cases
    }

    /// The environment variables that configure the library in Tests/CStetRecorder.
    var environment: [String: String] {
        [
            "STET_FAIL_CALL": call, "STET_FAIL_AT": "\(number)", "STET_FAIL_ERROR": error,
            "STET_FAIL_STICKY": isSticky ? "1" : "0",
        ]
    }

    var description: String {
        "\(call) \(number) \(error) \(isSticky ? "from then on" : "once")"
            + (isHeld ? ", held by another process" : "")
    }
}
