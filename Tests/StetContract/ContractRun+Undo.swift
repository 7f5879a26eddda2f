import Stet
import StetStore

extension ContractRun {
    /// Takes a commit back, and compares what was written with the three-way rule.
    func takeBack(_ what: TakingBack, _ answer: Answer, author index: Int) throws {
        let author = "author \(index)"
        let model = reference.stacks[index, default: UndoModel()]
        let subject: Int?
        switch what {
        case .undo: subject = model.undo.last
        case .redo: subject = model.redo.last
        case .revert(let distance): subject = reference.head - distance
        }
        time += 1
        let policy: UndoPolicy =
            switch answer {
            case .fail: .fail
            case .skip: .skip
            case .overwrite: .overwrite
            }
        guard let subject, subject > 0 else {
            if case .revert = what { return }
            let commit = try perform(what, subject: 0, policy, author)
            if commit != nil { throw Difference("there was nothing to take back, and \(commit!)") }
            return
        }
        let plan = try preview(what, subject, policy, author)
        do {
            let commit = try perform(what, subject: subject, policy, author)
            try adoptUndo(commit, what, subject, answer, index, plan)
        } catch let error as StoreError where error.code == .historyTrimmed {
            guard subject <= reference.floor else { throw error }
            count("take back trimmed")
        } catch let error as UndoConflictError {
            let inverse = Inverse(of: subject, in: reference.states)
            if inverse.isClean, error.conflicts.contains(where: { $0.kind != .denied }) {
                throw Difference("taking \(subject) back is clean, and threw \(error)")
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
        }
        try compareStack(index)
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
        _ what: TakingBack, _ subject: Int, _ policy: UndoPolicy, _ author: String
    ) throws -> UndoPlan? {
        if subject <= reference.floor { return nil }
        switch what {
        case .undo: return try store.previewUndo(author: author, policy: policy)
        case .redo: return try store.previewRedo(author: author, policy: policy)
        case .revert:
            return try store.previewRevert(Revision(UInt64(subject)), policy: policy)
        }
    }

    private func adoptUndo(
        _ commit: Commit?, _ what: TakingBack, _ subject: Int, _ answer: Answer, _ index: Int,
        _ plan: UndoPlan?
    ) throws {
        var stack = reference.stacks[index, default: UndoModel()]
        if case .undo = what { stack.undo.removeLast() }
        if case .redo = what { stack.redo.removeLast() }
        let inverse = Inverse(of: subject, in: reference.states)
        let before = reference.states[reference.head]
        guard let commit else {
            reference.stacks[index] = stack
            if inverse.isClean, !before.cells(changedIn: inverse.world).isEmpty {
                throw Difference("taking \(subject) back wrote nothing")
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
                throw Difference("taking \(subject) back came to\n  \(text)")
            }
            if subject == reference.head - 1,
                let text = now.difference(from: reference.states[subject - 1], ignoring: [])
            {
                throw Difference("taking the last commit back came to\n  \(text)")
            }
            count("taken back")
        } else if answer == .skip, !written.isSubset(of: expected) {
            throw Difference(
                "taking \(subject) back wrote \(written.subtracting(expected).sorted()) as well")
        } else if answer == .fail {
            throw Difference("taking \(subject) back was in conflict, and wrote \(written)")
        } else {
            count("taken back in part")
        }
        switch what {
        case .undo: stack.redo.append(reference.head)
        case .redo: stack.undo.append(reference.head)
        case .revert: stack.edited(reference.head)
        }
        reference.stacks[index] = stack
    }

    /// A step that nothing is left of is taken off the stack by a commit without changes.
    private func adoptDiscard() throws {
        let written = try store.journal(from: Revision(UInt64(reference.head) + 1))
        for commit in written {
            if !commit.changeSet.isEmpty { throw Difference("nothing was left, and \(commit)") }
            try adoptFolded(commit)
        }
        if written.count > 1 { throw Difference("\(written) were written") }
    }

    private func compareStack(_ index: Int) throws {
        let stack = try store.undoStack(author: "author \(index)")
        let floor = reference.floor
        func visible(_ revisions: [Int]) -> [Int] {
            Array(revisions.reversed().prefix { $0 > floor })
        }
        func numbers(_ steps: [UndoStack.Step]) -> [Int] {
            steps.flatMap { $0.commits.map { Int($0.number) } }
        }
        let model = reference.stacks[index, default: UndoModel()]
        guard numbers(stack.undo) == visible(model.undo), numbers(stack.redo) == visible(model.redo)
        else { throw Difference("the stack is \(stack), not \(model)") }
    }

    /// Removes the commits that no context is based on any more.
    func trim() throws {
        let floor = scenes.map(\.revision).min() ?? 0
        guard floor > reference.floor else { return }
        try store.requestTrim(before: Revision(UInt64(floor) + 1)).confirm()
        reference.floor = Int(try store.floor().number)
        if reference.floor > floor { throw Difference("trimmed to \(reference.floor)") }
        count("trimmed")
    }
}
