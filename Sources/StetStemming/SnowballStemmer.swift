import CStemmer
import StetStore
import Synchronization

/// A stemmer of Snowball, as libstemmer has it.
///
/// State: idle stemmers of libstemmer, each of which one thread uses at a time; the mutex guards
/// them.
final class SnowballStemmer: TextStemmer {
    /// A stemmer of libstemmer, which only its holder uses.
    private struct Handle: @unchecked Sendable {  // only one holder at a time
        let stemmer: OpaquePointer

        /// Returns the stem of a word in UTF-8, whose bytes are valid until the next one.
        func stem(_ word: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
            guard let stem = sb_stemmer_stem(stemmer, word.baseAddress, Int32(word.count)) else {
                // As when Swift allocates: a word without its stem would make a wrong index.
                trap("there is no memory for the stem of a word")
            }
            return UnsafeBufferPointer(start: stem, count: Int(sb_stemmer_length(stemmer)))
        }
    }

    private let algorithm: String
    private let idle: Mutex<[Handle]>
    private let knownVersion = Mutex<UInt32?>(nil)

    /// The names of the algorithms of this libstemmer.
    static let algorithms: [String] = {
        guard var names = sb_stemmer_list() else { return [] }
        var algorithms: [String] = []
        while let name = names.pointee {
            algorithms.append(String(cString: name))
            names += 1
        }
        return algorithms
    }()

    /// Creates the stemmer of an algorithm; nil when libstemmer does not have it.
    init?(_ algorithm: String) {
        guard let first = Self.handle(algorithm) else { return nil }
        self.algorithm = algorithm
        idle = Mutex([first])
    }

    deinit {
        idle.withLock { for handle in $0 { sb_stemmer_delete(handle.stemmer) } }
    }

    private static func handle(_ algorithm: String) -> Handle? {
        sb_stemmer_new(algorithm, "UTF_8").map(Handle.init)
    }

    private func withHandle<Result>(_ body: (Handle) -> Result) -> Result {
        guard let handle = idle.withLock({ $0.popLast() }) ?? Self.handle(algorithm) else {
            trap("there is no memory for a stemmer")
        }
        defer { idle.withLock { $0.append(handle) } }
        return body(handle)
    }

    func stem(_ word: String) -> String {
        if word.isEmpty { return word }
        var word = word
        return withHandle { handle in
            word.withUTF8 { String(decoding: handle.stem($0), as: UTF8.self) }
        }
    }

    /// A number of the stems of many words, because libstemmer does not say which version it is.
    ///
    /// It takes some hundredths of a second, once.
    var version: UInt32 {
        if let known = knownVersion.withLock({ $0 }) { return known }
        let version = SnowballProbe(algorithm).version { word, combine in
            withHandle { combine($0.stem(word)) }
        }
        knownVersion.withLock { $0 = version }
        return version
    }
}
