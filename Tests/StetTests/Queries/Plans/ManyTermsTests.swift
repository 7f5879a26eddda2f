import Foundation
import Stet
import StetTestSupport
import Testing

/// Conditions of many thousand terms, as programs write them for lists of wanted values.
@Suite struct ManyTermsTests {
    private let directory = TemporaryDirectory()
    private let context: ManagedContext

    init() throws {
        context = try Store.open(at: directory.file(), for: IndexedSample.self, IndexedBox.self)
            .context()
        for number in 0..<5 {
            let sample = IndexedSample()
            sample.number = number
            sample.text = "\(number)"
            context.insert(sample)
        }
        try context.save()
    }

    private func anyOf<Term>(
        _ count: Int, _ term: (Int) -> Term, _ or: (Term, Term) -> Term
    ) -> Term {
        (1..<count).reduce(term(0)) { or($0, term($1)) }
    }

    @Test func eightThousandAlternativesArePlannedByTheirIndex() throws {
        let found = context.fetch(IndexedSample.self) { sample in
            anyOf(8_000, { sample.number == $0 + 2 }, ||)
        }
        #expect(try found.count() == 3)
        #expect("\(try found.explain())".contains("number is one of 8000"))
    }

    @Test func alternativesOfSeveralPropertiesAreFound() throws {
        let found = context.fetch(IndexedSample.self) { sample in
            anyOf(8_000, { $0 % 2 == 0 ? sample.number == $0 + 4 : sample.text == "\($0)" }, ||)
        }
        #expect(try found.count() == 3)
    }

    @Test func alternativesThatAreNestedToTheRightAreFound() throws {
        let found = context.fetch(IndexedSample.self) { sample in
            anyOf(8_000, { sample.number == $0 + 2 }, { $1 || $0 })
        }
        #expect(try found.count() == 3)
    }

    @Test func eightThousandConditionsThatAreAllToHoldArePlanned() throws {
        let found = context.fetch(IndexedSample.self) { sample in
            anyOf(8_000, { sample.number >= $0 - 7_995 }, &&)
        }
        #expect(try found.count() == 1)
        #expect("\(try found.explain())".contains("number from 4"))
    }

    @Test(arguments: [999, 1_000, 1_001, 5_000])
    func listsOfManyValuesFindTheirObjectsOnly(count: Int) throws {
        let numbers = Array(3..<(3 + count))
        let texts = numbers.map { "\($0)" }
        let listed = context.fetch(IndexedSample.self) { numbers.contains($0.number) }
        #expect(try listed.count() == 2)
        #expect(try listed.ids().count == 2)
        let ofKinds = context.fetch(IndexedSample.self) {
            [.red, .green].contains($0.kind) && texts.contains($0.text)
        }
        #expect(try ofKinds.count() == 2)
        let pairs = context.fetch(IndexedSample.self) {
            [.red, .green].contains($0.kind) && texts.contains($0.text)
                && numbers.contains($0.number)
        }
        #expect(try pairs.count() == 2)
    }
}
