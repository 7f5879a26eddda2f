import Glibc

/// Objects of which an object lets go when it dies, released one after the other.
///
/// An object that dies while another one is being released adds what it held to the queue of the
/// thread: a chain of any length needs no deep stack.
private final class ReleaseQueue {
    /// The thread's queue, while it is at work.
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

extension ModelState {
    /// Lets go of what is attached, when the object dies.
    func releaseAttachment() {
        if let attached { ReleaseQueue.release(attached.takeRetainedValue()) }
    }
}
