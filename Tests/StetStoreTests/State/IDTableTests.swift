import StetTestSupport
import Testing

@testable import StetStore

struct IDTableTests {
    private final class Token {
        let number: Int
        init(_ number: Int) { self.number = number }
    }

    @Test func holdsWhatADictionaryHolds() {
        var random = SeededGenerator(seed: 5)
        var table = IDTable<Int>()
        var expected: [ObjectID: Int] = [:]
        #expect(table[ObjectID()] == nil)
        let ids = (0..<3_000).map { (number: Int) -> ObjectID in
            // Few different words, so that ids are alike.
            let low = UInt64(number / 7) << UInt64(number % 3 * 20)
            return ObjectID(high: UInt64(number % 7), low: low | 1)
        }
        for step in 0..<20_000 {
            let id = ids.randomElement(using: &random)!
            #expect(table[id] == expected[id])
            if Bool.random(using: &random) {
                table.set(step, of: id)
                expected[id] = step
            }
            #expect(table[id] == expected[id])
        }
        #expect(table.count == expected.count)
        #expect(expected.count > 2_000)
        for id in ids { #expect(table[id] == expected[id]) }
        #expect(table[ObjectID()] == nil)
    }

    @Test func frees() {
        weak var first: Token?
        weak var last: Token?
        do {
            var table = IDTable<Token>()
            let replaced = ObjectID()
            for number in 0..<100 {
                let token = Token(number)
                table.set(token, of: number == 99 ? replaced : ObjectID())
                if number == 0 { first = token }
                if number == 99 { last = token }
            }
            #expect(first?.number == 0)
            table.set(Token(100), of: replaced)
            #expect(last == nil)
            #expect(table[replaced]?.number == 100)
            #expect(table.count == 100)
        }
        #expect(first == nil)
    }

    @Test func hasNoElementOfNoObject() {
        var table = IDTable<Int>()
        table.set(1, of: .none)
        #expect(table.count == 0)
        #expect(table[.none] == nil)
        table.set(2, of: ObjectID())
        #expect(table[.none] == nil)
    }
}
