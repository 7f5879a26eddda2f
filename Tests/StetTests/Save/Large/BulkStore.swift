import Foundation
import StetTestSupport

@testable import Stet

/// One edit of the objects of a bulk store; objects that do not exist any more are left out.
enum BulkEdit {
    case insertMaker(ObjectID, String)
    case insertGood(ObjectID, String, String, blobByteCount: Int)
    case insertMark(ObjectID, String)
    case insertDot(ObjectID)
    case insertHooked(ObjectID)
    case rename(ObjectID, String)
    case retitle(ObjectID, String)
    case recode(ObjectID, String, blobByteCount: Int)
    case price(ObjectID, Int)
    case refer(ObjectID, maker: ObjectID?)
    case show(ObjectID, ObjectID, place: Int)
    case mark(ObjectID, ObjectID)
    case unmark(ObjectID, ObjectID)
    case relate(ObjectID, ObjectID, place: Int)
    case moveDot(ObjectID, Int)
    case hook(ObjectID, String)
    case editAndTakeBack(ObjectID)
    case deleteMaker(ObjectID), deleteGood(ObjectID), deleteMark(ObjectID), deleteDot(ObjectID)

    /// The deletions come last, and those that cascade after the others: in small saves they have
    /// the same effect then.
    var turn: Int {
        switch self {
        case .deleteGood, .deleteMark, .deleteDot: 1
        case .deleteMaker: 2
        default: 0
        }
    }
}

/// A store of the bulk models, with a context.
struct BulkStore {
    let directory = TemporaryDirectory()
    let types: [any Model.Type]
    var store: Store
    var context: ManagedContext

    init(_ types: [any Model.Type]) throws {
        var configuration = Store.Configuration()
        configuration.clock = { Date(timeIntervalSinceReferenceDate: 5_000) }
        self.types = types
        store = try Store.open(at: directory.file(), for: types, configuration: configuration)
        context = store.context(author: "me")
        context.mergePolicy = .mergeContextWins
    }

    func apply(_ edit: BulkEdit) throws {
        switch edit {
        case .insertMaker(let id, let name): insert(Bulk.Maker(name), id)
        case .insertGood(let id, let title, let code, let byteCount):
            let good = Bulk.Good(title, code)
            good.blob = Self.blob(byteCount)
            insert(good, id)
        case .insertMark(let id, let text): insert(Bulk.Mark(text), id)
        case .insertDot(let id): insert(Bulk.Dot(), id)
        case .insertHooked(let id): insert(Bulk.Hooked(), id)
        case .rename(let id, let name): try context.object(Bulk.Maker.self, id: id)?.name = name
        case .moveDot(let id, let x): try context.object(Bulk.Dot.self, id: id)?.x = x
        case .hook(let id, let text): try context.object(Bulk.Hooked.self, id: id)?.text = text
        case .deleteMaker(let id): try delete(Bulk.Maker.self, id)
        case .deleteGood(let id): try delete(Bulk.Good.self, id)
        case .deleteMark(let id): try delete(Bulk.Mark.self, id)
        case .deleteDot(let id): try delete(Bulk.Dot.self, id)
        case .retitle(let id, _), .recode(let id, _, _), .price(let id, _), .refer(let id, _),
            .show(_, let id, _), .mark(let id, _), .unmark(let id, _), .relate(let id, _, _),
            .editAndTakeBack(let id):
            if let good = try context.object(Bulk.Good.self, id: id) { try apply(edit, to: good) }
        }
    }

    private func apply(_ edit: BulkEdit, to good: Bulk.Good) throws {
        switch edit {
        case .retitle(_, let title): good.title = title
        case .recode(_, let code, let byteCount):
            good.code = code
            good.blob = Self.blob(byteCount)
        case .price(_, let price): good.price = price
        case .refer(_, let maker):
            good.maker = try maker.flatMap { try context.object(Bulk.Maker.self, id: $0) }
        case .show(let id, _, let place):
            guard let maker = try context.object(Bulk.Maker.self, id: id),
                good.showcase !== maker
            else { return }
            maker.shown.insert(good, at: place % (maker.shown.count + 1))
        case .mark(_, let id):
            if let mark = try context.object(Bulk.Mark.self, id: id) { good.marks.append(mark) }
        case .unmark(_, let id): try context.object(Bulk.Mark.self, id: id)?.goods.remove(good)
        case .relate(_, let id, let place):
            guard let other = try context.object(Bulk.Good.self, id: id),
                !good.related.contains(other)
            else { return }
            good.related.insert(other, at: place % (good.related.count + 1))
        case .editAndTakeBack:
            let title = good.title
            good.title = title + "x"
            good.title = title
        default: break
        }
    }

    private static func blob(_ byteCount: Int) -> Data? {
        byteCount == 0 ? nil : Data(repeating: UInt8(byteCount % 256), count: byteCount)
    }

    private func insert(_ object: some Model, _ id: ObjectID) {
        object._$state.id = id
        context.insert(object)
    }

    private func delete<M: Deletable>(_ type: M.Type, _ id: ObjectID) throws {
        if let object = try context.object(M.self, id: id) { context.delete(object) }
    }

    /// Every value and every list of members, as one line for each object.
    func lines(in context: ManagedContext? = nil) throws -> [String] {
        let context = context ?? store.context()
        var lines = try context.fetch(Bulk.Maker.self).all().map { maker in
            "\(maker.id) \(maker.name) \(maker.rank) \(maker.goods.map { $0.id }.sorted()) "
                + "\(maker.shown.map { $0.id })"
        }
        lines += try context.fetch(Bulk.Good.self).all().map { good in
            "\(good.id) \(good.title) \(good.code) \(good.made) \(good.price) "
                + "\(good.blob?.count ?? 0) \(good.blob?.first ?? 0) \(good.full) "
                + "\(good.maker.map { "\($0.id)" } ?? "") \(good.makerName ?? "") \(good.since) "
                + "\(good.marks.map { $0.id }.sorted()) \(good.related.map { $0.id })"
        }
        lines += try context.fetch(Bulk.Mark.self).all().map { mark in
            "\(mark.id) \(mark.text) \(mark.goods.map { $0.id }.sorted())"
        }
        lines += try context.fetch(Bulk.Dot.self).all().map { "\($0.id) \($0.x) \($0.y)" }
        if types.contains(where: { $0 == Bulk.Hooked.self }) {
            lines += try context.fetch(Bulk.Hooked.self).all()
                .map { "\($0.id) \($0.text) \($0.count)" }
        }
        return lines.sorted()
    }
}
