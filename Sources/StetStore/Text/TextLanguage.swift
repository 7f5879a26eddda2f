import Synchronization

/// The language of a searchable text, by whose rules its words are reduced to their stems.
///
/// The module `StetStemming` has the languages of Snowball:
///
/// ```swift
/// @Attribute(.searchable(language: .english)) var text: String
/// ```
///
/// A language is known in a process from its creation on, under its name. A store that is opened
/// without its models, as a restore does, finds the stemmers of its indexes so.
///
/// Two languages are equal if their names and the versions of their stemmers are.
public struct TextLanguage: Hashable, Sendable {
    private enum Rules: Sendable {
        case stemmer(any TextStemmer)
        /// The rules of an index whose stemmer this process lacks.
        case absent(version: UInt32)
    }

    /// The name, such as "english"; a store contains it.
    public let name: String
    private let rules: Rules

    /// The languages of this process, by name; of several with one name, the last one.
    private static let known = Mutex<[String: TextLanguage]>([:])

    /// Creates a language with a stemmer, and makes it known in this process.
    ///
    /// - Precondition: the name has 1 to 255 bytes.
    public init(_ name: String, stemmer: any TextStemmer) {
        trap(
            unless: (1...Limits.nameByteCount).contains(name.utf8.count),
            "the name of a language needs 1 to \(Limits.nameByteCount) bytes")
        self.init(name, .stemmer(stemmer))
        Self.known.withLock { $0[name] = self }
    }

    /// Creates a language that this process has no stemmer for: no store can be opened for models
    /// that name it.
    package init(withoutStemmer name: String) { self.init(name, .absent(version: 0)) }

    /// Creates the language of a stored index; it has a stemmer if one of this name and version is
    /// known.
    package init(_ name: String, version: UInt32) {
        let known = Self.known.withLock { $0[name] }
        if let known, known.version == version {
            self = known
        } else {
            self.init(name, .absent(version: version))
        }
    }

    private init(_ name: String, _ rules: Rules) {
        self.name = name
        self.rules = rules
    }

    /// The version of the rules.
    package var version: UInt32 {
        switch rules {
        case .stemmer(let stemmer): stemmer.version
        case .absent(let version): version
        }
    }

    /// True when this process can stem words by the rules.
    package var hasStemmer: Bool {
        if case .stemmer = rules { true } else { false }
    }

    /// True when this process has another version of the stemmer.
    package var isKnownInAnotherVersion: Bool {
        !hasStemmer && Self.known.withLock { $0[name] } != nil
    }

    /// Returns whether both have one name, and stemmers of one version.
    public static func == (one: TextLanguage, other: TextLanguage) -> Bool {
        one.name == other.name && one.version == other.version
    }

    /// Hashes the name.
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// Reduces words of one language to their stems, so that a search for `session` finds `sessions`.
///
/// The module `StetStemming` has those of Snowball. One of your own belongs to a `TextLanguage`,
/// and must give equal words equal stems, in every process that has the same version.
public protocol TextStemmer: Sendable {
    /// A number that changes whenever the stem of any word changes.
    ///
    /// A store keeps it with its indexes: those that were made with another version are built again
    /// when the store is opened.
    var version: UInt32 { get }

    /// Returns the stem of a word, by which it is indexed and searched for.
    ///
    /// It is called by many threads at once, also while an index is built within a write to the
    /// store: it must not use a store.
    ///
    /// - Parameter word: A word in normal form C and without upper case, of at most 254 bytes. It
    ///   may have any letters and digits, also those of other languages.
    /// - Returns: The stem; a word whose stem is empty, contains U+0000 or is longer than 254 bytes
    ///   is its own stem.
    func stem(_ word: String) -> String
}

/// The stems of a word, by each of which it is found.
///
/// Letters with diacritics decide which ending a word has, but people leave them out. So a word is
/// stemmed without its diacritics and, where it has some, also with them.
struct TextStems {
    /// The stem of the word without diacritics.
    let plain: String
    /// The stem of the word with its diacritics, which are then removed; nil when it is the same.
    let marked: String?

    /// Creates the stems of a word, folded and as it is written in a text.
    init(
        _ language: TextLanguage, folded: UnsafeRawBufferPointer, written: UnsafeRawBufferPointer
    ) {
        let word = String(decoding: folded, as: UTF8.self)
        let plain = language.stem(word)
        self.plain = plain ?? word
        // Of ASCII, or with so many marks that it is not a word of any language.
        if written.count > 4 * TextTokenizer.wordByteLimit || written.allSatisfy({ $0 < 0x80 }) {
            marked = nil
            return
        }
        let lowercased = String(decoding: written, as: UTF8.self).folded(.caseInsensitive)
            .inNormalFormC
        let stem = lowercased == word ? nil : language.stem(lowercased)
        marked = stem == self.plain ? nil : stem
    }
}

extension TextLanguage {
    /// Returns the stem of a word, folded; nil when the word is its own stem because it is too
    /// long, or the stemmer's result cannot be used.
    fileprivate func stem(_ word: String) -> String? {
        guard case .stemmer(let stemmer) = rules, word.utf8.count < TextTokenizer.wordByteLimit
        else { return nil }
        var stem = stemmer.stem(word)
        if !stem.utf8.allSatisfy({ $0 < 0x80 }) {
            stem = stem.folded([.caseInsensitive, .diacriticInsensitive]).inNormalFormC
        }
        let isUsable = !stem.isEmpty && stem.utf8.count < TextTokenizer.wordByteLimit
        return isUsable && !stem.utf8.contains(0) ? stem : nil
    }
}
