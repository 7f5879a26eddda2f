// Partial indexes: those of only the objects that satisfy a condition.

extension EntityIndex {
    /// Returns the index of only the objects that satisfy a condition, which reads nothing but the
    /// attributes of the object itself.
    ///
    /// - Precondition: the index contains whole values.
    package func only(where condition: QueryNode) -> EntityIndex {
        trap(unless: !hasLists, "an index of words or substrings has a condition")
        return EntityIndex(parts, isUnique: isUnique, where: condition)
    }

    /// True when the index contains all objects.
    package var isWhole: Bool { condition == nil }

    /// Returns whether no two objects may have equal values of some properties together.
    package func isUnique(in slots: [Slot]) -> Bool {
        isUnique && isWhole && parts.count == slots.count
            && parts.allSatisfy { slots.contains($0.slot) }
    }

    /// The properties that the condition reads.
    package var conditionSlots: Set<Slot> {
        var slots: Set<Slot> = []
        _ = condition?.mapSlots { slot in
            slots.insert(slot)
            return slot
        }
        return slots
    }

    /// The properties on which it depends whether an object has an entry, and which.
    package var slots: Set<Slot> { conditionSlots.union(parts.map(\.slot)) }

    /// Returns the condition after a migration that moved properties; nil when one of them is gone.
    func condition(afterMoving place: (Slot) -> Slot?) -> QueryNode? {
        var isWhole = true
        let moved = condition?.mapSlots { slot in
            let moved = place(slot)
            if moved == nil { isWhole = false }
            return moved ?? slot
        }
        return isWhole ? moved : nil
    }
}

extension Schema {
    /// The reason why an index can't have its condition; nil when there is none.
    var problemOfConditions: String? {
        for numbered in indexes {
            guard let condition = numbered.index.condition else { continue }
            let entity = entities[numbered.entity]
            do throws(DecodingFailure) {
                var check = ExpressionCheck(self, numbered.entity)
                guard try check.type(of: condition) == .bool else {
                    throw DecodingFailure("it is not a condition")
                }
                if check.inputs.contains(where: { !$0.steps.isEmpty }) {
                    throw DecodingFailure("it reads another object")
                }
            } catch {
                return "the condition of an index of \(entity.name) can't be stored: \(error)"
            }
        }
        return nil
    }
}
