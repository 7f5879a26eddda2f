import Foundation
import StetTestSupport

@testable import Stet

/// Random edits of a bulk store, which know the objects that should exist.
struct BulkEdits {
    /// The order of the ids of new objects.
    enum Order: CaseIterable { case ascending, descending, random }

    var random: SeededGenerator
    let hasHooks: Bool
    var order = Order.ascending
    private(set) var makers: [ObjectID] = []
    private(set) var dots: [ObjectID] = []
    private var goods: [ObjectID] = []
    private var marks: [ObjectID] = []
    private var hooked: [ObjectID] = []
    private var number = 0
    private var last: UInt64 = 1 << 40

    init(seed: UInt64, hasHooks: Bool) {
        random = SeededGenerator(seed: 0xbee5_0000 + seed)
        self.hasHooks = hasHooks
    }

    private mutating func newID() -> ObjectID {
        number += 1
        last = order == .descending ? last - 1 : last + 1
        let high = order == .random ? UInt64.random(in: 1...1 << 60, using: &random) : last
        return ObjectID(high: high, low: UInt64(number))
    }

    private mutating func text() -> String {
        number += 1
        let words = ["red", "blue", "Straße", "été", "journal", "undo  stack", "x_y", "東京"]
        return "\(words.randomElement(using: &random) ?? "") \(number)"
    }

    private mutating func byteCount() -> Int {
        switch Int.random(in: 0..<40, using: &random) {
        case 0: 20_000
        case 1..<10: Int.random(in: 1...300, using: &random)
        default: 0
        }
    }

    private mutating func insertion(_ kind: Int) -> BulkEdit {
        let id = newID()
        switch kind {
        case 0:
            makers.append(id)
            return .insertMaker(id, " Maker \(number) ")
        case 1..<6:
            goods.append(id)
            return .insertGood(id, text(), "c\(number)z", blobByteCount: byteCount())
        case 6, 7:
            marks.append(id)
            return .insertMark(id, text())
        case 8, 9:
            dots.append(id)
            return .insertDot(id)
        default:
            hooked.append(id)
            return .insertHooked(id)
        }
    }

    /// Returns insertions of objects of all models.
    mutating func insertions(_ count: Int) -> [BulkEdit] {
        (0..<count).map { _ in
            insertion(Int.random(in: 0..<(hasHooks ? 12 : 10), using: &random))
        }
    }

    /// Returns insertions of dots, which nothing changes between the save and its entry.
    mutating func dotInsertions(_ count: Int) -> [BulkEdit] {
        (0..<count).map { _ in insertion(8) }
    }

    private mutating func removeOne(
        _ list: WritableKeyPath<BulkEdits, [ObjectID]>
    ) -> ObjectID? {
        let count = self[keyPath: list].count
        if count == 0 { return nil }
        let index = Int.random(in: 0..<count, using: &random)
        self[keyPath: list].swapAt(index, count - 1)
        return self[keyPath: list].removeLast()
    }

    private mutating func one(of ids: [ObjectID]) -> ObjectID {
        ids.randomElement(using: &random) ?? .none
    }

    private mutating func deletion() -> BulkEdit? {
        switch Int.random(in: 0..<12, using: &random) {
        case 0: removeOne(\.makers).map(BulkEdit.deleteMaker)
        case 1..<5: removeOne(\.goods).map(BulkEdit.deleteGood)
        case 5..<7: removeOne(\.marks).map(BulkEdit.deleteMark)
        default: removeOne(\.dots).map(BulkEdit.deleteDot)
        }
    }

    private mutating func edit() -> BulkEdit? {
        number += 1
        let place = number
        switch Int.random(in: 0..<30, using: &random) {
        case 0: return .rename(one(of: makers), "Renamed \(place)")
        case 1..<5: return .retitle(one(of: goods), text())
        case 5: return .recode(one(of: goods), "k\(place)", blobByteCount: byteCount())
        case 6..<10: return .price(one(of: goods), place)
        case 10..<12: return .refer(one(of: goods), maker: one(of: makers))
        case 12..<14: return .refer(one(of: goods), maker: nil)
        case 14, 15: return .show(one(of: makers), one(of: goods), place: place)
        case 16..<20: return .mark(one(of: goods), one(of: marks))
        case 20: return .unmark(one(of: goods), one(of: marks))
        case 21, 22: return .relate(one(of: goods), one(of: goods), place: place)
        case 23, 24: return .moveDot(one(of: dots), place)
        case 25: return hasHooks ? .hook(one(of: hooked), text()) : nil
        case 26: return .editAndTakeBack(one(of: goods))
        default: return deletion()
        }
    }

    /// Returns edits of the objects that should exist.
    mutating func edits(_ count: Int) -> [BulkEdit] {
        var edits: [BulkEdit] = []
        for _ in 0..<count { if let edit = edit() { edits.append(edit) } }
        return edits
    }

    /// Returns one of some elements.
    mutating func choice<Element>(of elements: [Element]) -> Element? {
        elements.randomElement(using: &random)
    }
}
