import Glibc

/// The error of a sealed value that cannot be opened or sealed, or of a key file: what failed, and
/// what to do.
///
/// Nothing is lost by it: the sealed bytes stay as they are, and a save that throws it writes
/// nothing.
public struct SealingError: Error, Hashable, Sendable {
    /// The kind of an error.
    ///
    /// Later versions may add codes; compare with the codes that you handle.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name of the code.
        public let rawValue: String

        /// Creates a code with a name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The name of the code.
        public var description: String { rawValue }

        /// The key was destroyed: nobody can read the value any more.
        public static let erased = Code(rawValue: "erased")
        /// The key file by which the value was sealed is not open in this process.
        public static let keyFileNotOpen = Code(rawValue: "keyFileNotOpen")
        /// The key file has no key of the owner, or not the version of it by which the value was
        /// sealed: it is older than the store, another copy, or damaged.
        public static let keyMissing = Code(rawValue: "keyMissing")
        /// The key of the provider is not the one by which the key file was made.
        public static let wrongKey = Code(rawValue: "wrongKey")
        /// The key provider could not be used.
        public static let providerFailed = Code(rawValue: "providerFailed")
        /// The sealed bytes were changed or cut off.
        public static let damaged = Code(rawValue: "damaged")
        /// The sealed bytes belong to another object or to another property.
        public static let misplaced = Code(rawValue: "misplaced")
        /// The value was sealed as one of another type.
        public static let wrongType = Code(rawValue: "wrongType")
        /// The value was never saved, and the process that made it has ended.
        public static let neverSaved = Code(rawValue: "neverSaved")
        /// The key file is none, is damaged, or is of a later format.
        public static let notAKeyFile = Code(rawValue: "notAKeyFile")
        /// The key file could not be read or written.
        public static let inputOutput = Code(rawValue: "inputOutput")
    }

    /// The kind of the error.
    public let code: Code
    /// A sentence that says what failed.
    public let message: String
    /// A sentence that says what to do about it.
    public let advice: String

    package init(_ code: Code, message: String, advice: String) {
        self.code = code
        self.message = message
        self.advice = advice
    }
}

extension SealingError: CustomStringConvertible {
    /// The message and the advice.
    public var description: String { "\(message) \(advice)" }
}

extension SealingError {
    static func erased(_ owner: ObjectID) -> SealingError {
        SealingError(
            .erased, message: "The key of object \(owner) was destroyed.",
            advice: "The values sealed by it can't be read any more, in copies of the store either."
        )
    }

    static func keyMissing(_ owner: ObjectID) -> SealingError {
        SealingError(
            .keyMissing, message: "The key file has no key of object \(owner).",
            advice: "It is older than the store, another one, or damaged: restore a later copy of"
                + " the key file.")
    }

    static func versionMissing(_ owner: ObjectID) -> SealingError {
        SealingError(
            .keyMissing,
            message: "The key file lacks the version of the key of object \(owner) by which the"
                + " value was sealed.",
            advice: "Another copy of the key file has made it: open the store with that copy.")
    }

    static let keyFileNotOpen = SealingError(
        .keyFileNotOpen, message: "The key file by which the value was sealed is not open.",
        advice: "Open it with KeyFile.open(at:provider:), and keep it while values are read.")

    package static let noKeyFile = SealingError(
        .keyFileNotOpen, message: "The store has no key file by which values can be sealed.",
        advice: "Open one with KeyFile.open(at:provider:), and set Store.Configuration.keys.")

    static let damaged = SealingError(
        .damaged, message: "The sealed value does not match its seal.",
        advice: "Its bytes were changed: 'stet verify' checks the store; restore a backup.")

    package static let misplaced = SealingError(
        .misplaced, message: "The sealed value belongs to another object or property.",
        advice: "Its bytes were copied into this record: 'stet verify' checks the store. After a "
            + "property is renamed, keep its 'originalName'.")

    package static let wrongType = SealingError(
        .wrongType, message: "The value was sealed as one of another type.",
        advice: "Give the property the type that it had when the value was saved.")

    static let neverSaved = SealingError(
        .neverSaved, message: "The value was never saved, and was made by another process.",
        advice: "Save a value before you send it to another process.")

    static let neverSealed = SealingError(
        .neverSaved, message: "The attribute has no value yet.",
        advice: "A migration has added it: its code gives each object a value.")

    static func providerFailed(_ error: any Error) -> SealingError {
        SealingError(
            .providerFailed, message: "The key provider failed: \(error).",
            advice: "Nothing was changed: try again when it can be reached.")
    }

    static func wrongKey(_ path: String) -> SealingError {
        SealingError(
            .wrongKey, message: "The key of the provider does not open the key file \(path).",
            advice: "Use the key by which it was made, or to which it was moved last.")
    }

    static func notAKeyFile(_ path: String, _ reason: String) -> SealingError {
        SealingError(
            .notAKeyFile, message: "\(path) can't be used as a key file: \(reason).",
            advice: "Check the path; if the file is damaged, restore a copy of it.")
    }

    static func inputOutput(_ path: String, _ operation: String, _ number: Int32) -> SealingError {
        SealingError(
            .inputOutput,
            message: "The key file \(path) could not be \(operation): "
                + "\(String(cString: strerror(number))).",
            advice: "Nothing was changed: check the directory, its permissions and the disk.")
    }
}
