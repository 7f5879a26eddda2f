import Testing

@testable import StetStore

/// Strings from stored bytes, which take a short way where the bytes are ASCII.
struct StoredStringTests {
    /// Bytes of every length around the words of 8 that are looked at, with others at each place:
    /// ASCII, letters of two bytes, and what is no UTF-8.
    @Test func areThoseOfTheStandardLibrary() {
        let others: [[UInt8]] = [
            [], [0], [0x7F], [0x80], [0xC3], [0xC3, 0xA4], [0xFF], [0xC0, 0x80],
        ]
        for count in 0...33 {
            let ascii = (0..<count).map { UInt8(ascii: "a") + UInt8($0 % 26) }
            for place in 0...count {
                for bytes in others {
                    let all = Array(ascii[..<place]) + bytes + Array(ascii[place...])
                    let string = all.withUnsafeBytes { String(stored: $0) }
                    #expect(Array(string.utf8) == Array(String(decoding: all, as: UTF8.self).utf8))
                }
            }
        }
    }

    @Test func ofNoBytesIsEmpty() {
        #expect(String(stored: UnsafeRawBufferPointer(start: nil, count: 0)).isEmpty)
    }
}
