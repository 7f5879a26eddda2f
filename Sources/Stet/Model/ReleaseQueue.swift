import Glibc
import StetStore

/// Releases objects one after another that would otherwise release each other recursively.
///
/// When the queue of a thread releases an object, its deinitialiser adds the objects that it held
/// to the same queue instead of releasing them: the stack stays flat for a chain of any length.
private final class ReleaseQueue {
    /// The key of the thread's active queue.
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let code = pthread_key_create(&key, nil)
        guard code == 0 else {
            trap("the process has no thread-specific keys left (error \(code)): free some")
        }
        return key
    }()

    private var waiting: [AnyObject] = []

    static func release(_ object: consuming AnyObject) {
        if let queue = pthread_getspecific(key) {
            Unmanaged<ReleaseQueue>.fromOpaque(queue).takeUnretainedValue().waiting.append(object)
            return
        }
        let queue = ReleaseQueue()
        pthread_setspecific(key, Unmanaged.passUnretained(queue).toOpaque())
        queue.waiting.append(object)
        while !queue.waiting.isEmpty { queue.waiting.removeLast() }
        pthread_setspecific(key, nil)
    }
}

extension _ModelState {
    /// Releases the attached objects when the object is deinitialised.
    func releaseAttachment() {
        if let attached { ReleaseQueue.release(attached.takeRetainedValue()) }
    }
}
