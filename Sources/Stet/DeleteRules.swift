import StetStore

extension ManagedContext {
    /// Makes the references to deleted objects nil: those of the stored reverse index and those
    /// that are pending, so that it does not matter which objects are loaded.
    ///
    /// - Throws: `StoreError`.
    func applyDeleteRules(to deleted: [any Model]) throws {
        for target in deleted {
            for (referrer, object) in try referrers(of: target.id) {
                nullify(referrer, object, target.id)
            }
        }
    }

    func nullify<M: Model>(
        _ referrer: InverseEnds.Referrer, _ object: M, _ target: ObjectID
    ) {
        guard object._$willChange() else { return }
        inverseEnds.move(referrer, from: target, to: .none)
        object._$mutateReferences(.clear(slot: referrer.slot))
    }
}
