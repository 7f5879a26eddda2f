import Crypto
public import FoundationEssentials

/// The service that has the key by which a key file is encrypted: a file, a variable of the
/// environment, or a key management service.
///
/// A provider is asked when a key file is opened, made or moved to another provider, never while
/// values are read and written.
public protocol KeyProvider: Sendable {
    /// Encrypts a key of 32 bytes; the result has at most 1,024 bytes.
    func wrap(_ key: Data) async throws -> Data
    /// Decrypts what `wrap` has returned.
    ///
    /// It throws an error when the bytes were not encrypted by its key.
    func unwrap(_ wrapped: Data) async throws -> Data
}

/// A key of 32 bytes that this process reads from a file or from its environment.
///
/// The key is written as 64 hexadecimal digits or in Base64; a file may also consist of its 32
/// bytes. `openssl rand -hex 32` makes one.
public struct LocalKeyProvider: KeyProvider {
    private enum Source: Sendable {
        case file(String)
        case environment(String)
    }
    private let source: Source

    /// Encrypts a key by AES-GCM.
    ///
    /// - Throws: `SealingError` (`.providerFailed`) when the own key cannot be read.
    public func wrap(_ key: Data) throws -> Data {
        let box = try AES.GCM.seal(key, using: try ownKey())
        // Cannot be nil: the nonce has the usual size.
        return box.combined ?? Data()
    }

    /// Decrypts what `wrap` has returned.
    ///
    /// - Throws: `SealingError` (`.providerFailed`) when the own key cannot be read; an error for
    ///   another key.
    public func unwrap(_ wrapped: Data) throws -> Data {
        try AES.GCM.open(try AES.GCM.SealedBox(combined: wrapped), using: try ownKey())
    }

    private func ownKey() throws(SealingError) -> SymmetricKey {
        let place: String
        let contents: Data?
        switch source {
        case .file(let path):
            place = "the file \(path)"
            contents = try? Data(contentsOf: URL(filePath: path))
        case .environment(let name):
            place = "the variable \(name)"
            contents = ProcessInfo.processInfo.environment[name].map { Data($0.utf8) }
        }
        guard let contents, let key = Self.key(in: contents) else {
            throw SealingError(
                .providerFailed,
                message: "There is no key of 32 bytes in \(place).",
                advice: "Write one there as 64 hexadecimal digits or in Base64: "
                    + "'openssl rand -hex 32' makes one.")
        }
        return key
    }

    private static func key(in contents: Data) -> SymmetricKey? {
        if contents.count == KeyFile.keyByteCount { return SymmetricKey(data: contents) }
        guard
            let text = String(data: contents, encoding: .utf8)?
                .split(whereSeparator: \.isWhitespace).first.map(String.init),
            let bytes = bytes(hexadecimal: text) ?? Data(base64Encoded: text).map(Array.init),
            bytes.count == KeyFile.keyByteCount
        else { return nil }
        return SymmetricKey(data: bytes)
    }

    private static func bytes(hexadecimal text: String) -> [UInt8]? {
        guard text.utf8.count == 2 * KeyFile.keyByteCount else { return nil }
        var bytes: [UInt8] = []
        var rest = Substring(text)
        while !rest.isEmpty {
            guard let byte = UInt8(rest.prefix(2), radix: 16) else { return nil }
            bytes.append(byte)
            rest = rest.dropFirst(2)
        }
        return bytes
    }

    fileprivate init(file path: String) { source = .file(path) }
    fileprivate init(environment name: String) { source = .environment(name) }
}

extension KeyProvider where Self == LocalKeyProvider {
    /// Returns the provider that has the key in a file.
    public static func file(_ path: String) -> LocalKeyProvider { LocalKeyProvider(file: path) }

    /// Returns the provider that has the key in a variable of the environment.
    public static func environment(_ name: String) -> LocalKeyProvider {
        LocalKeyProvider(environment: name)
    }
}
