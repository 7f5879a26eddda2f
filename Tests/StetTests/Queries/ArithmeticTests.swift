import Foundation
import Stet
import StetTestSupport
import Testing

/// Calculations of queries: where Swift traps they have no value, and nothing is found.
@Suite struct ArithmeticTests {
    private let directory = TemporaryDirectory()
    private let context: ManagedContext

    init() throws {
        context = try Store.open(at: directory.file(), for: PlainSample.self, PlainBox.self)
            .context()
    }

    private func insert(_ edit: (PlainSample) -> Void) {
        let sample = PlainSample()
        edit(sample)
        context.insert(sample)
    }

    private func count(
        _ condition: (PlainSample.Fields) -> QueryExpression<Bool>
    ) throws -> Int {
        try context.fetch(PlainSample.self, where: condition).count()
    }

    // MARK: Decimals

    @Test(arguments: ["1e100", "-1e100", "1e-100", "12345e90", "7e127", "7e-128"])
    func aProductThatDoesNotFitADecimalIsNoValue(_ text: String) throws {
        let price = try #require(Decimal(string: text))
        insert { $0.price = price }
        try context.save()
        #expect(try count { $0.price * $0.price > 0 } == 0)
        #expect(try count { $0.price * $0.price <= 0 } == 0)
        #expect(try context.fetch(PlainSample.self).max { $0.price * $0.price } == nil)
    }

    @Test(arguments: [
        ("1e60", "1e60"), ("1e-60", "1e-60"), ("1e127", "0"), ("0", "1e-127"), ("1e127", "1e-127"),
        ("340282366920938463463374607431768211455", "340282366920938463463374607431768211455"),
    ])
    func aProductThatFitsIsThatOfSwift(_ one: String, _ other: String) throws {
        let left = try #require(Decimal(string: one))
        let right = try #require(Decimal(string: other))
        insert { $0.price = left }
        #expect(try context.fetch(PlainSample.self).max { $0.price * right } == left * right)
    }

    @Test func otherCalculationsOfDecimalsThatDoNotFitAreNoValueEither() throws {
        let greatest = Decimal.greatestFiniteMagnitude
        insert { $0.price = greatest }
        #expect(try context.fetch(PlainSample.self).max { $0.price + $0.price } == nil)
        #expect(try context.fetch(PlainSample.self).max { -greatest - $0.price } == nil)
        #expect(try count { $0.price / Decimal(string: "1e-127")! > 0 } == 0)
        #expect(try count { ($0.price + $0.price) == Decimal.nan } == 0)
    }

    @Test func aSumOfDecimalsThatDoesNotFitIsAnError() throws {
        insert { $0.price = Decimal.greatestFiniteMagnitude }
        insert { $0.price = Decimal.greatestFiniteMagnitude }
        let error = #expect(throws: QueryError.self) {
            try context.fetch(PlainSample.self).sum(\.price)
        }
        #expect(error?.code == .overflow)
    }

    // MARK: Narrow integers

    @Test func narrowIntegersOverflowAtTheirWidth() throws {
        for number in Int8.min...Int8.max { insert { $0.small = number } }
        try context.save()
        func expect(
            _ query: (PlainSample.Fields) -> QueryExpression<Int8>,
            _ plain: (Int8) -> (partialValue: Int8, overflow: Bool), _ line: Int = #line
        ) throws {
            let results = (Int8.min...Int8.max).compactMap { number in
                let (value, overflows) = plain(number)
                return overflows ? nil : value
            }
            let all: Fetch<PlainSample> = context.fetch(PlainSample.self)
            let found = try all.distinct { query($0) as QueryExpression<Int8>? }
            #expect(found.compactMap(\.self) == Set(results).sorted(), "line \(line)")
            #expect(try count { query($0) > -128 } == results.count { $0 > -128 }, "line \(line)")
            #expect(try count { query($0) <= 5 } == results.count { $0 <= 5 }, "line \(line)")
        }
        try expect({ $0.small + 1 }, { $0.addingReportingOverflow(1) })
        try expect({ $0.small + 100 }, { $0.addingReportingOverflow(100) })
        try expect(
            { 100 + $0.small + 27 },
            { number in
                let (sum, overflows) = number.addingReportingOverflow(100)
                return overflows ? (0, true) : sum.addingReportingOverflow(27)
            })
        try expect({ $0.small - 1 }, { $0.subtractingReportingOverflow(1) })
        try expect({ $0.small * 2 }, { $0.multipliedReportingOverflow(by: 2) })
        try expect({ $0.small * $0.small }, { $0.multipliedReportingOverflow(by: $0) })
        try expect({ $0.small / -1 }, { $0.dividedReportingOverflow(by: -1) })
        try expect({ $0.small % -1 }, { $0.remainderReportingOverflow(dividingBy: -1) })
        let zero: Int8 = 0
        try expect({ $0.small / zero }, { $0.dividedReportingOverflow(by: zero) })
    }
}
