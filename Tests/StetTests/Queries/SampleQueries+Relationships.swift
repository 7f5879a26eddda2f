import Foundation
import Stet
import StetTestSupport

// Conditions on references, lists, members and calculations.

extension SampleQueries {
    mutating func reference() -> Condition {
        if chance(2) {
            return Condition(query: { $0.box == nil }, plain: { $0.box == nil }, text: "box == nil")
        }
        return Condition(query: { $0.box != nil }, plain: { $0.box != nil }, text: "box != nil")
    }

    mutating func box() -> Condition {
        let name = pick(["one", "two", "three", "none"])
        let rank = pick([0, 1, 2])
        switch Int.random(in: 0..<5, using: &random) {
        case 0:
            return Condition(
                query: { $0.box?.name == name }, plain: { $0.box?.name == name },
                text: "box?.name == \(name)")
        case 1:
            return Condition(
                query: { $0.box?.name != name }, plain: { $0.box?.name != name },
                text: "box?.name != \(name)")
        case 2:
            return Condition(
                query: { $0.box?.rank == nil }, plain: { $0.box?.rank == nil },
                text: "box?.rank == nil")
        case 3:
            return Condition(
                query: { $0.box?.rank == rank }, plain: { $0.box?.rank == rank },
                text: "box?.rank == \(rank)")
        default:
            return Condition(
                query: { ["one", "three"].contains($0.box?.name) },
                plain: { $0.box.map { ["one", "three"].contains($0.name) } ?? false },
                text: "box?.name in [one, three]")
        }
    }

    mutating func boxSearch() -> Condition {
        let part = pick(["o", "t", "th", "e"])
        return Condition(
            query: { $0.box?.name.contains(part) ?? !.always },
            plain: { $0.box?.name.contains(part) ?? false }, text: "box?.name contains \(part)")
    }

    mutating func list() -> Condition {
        let numbers = (0..<Int.random(in: 0..<5, using: &random)).map { _ in pick(Self.numbers) }
        let texts = (0..<Int.random(in: 0..<5, using: &random)).map { _ in pick(Self.texts) }
        let reals = (0..<Int.random(in: 0..<5, using: &random)).map { _ in pick(Self.reals) }
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
            return Condition(
                query: { numbers.contains($0.number) }, plain: { numbers.contains($0.number) },
                text: "number in \(numbers)")
        case 1:
            return Condition(
                query: { reals.contains($0.real) }, plain: { reals.contains($0.real) },
                text: "real in \(reals)")
        case 2:
            return Condition(
                query: { texts.contains($0.note) },
                plain: { $0.note.map { texts.contains($0) } ?? false },
                text: "note in \(texts.count)")
        default:
            return Condition(
                query: { texts.contains($0.text) }, plain: { texts.contains($0.text) },
                text: "text in \(texts.count)")
        }
    }

    mutating func members() -> Condition {
        let number = pick(Self.numbers)
        switch Int.random(in: 0..<8, using: &random) {
        case 4...7: return aggregate(number)
        case 0:
            return Condition(
                query: { $0.others.any { other in other.number == number } },
                plain: { $0.others.contains { $0.number == number } },
                text: "others any number == \(number)")
        case 1:
            return Condition(
                query: { sample in sample.others.all { $0.number >= sample.number } },
                plain: { sample in sample.others.allSatisfy { $0.number >= sample.number } },
                text: "others all number >= that")
        case 2:
            return Condition(
                query: { $0.others.count == 0 }, plain: { $0.others.isEmpty },
                text: "others.count == 0")
        default:
            return Condition(
                query: { $0.others.count(where: { $0.flag }) > 0 },
                plain: { $0.others.contains { $0.flag } }, text: "others count flag > 0")
        }
    }

    private mutating func aggregate(_ number: Int) -> Condition {
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
            return Condition(
                query: { $0.others.sum(\.number) > number },
                plain: { sample in
                    let sum = sample.others.reduce(Int128(0)) { $0 + Int128($1.number) }
                    return Int(exactly: sum).map { $0 > number } ?? false
                }, text: "others.sum(number) > \(number)")
        case 1:
            return Condition(
                query: { $0.others.max(\.size, where: { $0.flag }) == 3 },
                plain: { $0.others.filter(\.flag).compactMap(\.size).max() == 3 },
                text: "others.max(size) where flag == 3")
        case 2:
            return Condition(
                query: { $0.others.min(\.text) > "a" },
                plain: { $0.others.map(\.text).min().map { $0 > "a" } ?? false },
                text: "others.min(text) > a")
        default:
            return Condition(
                query: { $0.others.average(\.small) <= 0 },
                plain: { sample in
                    let sum = sample.others.reduce(0.0) { $0 + Double($1.small) }
                    return !sample.others.isEmpty && sum / Double(sample.others.count) <= 0
                }, text: "others.average(small) <= 0")
        }
    }

    mutating func arithmetic() -> Condition {
        let number = pick([-1, 0, 1, 2])
        if chance(2) {
            return Condition(
                query: { $0.number * 2 + 1 > number },
                plain: { sample in
                    let (double, overflows) = sample.number.multipliedReportingOverflow(by: 2)
                    let (sum, overflowsToo) = double.addingReportingOverflow(1)
                    return !overflows && !overflowsToo && sum > number
                }, text: "number * 2 + 1 > \(number)")
        }
        return Condition(
            query: { $0.number / number == 1 },
            plain: { sample in
                number == 0
                    ? false
                    : sample.number.dividedReportingOverflow(by: number)
                        == (partialValue: 1, overflow: false)
            }, text: "number / \(number) == 1")
    }
}
