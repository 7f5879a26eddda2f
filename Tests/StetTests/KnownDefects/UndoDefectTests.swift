import Foundation
import Stet
import StetTestSupport
import Testing

/// Defects of undo that attacks have found, each in the program that showed it.
@MainActor struct UndoDefectTests {
    private typealias Part = Crates.Part

    private let scene: CrateScene

    /// Shelf a has parts 1, 2 and 3.
    init() throws {
        scene = try CrateScene()
        scene.mine.a.shelf.append(scene.mine.parts[1])
        scene.mine.a.shelf.append(scene.mine.parts[2])
        try scene.mine.context.save()
    }

    private func edit(_ author: String, _ body: (CrateScene.View) throws -> Void) throws {
        let view = try CrateScene.View(scene.store.context(author: author))
        try body(view)
        #expect(try view.context.save() != nil)
    }

    @Test("Undo 3 a move in one list does not reorder another when it is undone")
    func aMoveInOneListDoesNotReorderAnother() throws {
        try edit("C") { view in
            for name in ["p", "q"] {
                let part = Part(name: name)
                view.context.insert(part)
                view.b.shelf.append(part)
            }
        }
        try edit("A") { $0.a.shelf.move(from: 0, to: 2) }
        try edit("B") { $0.b.shelf.append($0.parts[0]) }
        try scene.store.undo(author: "A")
        let stored = try scene.stored()
        #expect(stored.b.shelf.names == ["p", "q", "1"])
        #expect(stored.a.shelf.names == ["2", "3"])
    }

    @Test("Undo 4 an inserted object that is kept keeps its place")
    func anObjectThatIsKeptKeepsItsPlace() throws {
        try edit("A") { view in
            let part = Part(name: "0")
            view.context.insert(part)
            view.a.shelf.insert(part, at: 0)
        }
        try edit("B") { $0.parts[0].number = 3 }
        try scene.store.undo(author: "A", policy: .skip)
        #expect(try scene.stored().a.shelf.names == ["0", "1", "2", "3"])
        try edit("B") { view in
            let part = Part(name: "9")
            view.context.insert(part)
            view.a.shelf.append(part)
        }
        #expect(try scene.stored().a.shelf.names == ["0", "1", "2", "3", "9"])
    }

    @Test("Undo 5 a moved member that is gone is no obstacle")
    func aMovedMemberThatIsGoneIsNoObstacle() throws {
        for takesOut in [false, true] {
            try edit("A") { view in
                view.a.shelf.move(from: 2, to: 0)
                view.parts[0].number = 7
            }
            try edit("B") { view in
                let last = try #require(view.a.shelf.first)
                if takesOut { last.shelf = nil } else { view.context.delete(last) }
            }
            try scene.store.undo(author: "A")
            #expect(try scene.stored().parts[0].number == 0)
            try edit("B") { view in
                for name in ["3", "4"] where view.a.shelf.count < 3 {
                    let part = Part(name: name)
                    view.context.insert(part)
                    view.a.shelf.append(part)
                }
            }
        }
    }

    @Test("Undo 6 an object's own place does not refer to it")
    func anObjectsOwnPlaceDoesNotReferToIt() throws {
        try edit("A") { view in
            let part = Part(name: "0")
            view.context.insert(part)
            view.a.shelf.append(part)
        }
        try edit("B") { $0.parts[0].shelf = nil }
        try edit("B") { $0.parts[0].shelf = $0.a }
        #expect(try scene.store.undo(author: "A") != nil)
        #expect(try scene.stored().parts.names == ["1", "2", "3"])
    }
}
