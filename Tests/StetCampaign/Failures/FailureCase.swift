/// A case of the campaign `failures`: which call fails, and how.
struct FailureCase: Hashable, CustomStringConvertible {
    let call: String
    /// The number of the call among those of its name, from 1.
    let number: Int
    let error: String
    /// Every later call of that name fails, too.
    let isSticky: Bool
    /// Another process has the store open all the time, which it finds made.
    let isHeld: Bool

    /// What each call can answer.
    ///
    /// A short sync or a mapping that is reported as missing, but is there, does not exist.
    static let errors: KeyValuePairs<String, [String]> = [
        "pwrite": ["EIO", "ENOSPC", "EINTR", "short", "persisted"],
        "writev": ["EIO", "ENOSPC", "EINTR", "short", "persisted"],
        "fdatasync": ["EIO", "ENOSPC", "EINTR", "persisted"],
        "ftruncate": ["EIO", "ENOSPC", "EINTR", "persisted"],
        "mmap": ["ENOMEM", "EIO", "EINTR"],
        "open": ["EMFILE", "EIO", "ENOSPC", "EINTR"],
    ]

    /// Every case: `counts` says how many calls of each name a session makes, held or not.
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

    /// What tells the library in Tests/CStetRecorder.
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
