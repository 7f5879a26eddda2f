import StetStore

/// Objects of one model at a moment: a part of the objects that a context captures.
///
/// They are side by side in memory, because a block for each would cost more than its values do.
///
/// Used by the code that `@Model` writes.
public class _CapturedObjects {
    /// The greatest number of objects of a part.
    @usableFromInline static var mostCount: Int { 64 }

    // Not checked at each access: nothing runs while it changes.
    @exclusivity(unchecked) @usableFromInline final var count = 0

    @usableFromInline
    init() {}

    var model: any Model.Type { trap("captured objects of no model") }

    subscript(_ index: Int) -> CapturedObject { trap("captured objects of no model") }
}

/// A captured object, for code for all models.
struct CapturedObject {
    /// The object, retained.
    let object: any Model
    /// The values, an `ObjectCapture`.
    let values: AnyObject
    let flags: _ModelState.Flags
    let revision: Revision
}

/// The captured objects of a model, which they retain.
@usableFromInline
final class CapturedObjects<M: Model>: _CapturedObjects {
    @usableFromInline
    struct Element: ~Copyable {
        /// The object, retained by hand: once, and not again whenever it is restored.
        ///
        /// Released by hand, too: code that Swift 6.3.1 optimises does not call a `deinit` of the
        /// elements of this memory.
        @usableFromInline let object: Unmanaged<M>
        @usableFromInline let values: CapturedValues<M>
        @usableFromInline let flags: _ModelState.Flags
        @usableFromInline let revision: Revision

        @inlinable
        init(_ object: M) {
            self.object = .passRetained(object)
            values = CapturedValues(object)
            (flags, revision) = object._$inState { ($0.flags, $0.revision) }
        }

        /// Restores the values and flags if the object is in a context; returns whether it has
        /// another revision.
        @inlinable
        func restore(in core: AnyObject) -> Bool {
            object._withUnsafeGuaranteedRef { object in
                guard object._$inState({ $0.isIn(core) }) else { return false }
                values.restore(object)
                object._$show(flags: flags.rawValue)
                return object._$inState { $0.revision } != revision
            }
        }
    }

    @usableFromInline let elements: UnsafeMutablePointer<Element>
    @usableFromInline let capacity: Int

    @inlinable
    init(capacity: Int) {
        self.capacity = capacity
        elements = .allocate(capacity: capacity)
        super.init()
    }

    deinit {
        for index in 0..<count { elements[index].object.release() }
        elements.deinitialize(count: count)
        elements.deallocate()
    }

    @inlinable var isFull: Bool { count == capacity }

    @inlinable
    func append(_ object: M) {
        (elements + count).initialize(to: Element(object))
        count += 1
    }

    /// Restores the objects that are in a context; calls `body` with the place of each that has
    /// another revision than the captured one, before the next is restored.
    @inlinable
    func restore(in core: AnyObject, _ body: (Int) -> Void) {
        for index in 0..<count where elements[index].restore(in: core) { body(index) }
    }

    override var model: any Model.Type { M.self }

    override subscript(_ index: Int) -> CapturedObject {
        CapturedObject(
            object: elements[index].object.takeUnretainedValue(),
            values: ObjectCapture(elements[index].values.copy()), flags: elements[index].flags,
            revision: elements[index].revision)
    }
}
