public import StetStore

// Violations that the application reports in addition to those of the store.

extension ManagedContext {
    /// Reports that a property of an object is not valid, so that the next save is refused: with
    /// all that is wrong, this violation among the rest.
    ///
    /// ```swift
    /// try await store.edit("assign") { context in
    ///     let article = try context.object(Article.self, id: id)!
    ///     article.rating = request.rating
    ///     if try context.object(Notebook.self, id: request.notebook) == nil {
    ///         context.report(article, \.notebook, "there is no such notebook")
    ///     }
    /// }
    /// ```
    ///
    /// For what a handler knows and a validator does not: the request. A report is part of the
    /// pending changes: a rollback, or restoring an earlier snapshot, takes it away.
    ///
    /// - Parameters:
    ///   - object: the object, saved or not.
    ///   - property: the property, as a field of the model's snapshot.
    ///   - message: what is wrong, as a sentence for people, in which "{property}" stands for the
    ///     property's name.
    ///   - code: a code of your own.
    ///   - reason: why that is wrong.
    public func report<M: Model, Value>(
        _ object: M, _ property: KeyPath<M.Snapshot, Value>, _ message: String,
        code: Violation.Code = .custom, reason: String? = nil
    ) {
        let slot = M._$description.slot(of: property)
        let value = slot.flatMap { try? object._$value(slot: $0) }
        report(
            Report(sentence: Sentence(message), code: code, reason: reason, slot: slot), object,
            value)
    }

    /// Reports that a to-many relationship of an object is not valid, so that the next save is
    /// refused: `context.report(article, \.tags, "there is no such tag")`.
    ///
    /// - Parameters:
    ///   - object: the object, saved or not.
    ///   - relationship: the relationship, as a field of queries.
    ///   - message: what is wrong, as a sentence for people, in which "{property}" stands for the
    ///     relationship's name.
    ///   - code: a code of your own.
    ///   - reason: why that is wrong.
    public func report<M: Model, Member: Model>(
        _ object: M, _ relationship: (M.Fields) -> ToManyField<Member>, _ message: String,
        code: Violation.Code = .custom, reason: String? = nil
    ) {
        let index = relationship(M.fields).relationship
        // Behind the properties, as in the order of violations of counts.
        let slot = Slot(M._$description.entity.properties.count + index)
        report(
            Violation(
                code: code, operation: object.operation, entity: M._$name, object: object.id,
                property: M._$description.relationships[index].name, slot: slot,
                ruleIndex: Violation.validatorRuleIndex, Sentence(message), reason: reason,
                messages: core.messages))
    }

    /// Reports that an object is not valid as a whole, so that the next save is refused.
    ///
    /// - Parameters:
    ///   - object: the object, saved or not.
    ///   - message: what is wrong, as a sentence for people, in which "{entity}" stands for the
    ///     model's name.
    ///   - code: a code of your own.
    ///   - reason: why that is wrong.
    public func report<M: Model>(
        _ object: M, _ message: String, code: Violation.Code = .custom, reason: String? = nil
    ) {
        report(Report(sentence: Sentence(message), code: code, reason: reason), object, nil)
    }

    /// Reports a violation that belongs to no object, so that the next save is refused: of a field
    /// of a request that could not be decoded, say.
    public func report(_ violation: Violation) {
        core.checkNotSaving("report(_:)")
        core.pending.note(violation)
    }

    private func report<M: Model>(_ report: Report, _ object: M, _ value: Value?) {
        self.report(
            report.violation(
                M._$description.entity, object.operation, object.id, report.slot, value,
                core.messages))
    }
}

extension Model {
    /// The operation of the next save on the object.
    fileprivate var operation: ChangeKind {
        isDeleted ? .delete : _$isNew ? .insert : .update
    }
}
