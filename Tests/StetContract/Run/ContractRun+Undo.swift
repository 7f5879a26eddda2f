import Stet
import StetStore

extension ContractRun {
    /// Reverses a commit or a group, and compares the written commit with the three-way rule.
    func takeBack(
        _ what: TakingBack, _ answer: Answer, _ failure: Failure?, author index: Int
    ) throws {
        let author = "author \(index)"
        let subjects = subjects(of: what, author: index)
        time += 1
        let policy: UndoPolicy =
            switch answer {
            case .fail: .fail
            case .skip: .skip
            case .overwrite: .overwrite
            }
        guard let last = subjects.first, last > 0 else {
            if case .revert = what { return }
            let commit = try perform(what, subject: 0, policy, author)
            if commit != nil { throw Difference("there was nothing to take back, and \(commit!)") }
            return
        }
        let isErased = !reference.erased.isDisjoint(with: subjects)
        let plan = isErased ? nil : try preview(what, subjects, policy, author)
        do {
            let commit = try failing(failure) {
                try perform(what, subject: last, policy, author)
            }
            if isErased { throw Difference("\(subjects) were redacted and taken back") }
            try adoptUndo(commit, what, subjects, answer, index, plan)
        } catch let error as StoreError where error.code == .historyTrimmed {
            guard subjects.contains(where: { $0 <= reference.floor }) else { throw error }
            count("take back trimmed")
        } catch let error as StoreError where error.code == .erased {
            guard isErased else { throw error }
            try adoptErased(what, index)
        } catch let error as UndoConflictError {
            let inverse = Inverse(of: subjects, in: reference.states)
            if inverse.isClean, error.conflicts.contains(where: { $0.kind != .denied }) {
                throw Difference("taking \(subjects) back is clean, and threw \(error)")
            }
            if plan?.conflicts != error.conflicts {
                throw Difference("the preview has conflicts \(plan?.conflicts ?? [])")
            }
            count("take back in conflict")
        } catch let error as ValidationError {
            if plan?.violations != error.violations {
                throw Difference("the preview has violations \(plan?.violations ?? [])")
            }
            count("take back invalid")
        } catch  where failure != nil && isInjected(error) {
            count("take back failed")
        }
        try compareStack(index)
    }

    /// Returns the commits that are reversed, the last one first.
    private func subjects(of what: TakingBack, author index: Int) -> [Int] {
        let model = reference.stacks[index, default: UndoModel()]
        switch what {
        case .undo: return UndoModel.steps(of: model.undo).first ?? []
        case .redo: return UndoModel.steps(of: model.redo).first ?? []
        case .revert(let distance): return [reference.head - distance]
        }
    }

    /// Checks that a step that has lost values is removed from its stack, and that nothing is
    /// written.
    private func adoptErased(_ what: TakingBack, _ index: Int) throws {
        if case .revert = what { return count("revert of what was redacted") }
        let before = reference.head
        try adoptDiscard()
        guard reference.head == before + 1 else {
            throw Difference("a step that was redacted is still on the stack")
        }
        pop(what, index)
        count("take back redacted")
    }

    private func pop(_ what: TakingBack, _ index: Int) {
        var stack = reference.stacks[index, default: UndoModel()]
        let stepCount = subjects(of: what, author: index).count
        if case .undo = what { stack.undo.removeLast(stepCount) }
        if case .redo = what { stack.redo.removeLast(stepCount) }
        reference.stacks[index] = stack
    }

    private func perform(
        _ what: TakingBack, subject: Int, _ policy: UndoPolicy, _ author: String
    ) throws -> Commit? {
        switch what {
        case .undo: try store.undo(author: author, policy: policy)
        case .redo: try store.redo(author: author, policy: policy)
        case .revert:
            try store.revert(Revision(UInt64(subject)), author: author, policy: policy)
        }
    }

    private func preview(
        _ what: TakingBack, _ subjects: [Int], _ policy: UndoPolicy, _ author: String
    ) throws -> UndoPlan? {
        do { return try preview(what, subject: subjects[0], policy, author) } catch let error
            as StoreError where error.code == .historyTrimmed
        {
            return nil
        }
    }

    private func preview(
        _ what: TakingBack, subject: Int, _ policy: UndoPolicy, _ author: String
    ) throws -> UndoPlan? {
        switch what {
        case .undo: return try store.previewUndo(author: author, policy: policy)
        case .redo: return try store.previewRedo(author: author, policy: policy)
        case .revert:
            return try store.previewRevert(Revision(UInt64(subject)), policy: policy)
        }
    }

    private func adoptUndo(
        _ commit: Commit?, _ what: TakingBack, _ subjects: [Int], _ answer: Answer, _ index: Int,
        _ plan: UndoPlan?
    ) throws {
        pop(what, index)
        let inverse = Inverse(of: subjects, in: reference.states)
        let before = reference.states[reference.head]
        guard let commit else {
            if inverse.isClean, !before.cells(changedIn: inverse.world).isEmpty {
                throw Difference("taking \(subjects) back wrote nothing")
            }
            try adoptDiscard()
            return count("nothing to take back")
        }
        if plan?.changes != commit.changeSet { throw Difference("the preview is another one") }
        try adoptFolded(commit)
        let now = reference.states[reference.head]
        let expected = before.cells(changedIn: inverse.world)
        let written = before.cells(changedIn: now)
        if inverse.isClean {
            var wanted = inverse.world
            for (label, object) in now.objects { wanted.objects[label]?.stamp = object.stamp }
            let ignored = Set(now.order.keys).union(wanted.order.keys)
            if let text = now.visible.difference(from: wanted.visible, ignoring: ignored) {
                throw Difference("taking \(subjects) back came to\n  \(text)")
            }
            if subjects[0] == reference.head - 1, subjects.count == 1,
                let text = now.difference(from: reference.states[subjects[0] - 1], ignoring: [])
            {
                throw Difference("taking the last commit back came to\n  \(text)")
            }
            count("taken back")
        } else if answer == .skip, !written.isSubset(of: expected) {
            throw Difference(
                "taking \(subjects) back wrote \(written.subtracting(expected).sorted()) as well")
        } else if answer == .fail {
            throw Difference("taking \(subjects) back was in conflict, and wrote \(written)")
        } else {
            count("taken back in part")
        }
        var stack = reference.stacks[index, default: UndoModel()]
        switch what {
        case .undo: stack.redo.append(UndoModel.Entry(revision: reference.head))
        case .redo: stack.undo.append(UndoModel.Entry(revision: reference.head))
        case .revert: stack.edited(reference.head)
        }
        reference.stacks[index] = stack
    }

    /// Checks that a step without remaining effects is removed from the stack by a commit without
    /// changes.
    private func adoptDiscard() throws {
        let written = try store.journal(from: .revision(Revision(UInt64(reference.head) + 1)))
        for commit in written {
            if !commit.changeSet.isEmpty { throw Difference("nothing was left, and \(commit)") }
            try adoptFolded(commit)
        }
        if written.count > 1 { throw Difference("\(written) were written") }
    }

    private func compareStack(_ index: Int) throws {
        let stack = try store.undoStack(author: "author \(index)")
        let model = reference.stacks[index, default: UndoModel()]
        func numbers(_ steps: [UndoStack.Step]) -> [[Int]] {
            steps.map { $0.commits.map { Int($0.number) } }
        }
        func visible(_ entries: [UndoModel.Entry]) -> [[Int]] {
            Array(
                UndoModel.steps(of: entries).prefix { step in
                    step.allSatisfy { $0 > reference.floor }
                })
        }
        guard numbers(stack.undo) == visible(model.undo), numbers(stack.redo) == visible(model.redo)
        else { throw Difference("the stack is \(stack), not \(model)") }
    }

    /// Trims the commits on which no context is based any more.
    func trim() throws {
        let floor = scenes.map(\.revision).min() ?? 0
        guard floor > reference.floor else { return }
        try store.requestTrim(before: Revision(UInt64(floor) + 1)).confirm()
        reference.floor = Int(try store.floor().number)
        if reference.floor > floor { throw Difference("trimmed to \(reference.floor)") }
        count("trimmed")
    }
}
