import CStetFork
import Glibc
import Stet
import StetStore
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
        // A store opened after the fork works.
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

/// Writes the random part of ids that a process and two children make after they were forked, each
/// in a millisecond of its own.
func makeIDsAfterFork() {
    _ = ObjectID()
    var children: [Int32] = []
    for _ in 0..<2 {
        let child = stet_fork()
        if child == 0 {
            sayIDs()
            _exit(0)
        }
        children.append(child)
    }
    sayIDs()
    for child in children where stet_wait(child) != 0 { exit(70) }
}

private func sayIDs() {
    for _ in 0..<20 {
        let now = milliseconds()
        while milliseconds() == now {}
        say("\(ObjectID().low)")
    }
}

private func milliseconds() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return time.tv_sec * 1_000 + time.tv_nsec / 1_000_000
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
