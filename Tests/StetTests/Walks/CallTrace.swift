import CStetTrace
import Foundation

/// A trace of the library: each function once, in the order of the first calls.
///
/// Make it in a process of its own, because its breakpoints stop every thread.
struct CallTrace {
    struct Failure: Error {
        let message: String
    }

    /// The functions that the tracing thread called, as "Type.function", and those that other
    /// threads called.
    private(set) var here: [String] = []
    private(set) var elsewhere: [String] = []

    init(_ body: () throws -> Void) throws {
        let functions = try Self.functions()
        let addresses = functions.keys.sorted()
        let error = addresses.withUnsafeBufferPointer {
            stet_trace_begin($0.baseAddress, $0.count)
        }
        guard error == 0 else { throw Failure(message: "no trace: error \(error)") }
        let result = Result { try body() }
        let count = withExtendedLifetime(addresses) { stet_trace_end() }
        try result.get()
        for n in 0..<count {
            guard let name = functions[addresses[stet_trace_met(n)]] else { continue }
            if stet_trace_met_here(n) != 0 {
                if !here.contains(name) { here.append(name) }
            } else if !elsewhere.contains(name) {
                elsewhere.append(name)
            }
        }
    }

    /// The functions and initialisers of the library, by address.
    private static func functions() throws -> [UInt: String] {
        let base = stet_trace_base()
        var functions: [UInt: String] = [:]
        try forEachFunction { symbol, value in
            guard ["$s4Stet", "$s9StetStore", "$s8StetLMDB"].contains(where: symbol.hasPrefix),
                let name = name(of: symbol)
            else { return }
            functions[base + value] = name
        }
        return functions
    }

    /// Returns "Type.function" for a function; nil for accessors and compiler-generated symbols.
    private static func name(of symbol: String) -> String? {
        guard let text = demangled(symbol) else { return nil }
        let added = [
            "closure", "thunk", "witness", "default argument", "outlined", "partial", "$defer",
            " #1 ", "metadata", "conformance", "destructor", "deinit", "deallocating",
            "specialized",
            "merged", "lazy protocol",
        ]
        if added.contains(where: text.contains) { return nil }
        let pattern = /(\w+)\.(?:\((\w+) in _[0-9A-F]+\)|(\w+))[(<]/
        guard let match = text.firstMatch(of: pattern),
            let function = match.output.2 ?? match.output.3
        else { return nil }
        return "\(match.output.1).\(function)"
    }

    private static func demangled(_ symbol: String) -> String? {
        symbol.withCString { name in
            guard let text = swiftDemangle(name, strlen(name), nil, nil, 0) else { return nil }
            defer { free(text) }
            return String(cString: text)
        }
    }

    /// Calls `body` with each function of the program's symbol table.
    private static func forEachFunction(_ body: (String, UInt) -> Void) throws {
        let file = try Data(
            contentsOf: URL(fileURLWithPath: "/proc/self/exe"), options: .alwaysMapped)
        try file.withUnsafeBytes { bytes in
            func read<T: FixedWidthInteger>(_ offset: Int, _ type: T.Type) -> Int {
                Int(bytes.loadUnaligned(fromByteOffset: offset, as: type))
            }
            let start = read(0x28, UInt64.self)
            let size = read(0x3a, UInt16.self)
            let sections = (0..<read(0x3c, UInt16.self)).map { start + $0 * size }
            guard let table = sections.first(where: { read($0 + 4, UInt32.self) == 2 }) else {
                throw Failure(message: "the program has no symbol table")
            }
            let names = read(sections[read(table + 0x28, UInt32.self)] + 0x18, UInt64.self)
            let first = read(table + 0x18, UInt64.self)
            for symbol in stride(from: first, to: first + read(table + 0x20, UInt64.self), by: 24)
            where bytes[symbol + 4] & 15 == 2 && read(symbol + 6, UInt16.self) != 0 {
                let name = bytes.baseAddress! + names + read(symbol, UInt32.self)
                body(
                    String(cString: name.assumingMemoryBound(to: CChar.self)),
                    UInt(read(symbol + 8, UInt64.self)))
            }
        }
    }
}

@_silgen_name("swift_demangle")
private func swiftDemangle(
    _ name: UnsafePointer<CChar>, _ length: Int, _ buffer: UnsafeMutablePointer<CChar>?,
    _ size: UnsafeMutablePointer<Int>?, _ flags: UInt32
) -> UnsafeMutablePointer<CChar>?
