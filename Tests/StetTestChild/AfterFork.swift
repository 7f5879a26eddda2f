import CStetFork
import Glibc
import Stet
import StetTestModels

/// Uses a store in a child that was forked after it had been opened, and says what came of it.
func useAfterFork(_ path: String) throws {
    let store = try openStore(path)
    let context = store.context(author: "parent")
    context.insert(Notebook(name: "before"))
    try context.save()
    let child = stet_fork()
    if child == 0 {
        say("child reads: \(code { try store.revision() })")
        let inherited = store.context()
        inherited.insert(Notebook(name: "child"))
        say("child saves: \(code { try inherited.save()?.revision ?? 0 })")
        say("child verifies: \(code { try store.verify() })")
        store.close()
        // A store of its own works.
        let own = try openStore(path)
        let context = own.context(author: "child")
        context.insert(Notebook(name: "own"))
        say("child's own: \(try context.save()?.revision.number ?? 0)")
        own.close()
        _exit(0)
    }
    say("child ended: \(stet_wait(child))")
    context.insert(Notebook(name: "after"))
    say("parent: \(try context.save()?.revision.number ?? 0)")
    say("verified: \(try store.verify().isClean)")
}

private func code(_ body: () throws -> Any) -> String {
    do {
        return "\(try body())"
    } catch let error as StoreError {
        return "\(error.code)"
    } catch {
        return "\(error)"
    }
}
