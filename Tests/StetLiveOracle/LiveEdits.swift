import Foundation
import Stet
import StetStore
import StetTestSupport

/// Makes random commits: edits of two contexts, undos, redos, reverts, redactions and trims.
struct LiveEdits {
    private let store: Store
    private let contexts: [ManagedContext]
    private var random: SeededGenerator
    /// True once commits have been trimmed.
    private(set) var hasTrimmed = false

    init(_ store: Store, _ random: SeededGenerator) throws {
        self.store = store
        self.random = random
        contexts = ["a", "b"].map { store.context(author: $0) }
        let context = contexts[0]
        let boxes = LiveNodes.names.prefix(3).map { LiveBox(name: $0) }
        for box in boxes { context.insert(box) }
        for name in ["x", "y"] { context.insert(LiveTag(name: name)) }
        boxes[1].parent = boxes[0]
        try context.save()
        for _ in 0..<pick([3, 8, 20]) {
            let sample = LiveSample()
            context.insert(sample)
            try fill(sample, context)
        }
        try context.save()
    }

    private mutating func pick<T>(_ values: [T]) -> T { values.randomElement(using: &random)! }
    private mutating func chance(_ part: Int) -> Bool {
        Int.random(in: 0..<part, using: &random) == 0
    }

    // MARK: Steps

    mutating func step() throws {
        let author = pick(["a", "b"])
        switch Int.random(in: 0..<24, using: &random) {
        case 0, 1: _ = try? store.undo(author: author, policy: .skip)
        case 2: _ = try? store.redo(author: author, policy: .skip)
        case 3:
            let first = try store.floor().number + 1
            let last = try store.revision().number
            let revision = Revision(UInt64.random(in: min(first, last)...last, using: &random))
            _ = try? store.revert(revision, author: author, policy: .skip)
        case 4:
            guard let id = try store.fetch(LiveSample.self).ids().randomElement(using: &random)
            else { return }
            // Refused if current values are among those to be redacted.
            _ = try? store.requestRedaction(of: LiveSample.self, id: id, \.note, \.text).confirm()
        case 5 where chance(3):
            let last = try store.revision().number
            let floor = Revision(UInt64.random(in: max(last, 4) - 3...last, using: &random))
            try store.requestTrim(before: floor).confirm()
            // The ring may still contain commits that were trimmed from the journal.
            if chance(2) { store.file.feed.forgetRing() }
            hasTrimmed = true
        case 6: store.file.feed.forgetRing()
        default: try edit()
        }
    }

    private mutating func edit() throws {
        let context = pick(contexts)
        try context.refresh()
        for _ in 0..<pick([1, 1, 2, 5]) { try edit(context) }
        // No edit here breaks a rule, so the save succeeds.
        try context.save()
    }

    /// Edits a context without saving.
    mutating func edit(_ context: ManagedContext) throws {
        let samples = try context.fetch(LiveSample.self).all().filter { !$0.isDeleted }
        guard let sample = samples.randomElement(using: &random), samples.count > 2 else {
            return try insert(context)
        }
        let boxes = try context.fetch(LiveBox.self).all().filter { !$0.isDeleted }
        let box = boxes.randomElement(using: &random)
        switch Int.random(in: 0..<18, using: &random) {
        case 0 where samples.count < 40, 1 where samples.count < 40: try insert(context)
        case 2: context.delete(sample)
        case 3: try fill(sample, context)
        case 4: sample.box = chance(3) ? nil : box
        case 5:
            sample.shelf = box
            if let shelf = box?.shelf, shelf.count > 1, chance(2) {
                shelf.move(from: shelf.count - 1, to: 0)
            }
        case 6: sample.next = chance(3) ? nil : samples.randomElement(using: &random)
        case 7:
            guard let tag = try context.fetch(LiveTag.self).all().randomElement(using: &random)
            else { return }
            if sample.tags.contains(tag) {
                sample.tags.remove(tag)
            } else {
                sample.tags.append(tag)
            }
        case 8:
            guard let other = samples.randomElement(using: &random) else { return }
            if sample.others.contains(other) {
                sample.others.remove(other)
            } else {
                sample.others.append(other)
            }
        case 9: box?.name = pick(LiveNodes.names)
        case 10: box?.rank = chance(3) ? nil : pick(LiveNodes.numbers)
        case 11: try context.fetch(LiveTag.self).first()?.name = pick(LiveNodes.names)
        case 12 where boxes.count > 2 && chance(4): if let box { context.delete(box) }
        case 12:
            context.insert(LiveBox(name: pick(LiveNodes.names)))
            box?.parent = boxes.randomElement(using: &random)
        case 13: editParts(of: sample)
        default: editValue(of: sample)
        }
    }

    private mutating func editValue(of sample: LiveSample) {
        switch Int.random(in: 0..<6, using: &random) {
        case 4: sample.main.note = chance(3) ? nil : pick(LiveNodes.names)
        case 5: editSpare(of: sample)
        case 0: sample.number = pick(LiveNodes.numbers)
        case 1: sample.hits += pick([-1, 1, 2])
        case 2: sample.note = chance(3) ? nil : pick(LiveNodes.texts)
        default: sample.text = pick(LiveNodes.texts)
        }
    }

    private mutating func editSpare(of sample: LiveSample) {
        if sample.spare == nil || chance(3) {
            sample.spare = parts().first
        } else {
            sample.spare?.size = pick(LiveNodes.numbers)
        }
    }

    private mutating func editParts(of sample: LiveSample) {
        if !sample.parts.isEmpty, chance(2) {
            sample.parts[0].size = pick(LiveNodes.numbers)
        } else {
            sample.parts = parts()
        }
    }

    private mutating func parts() -> [LivePart] {
        (0..<pick([0, 1, 2, 3])).map { _ in
            LivePart(
                size: pick(LiveNodes.numbers), note: chance(3) ? nil : pick(LiveNodes.names))
        }
    }

    private mutating func insert(_ context: ManagedContext) throws {
        let sample = LiveSample()
        context.insert(sample)
        try fill(sample, context)
    }

    private mutating func fill(_ sample: LiveSample, _ context: ManagedContext) throws {
        sample.number = pick(LiveNodes.numbers)
        sample.small = pick(LiveNodes.smalls)
        sample.whole = pick(LiveNodes.wholes)
        sample.real = pick(LiveNodes.reals)
        sample.size = chance(3) ? nil : pick(LiveNodes.numbers)
        sample.text = pick(LiveNodes.texts)
        sample.note = chance(3) ? nil : pick(LiveNodes.texts)
        sample.date = pick(LiveNodes.dates)
        sample.flag = chance(2)
        sample.price = pick(LiveNodes.prices)
        sample.parts = parts()
        sample.main.size = pick(LiveNodes.numbers)
        sample.spare = parts().first
        if chance(2) {
            sample.box = try context.fetch(LiveBox.self).all().randomElement(using: &random)
        }
    }
}
