import Foundation
import StetStore

/// The contents of the golden store of records: every type, nil, references, a tombstone.
enum GoldenStore {
    static let notebook = ObjectKey(Number.notebook, 201)
    static let child = ObjectKey(Number.notebook, 202)
    static let first = ObjectKey(Number.article, 101)
    static let second = ObjectKey(Number.article, 102)
    static let tag = ObjectKey(Number.tag, 301)
    static let large = ObjectKey(Number.tag, 302)

    static let uuid = ObjectID(high: 0x0123_4567_89ab_4def, low: 0x8123_4567_89ab_cdef).uuid

    private static let full: [Value] = [
        .string("Æther \u{65}\u{301} 👩‍👩‍👧"), .int(.min), .reference(notebook.id),
        .string(""), .double(-0.0), .bool(true),
        .date(Date(timeIntervalSinceReferenceDate: 757_382_400.25)), .data(Data([0, 255, 1])),
        .uuid(uuid), .reference(first.id), .reference(tag.id),
    ]
    private static let empty: [Value] = [
        .string("nothing"), .int(0), .null, .null, .null, .null, .null, .null, .null, .null, .null,
    ]
    private static let changed: [Value] = [
        .string("Æther"), .int(.max), .null, .null, .double(.infinity), .bool(false), .null,
        .data(Data()), .null, .reference(second.id), .reference(tag.id),
    ]

    /// Longer than a chunk of the journal.
    private static let long = Data((0..<40_000).map { UInt8(truncatingIfNeeded: $0 * 7) })

    struct Step: Sendable {
        var author: String?
        var scope: String?
        var label: String?
        var time: Double
        var edits: [Edit]
    }

    /// The commits, the first at index 0.
    static let steps: [Step] = [
        Step(
            author: "lala", scope: "notes", label: "add notebook", time: 100,
            edits: [
                Edit(notebook, from: nil, to: [.string("Swift"), .null]),
                Edit(tag, from: nil, to: [.data(Data([1, 2, 3]))]),
            ]),
        Step(
            author: "po", label: "add articles", time: 200.5,
            edits: [
                Edit(first, from: nil, to: full), Edit(second, from: nil, to: empty),
                Edit(child, from: nil, to: [.string("child"), .reference(notebook.id)]),
            ]),
        Step(
            author: "lala", time: 300,
            edits: [Edit(first, from: full, to: changed, base: 2)]),
        Step(
            time: 400,
            edits: [
                Edit(child, from: [.string("child"), .reference(notebook.id)], to: nil, base: 2),
                Edit(large, from: nil, to: [.data(long)]),
            ]),
        Step(
            author: "dipsy", label: "and once more", time: 500,
            edits: [
                Edit(child, from: nil, to: [.string("again"), .null], base: 4),
                Edit(second, from: empty, to: nil, base: 2),
                Edit(first, from: changed, to: empty, base: 3),
            ]),
    ]

    /// Returns the note of a commit.
    static func note(_ index: Int) -> EditNote {
        let step = steps[index]
        return EditNote(
            author: step.author, scope: step.scope, label: step.label, time: step.time,
            token: UInt64(index) + 1, base: Revision(UInt64(index)))
    }

    /// Returns the objects that the store must show at a revision.
    static func expected(asOf revision: Int) -> [ObjectKey: Shown] {
        var objects: [ObjectKey: Shown] = [:]
        for (index, step) in steps.prefix(revision).enumerated() {
            for edit in step.edits {
                objects[edit.key] = edit.after.map { values in
                    Shown(revision: Revision(UInt64(index + 1)), cells: values.map(\.cell))
                }
            }
        }
        return objects
    }

    /// Makes a store with these contents.
    ///
    /// Store id and salts are random, everything else is the same each time.
    static func make(at path: String) throws {
        let file = try StoreFile.open(at: path, schema: .library, .small(mapByteCount: 1 << 20))
        for (index, step) in steps.enumerated() { _ = try file.commit(step.edits, note(index)) }
        file.close()
    }
}
