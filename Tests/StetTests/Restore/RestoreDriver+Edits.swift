#if STET_FAULTS
    import Stet
    import StetTestModels

    extension RestoreDriver {
        // MARK: Edits

        mutating func pick(_ labels: some Collection<Int>) -> Int? {
            labels.sorted().randomElement(using: &generator)
        }

        mutating func editAtRandom() {
            switch Int.random(in: 0..<14, using: &generator) {
            case 0, 1, 2: makeObject()
            case 3, 4, 5, 6: editText()
            case 7, 8, 9: editReference()
            case 10: Int.random(in: 0..<3, using: &generator) == 0 ? insertDeleted() : deleteOne()
            case 11: snapshots.append((context.snapshot(), model))
            case 12: restoreOne()
            default: rollBackOne()
            }
        }

        private mutating func makeObject() {
            let label = nextLabel
            nextLabel += 1
            if Bool.random(using: &generator) {
                objects.notebooks[label] = Notebook(name: "notebook \(label)")
                model.make(label, .init(kind: .notebook, text: "notebook \(label)"))
            } else {
                let target = pick(objects.notebooks.keys.filter { isUsable($0) })
                let notebook = target.flatMap { objects.notebooks[$0] }
                objects.articles[label] = Article(title: "article \(label)", notebook: notebook)
                model.make(label, .init(kind: .article, text: "article \(label)", notebook: target))
            }
            if Int.random(in: 0..<4, using: &generator) > 0 {
                insert(label)
            }
        }

        /// A deleted object is no sensible target, and one that was deleted before it was stored is
        /// in no context.
        private func isUsable(_ label: Int) -> Bool { model.objects[label]?.isDeleted == false }

        private mutating func insert(_ label: Int) {
            objects.notebooks[label].map { context.insert($0) }
            objects.articles[label].map { context.insert($0) }
            model.insert(label)
        }

        private mutating func editText() {
            guard let label = pick(model.objects.keys.filter { isUsable($0) }) else { return }
            let number = Int.random(in: 0..<5, using: &generator)
            if let notebook = objects.notebooks[label] {
                notebook.name = "name \(number)"
                model.edit(label) { $0.text = "name \(number)" }
            } else if let article = objects.articles[label] {
                switch number {
                case 0:
                    article.body = nil
                    model.edit(label) { $0.body = nil }
                case 1:
                    article.body = "body"
                    model.edit(label) { $0.body = "body" }
                case 2:
                    article.rating = 4
                    model.edit(label) { $0.rating = 4 }
                default:
                    article.title = "title \(number)"
                    model.edit(label) { $0.text = "title \(number)" }
                }
            }
        }

        private mutating func editReference() {
            guard let label = pick(objects.articles.keys.filter { isUsable($0) }),
                let article = objects.articles[label]
            else { return }
            if Bool.random(using: &generator) {
                let usable = Array(objects.notebooks.keys.filter { isUsable($0) })
                let target = Int.random(in: 0..<4, using: &generator) == 0 ? nil : pick(usable)
                article.notebook = target.flatMap { objects.notebooks[$0] }
                model.edit(label) { $0.notebook = target }
            } else {
                let usable = Array(objects.articles.keys.filter { isUsable($0) })
                let target = Int.random(in: 0..<4, using: &generator) == 0 ? nil : pick(usable)
                article.next = target.flatMap { objects.articles[$0] }
                model.edit(label) { $0.next = target }
            }
        }

        private mutating func deleteOne() {
            let present = model.objects.filter { $0.value.isInContext && !$0.value.isDeleted }
            guard let label = pick(present.keys) else { return }
            objects.notebooks[label].map { context.delete($0) }
            objects.articles[label].map { context.delete($0) }
            model.delete(label)
        }

        /// Takes a deletion back.
        private mutating func insertDeleted() {
            let deleted = model.objects.filter { $0.value.isDeleted && $0.value.hasChanges }
            guard let label = pick(deleted.keys) else { return }
            objects.notebooks[label].map { context.insert($0) }
            objects.articles[label].map { context.insert($0) }
            model.takeDeletionBack(label)
        }

        private mutating func restoreOne() {
            guard !snapshots.isEmpty else { return }
            let index = Int.random(in: 0..<snapshots.count, using: &generator)
            context.restore(snapshots[index].0)
            model.restore(snapshots[index].1)
            snapshots.removeSubrange((index + 1)...)
        }

        private mutating func rollBackOne() {
            guard Int.random(in: 0..<6, using: &generator) == 0 else { return }
            context.rollback()
            model.rollBack()
            snapshots = []
        }
    }
#endif
