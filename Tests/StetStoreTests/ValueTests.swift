import Foundation
import StetStore
import Testing

struct ValueTests {
    private static let uuid = ObjectID(high: 0x0123_4567_89ab_cdef, low: 0xfedc_ba98_7654_3210).uuid

    private static let all: [(Value, ValueType?, String)] = [
        (.null, nil, "nil"), (.bool(true), .bool, "true"), (.bool(false), .bool, "false"),
        (.int(-42), .int, "-42"), (.int(.min), .int, "-9223372036854775808"),
        (.double(1.5), .double, "1.5"), (.double(.nan), .double, "nan"),
        (.date(Date(timeIntervalSinceReferenceDate: 0)), .date, "2001-01-01T00:00:00Z"),
        (.string("Ä \"x\""), .string, "\"Ä \"x\"\""), (.string(""), .string, "\"\""),
        (.data(Data([1, 2, 3])), .data, "3 bytes"), (.data(Data()), .data, "0 bytes"),
        (.uuid(uuid), .uuid, "01234567-89ab-cdef-fedc-ba9876543210"),
        (.reference(.fixed(1)), .reference, "01900000-0000-7000-8000-000000000001"),
    ]

    @Test func eachValueKnowsItsTypeAndDescribesItself() {
        for (value, type, description) in Self.all {
            #expect(value.type == type, "\(value)")
            #expect(value.description == description)
        }
        #expect(Set(Self.all.compactMap(\.1)) == Set(ValueType.allCases))
    }

    @Test func theNumbersOfTypesOnDiskNeverChange() {
        #expect(ValueType.allCases.map(\.rawValue) == [1, 2, 3, 4, 5, 6, 7, 8])
        #expect(
            ValueType.allCases == [.bool, .int, .double, .date, .string, .data, .uuid, .reference])
        #expect(ValueType.allCases.filter(\.isInline) == [.bool, .int, .double, .date])
        #expect(ValueType.allCases.filter(\.isSixteenBytes) == [.uuid, .reference])
    }

    @Test func codableBringsEachValueBack() throws {
        let values = Self.all.map(\.0).filter { $0.description != "nan" }
        let json = try JSONEncoder().encode(values)
        #expect(try JSONDecoder().decode([Value].self, from: json) == values)
    }

    @Test func inlineWordsBringTheBitsOfInlineValuesBack() {
        let doubles = [
            0, -0.0, 1.5, .nan, .signalingNaN, .infinity, -.infinity, .leastNormalMagnitude,
        ]
        var values: [Value] = [.bool(true), .bool(false), .int(.max), .int(.min), .int(-1)]
        values += doubles.map(Value.double)
        values += doubles.map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
        for value in values {
            let word = value.inlineWord
            #expect(
                word == value.cell.flatMap { if case .word(let word) = $0 { word } else { nil } })
            let back = Value(inlineWord: word ?? 0, type: value.type ?? .int)
            #expect(back.cell == value.cell, "\(value)")
        }
        for value in [Value.null, .string("a"), .data(Data([1])), .uuid(Self.uuid)] {
            #expect(value.inlineWord == nil)
        }
    }

    @Test(arguments: [0, 1e12, -1e12, 1e18, -1e300, .infinity, -.infinity, .nan])
    func datesBeyondTheCalendarHaveADescription(seconds: Double) {
        #expect(!Value.date(Date(timeIntervalSinceReferenceDate: seconds)).description.isEmpty)
    }

    @Test func aCellOfAnotherTypeIsRefused() {
        for type in ValueType.allCases {
            let isRefused: Bool
            if type.isInline {
                isRefused = [UInt8](repeating: 0, count: 16).withUnsafeBytes { bytes in
                    thrown(DecodingFailure.self) { try Value(.bytes(bytes), type: type) } != nil
                }
            } else {
                isRefused = thrown(DecodingFailure.self) { try Value(.word(1), type: type) } != nil
            }
            #expect(isRefused, "\(type)")
        }
    }

    @Test func revisionsAreOrderedCodedAndCounted() throws {
        #expect(Revision.zero < 1 && Revision(1) < Revision(.max))
        #expect(Revision(7).next == 8 && Revision(7).previous == 6)
        #expect(Revision.zero.previous == nil)
        #expect("\(Revision(12))" == "12")
        let json = try JSONEncoder().encode([Revision(3), Revision(.max)])
        #expect(String(decoding: json, as: UTF8.self) == "[3,18446744073709551615]")
        #expect(try JSONDecoder().decode([Revision].self, from: json) == [3, Revision(.max)])
    }

    @Test func objectChangesSayWhatChanged() throws {
        let properties = [PropertyChange(name: "mark", old: .int(1), new: .int(2))]
        var change = ObjectChange(
            entity: "Tag", id: .fixed(1), kind: .update, properties: properties)
        #expect(change.description == "update Tag (mark: 1 → 2)")
        #expect(change["mark"] == properties[0] && change["other"] == nil)
        change.kind = .insert
        #expect(change.description == "insert Tag (mark: 2)")
        change.kind = .delete
        #expect(change.description == "delete Tag (mark: 1)")
        let set = ChangeSet(changes: [change])
        #expect(ChangeSet().isEmpty && !set.isEmpty)
        #expect(set.changes(of: .delete) == [change] && set.changes(of: .insert) == [])
        let json = try JSONEncoder().encode(set)
        #expect(try JSONDecoder().decode(ChangeSet.self, from: json) == set)
    }
}
