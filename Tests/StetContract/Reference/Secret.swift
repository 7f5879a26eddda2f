/// A sealed number: equal ones have the same bytes.
struct Secret: Equatable {
    var number: Int
    /// The object by whose key it is sealed; nil before it is saved.
    var owner: Label?
    /// The version of that key.
    var version = 0
}

extension Secret: CustomStringConvertible {
    var description: String { "\(number) by \(owner.map(String.init) ?? "none") v\(version)" }
}

/// The keys of the objects by which numbers are sealed.
struct Keys {
    var destroyed: Set<Label> = []
    /// The present versions, if they are not the first.
    var versions: [Label: Int] = [:]

    /// Returns whether a merge takes two secrets for the same.
    func areSame(_ one: Secret?, _ other: Secret?) -> Bool {
        guard let one, let other, one != other else { return one == other }
        return one.number == other.number && isReadable(one) && isReadable(other)
    }

    func isReadable(_ secret: Secret) -> Bool {
        secret.owner.map { !destroyed.contains($0) } ?? true
    }
}

extension World {
    /// Seals the secrets of changed objects, and returns the breaches by those that cannot be
    /// sealed.
    mutating func seal(since base: World, moved: Set<Label>, _ keys: Keys) -> Set<Breach> {
        var breaches: Set<Breach> = []
        for (label, object) in objects
        where isAlive(label) && (object != base.objects[label] || moved.contains(label)) {
            guard let secret = object.secret else { continue }
            let owner = object.kind == .item ? object.references[.box] : label
            if secret.owner != nil {
                if owner == nil || owner == secret.owner || !keys.isReadable(secret) { continue }
            }
            if let owner, !keys.destroyed.contains(owner) {
                objects[label]?.secret = Secret(
                    number: secret.number, owner: owner, version: keys.versions[owner] ?? 0)
            } else {
                breaches.insert(Breach(code: 9, object: label, property: "secret"))
            }
        }
        return breaches
    }
}

extension Scene {
    /// Gives secrets of objects that others have changed the form that these have saved, or that of
    /// the base, if they are the same.
    mutating func reuseSecrets(of theirs: World, _ touched: Set<Label>) {
        for label in touched where now.objects[label] != nil {
            let stored = theirs.objects[label]
            if let before = base.objects[label] {
                if let stored, keys.areSame(before.secret, stored.secret) {
                    base.objects[label]?.secret = stored.secret
                }
                let before = base.objects[label]?.secret
                if keys.areSame(now.objects[label]?.secret, before) {
                    now.objects[label]?.secret = before
                }
            }
            if let stored, keys.areSame(now.objects[label]?.secret, stored.secret) {
                now.objects[label]?.secret = stored.secret
            }
        }
    }
}
