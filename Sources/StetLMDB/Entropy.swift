import CLMDB
import Glibc

/// Random bytes from the system.
package enum Entropy {
    /// Fills `buffer`; returns the system's error number, or 0.
    package static func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int32 {
        var filled = 0
        while filled < buffer.count {
            let count = getrandom(buffer.baseAddress! + filled, buffer.count - filled, 0)
            if count < 0, errno != EINTR { return errno }
            filled += max(count, 0)
        }
        return 0
    }
}
