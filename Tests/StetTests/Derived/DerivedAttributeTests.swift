import StetTestSupport
import Testing

@testable import Stet

/// Attributes that are computed from others and stored.
@Suite struct DerivedAttributeTests {
    // MARK: Own attributes

    @Test func aSaveStoresTheValueAndRenewsItWhenAnInputChanges() throws {
        let staff = try Staff()
        let (context, _, person) = try staff.saved()
        var stored = try #require(try staff.stored(person))
        #expect(stored.fullName == "Ada Byron")
        #expect(stored.shownName == "Ada")
        #expect(!stored.isAdult)
        #expect(stored.monthsLeft == 1_200)
        #expect(stored.isEmployed)
        person.last = "Lovelace"
        person.age = 36
        person.nickname = "Countess"
        let commit = try #require(try context.save())
        stored = try #require(try staff.stored(person))
        #expect(stored.fullName == "Ada Lovelace")
        #expect(stored.shownName == "Countess")
        #expect(stored.isAdult)
        #expect(stored.monthsLeft == 768)
        let change = try #require(commit.changeSet.changes.first)
        #expect(change["fullName"]?.old == .string("Ada Byron"))
        #expect(change["fullName"]?.new == .string("Ada Lovelace"))
        #expect(change["employerName"] == nil)
        #expect(try staff.store.verify().problems == [])
    }

    @Test func anObjectShowsTheValueOfItsUnsavedEdits() throws {
        let staff = try Staff()
        let (_, company, person) = try staff.saved()
        person.first = "Augusta"
        company.name = "Engines"
        #expect(person.fullName == "Augusta Byron")
        #expect(person.employerName == "Engines")
        #expect(person.snapshot.card == "Augusta Byron, Engines Ltd")
    }

    @Test func queriesAndIndexesHaveTheStoredValue() throws {
        let staff = try Staff()
        let (context, _, person) = try staff.saved()
        for number in 0..<300 {
            context.insert(Employee(first: "\(number)", last: "Cole"))
        }
        try context.save()
        let found = context.fetch(Employee.self) { $0.fullName == "Ada Byron" }
        #expect(try found.first() === person)
        let explanation = try found.explain()
        #expect(explanation.hasPrefix("index (fullName)"), "\(explanation)")
        person.first = "Augusta"
        try context.save()
        #expect(try context.fetch(Employee.self) { $0.fullName == "Ada Byron" }.first() == nil)
        #expect(try staff.store.verify().problems == [])
    }

    // MARK: References

    @Test func valuesOfDerivedPropertiesAreThoseOfTheObjects() throws {
        let staff = try Staff()
        let (context, company, person) = try staff.saved()
        context.insert(Employee(first: "Alan", last: "Turing"))
        try context.save()
        for edits in [{}, { person.first = "Augusta" }, { company.name = "Engines" }] {
            edits()
            let people = context.fetch(Employee.self).sorted(by: \.last)
            let objects = try people.all()
            #expect(try people.values(of: \.fullName) == objects.map(\.fullName))
            #expect(try people.values(of: \.employerName) == objects.map(\.employerName))
            let triples = try people.values(of: \.isAdult, \.card, \.monthsLeft)
            #expect(triples.map { $0.0 } == objects.map(\.isAdult))
            #expect(triples.map { $0.1 } == objects.map(\.card))
            #expect(triples.map { $0.2 } == objects.map(\.monthsLeft))
        }
    }

    @Test func aChangeOfTheTargetChangesTheObjectsThatReferToIt() throws {
        let staff = try Staff()
        let (context, company, person) = try staff.saved()
        let other = staff.store.context()
        let theirs = try #require(try other.object(Firm.self, id: company.id))
        theirs.name = "Engines"
        let commit = try #require(try other.save())
        #expect(commit.changeSet.changes.count == 2)
        let stored = try #require(try staff.stored(person))
        #expect(stored.employerName == "Engines")
        #expect(stored.card == "Ada Byron, Engines Ltd")
        try context.refresh()
        #expect(person.employerName == "Engines")
        #expect(!person.hasChanges)
        #expect(try staff.store.verify().problems == [])
    }

    @Test func anotherTargetADeletedOneAndAFartherOneCount() throws {
        let staff = try Staff()
        let (context, company, person) = try staff.saved()
        company.country?.name = "Chile"
        try context.save()
        #expect(try staff.stored(person)?.countryName == "Chile")
        company.country = Land(name: "Spain")
        try context.save()
        #expect(try staff.stored(person)?.countryName == "Spain")
        person.employer = Firm(name: "Other")
        try context.save()
        #expect(try staff.stored(person)?.employerName == "Other")
        context.delete(try #require(person.employer))
        try context.save()
        let stored = try #require(try staff.stored(person))
        #expect(stored.employerName == nil)
        #expect(stored.countryName == nil)
        #expect(!stored.isEmployed)
        #expect(stored.card == "Ada Byron, nobody")
        #expect(try staff.store.verify().problems == [])
    }

    /// The object is loaded and unchanged: the commit of its own context must not be foreign to it.
    @Test func anObjectThatRefersToAnEditedOneCanBeEditedAfterwards() throws {
        let staff = try Staff()
        let (context, company, person) = try staff.saved()
        company.name = "Engines"
        let commit = try #require(try context.save())
        #expect(person._$state.revision == commit.revision)
        person.age = 20
        #expect(try context.save()?.revision == commit.revision.next)
    }

    // MARK: Conflicts and undo

    @Test(arguments: [MergePolicy.fail, .mergeStoreWins, .mergeContextWins])
    func aDerivedValueIsNoConflict(policy: MergePolicy) throws {
        let staff = try Staff()
        let (context, company, person) = try staff.saved()
        context.mergePolicy = policy
        let other = staff.store.context()
        try #require(try other.object(Firm.self, id: company.id)).name = "Engines"
        person.first = "Augusta"
        try other.save()
        try context.save()
        let stored = try #require(try staff.stored(person))
        #expect(stored.card == "Augusta Byron, Engines Ltd")
        try #require(try other.object(Firm.self, id: company.id)).name = "Looms"
        try other.save()
        context.delete(person)
        try context.save()
        #expect(try staff.stored(person) == nil)
    }

    /// Its derived attributes differ from the snapshot's by the edit of the company only.
    @Test func anObjectWhoseEditsWereTakenBackIsNoConflict() throws {
        let staff = try Staff()
        let (context, company, person) = try staff.saved()
        let other = staff.store.context()
        try #require(try other.object(Employee.self, id: person.id)).age = 30
        person.first = "Augusta"
        person.first = "Ada"
        company.name = "Looms"
        try other.save()
        let commit = try #require(try context.save())
        #expect(Set(commit.changeSet.changes.map(\.id)) == [company.id, person.id])
        let stored = try #require(try staff.stored(person))
        #expect(stored.age == 30)
        #expect(stored.employerName == "Looms")
        try #require(try other.object(Employee.self, id: person.id)).age = 31
        person.first = "Augusta"
        person.first = "Ada"
        company.name = "Mills"
        try other.save()
        try context.refresh()
        #expect(person.age == 31)
        #expect(!person.hasChanges)
        #expect(try context.save() != nil)
    }

    @Test func aReferenceIsComputedFromTheTargetThatOthersHaveChangedMeanwhile() throws {
        let staff = try Staff()
        let (context, _, person) = try staff.saved()
        let other = staff.store.context()
        let looms = Firm(name: "Looms")
        other.insert(looms)
        try other.save()
        try context.refresh()
        person.employer = try context.object(Firm.self, id: looms.id)
        looms.name = "Mills"
        try other.save()
        try context.save()
        #expect(try staff.stored(person)?.employerName == "Mills")
        // The other order: the target is renamed by a context that does not see the reference.
        let third = staff.store.context()
        let mills = try #require(try third.object(Firm.self, id: looms.id))
        let second = Employee(first: "Bea", last: "Cole")
        second.employer = try context.object(Firm.self, id: looms.id)
        context.insert(second)
        try context.save()
        mills.name = "Forges"
        try third.save()
        #expect(try staff.stored(second)?.employerName == "Forges")
        #expect(try staff.store.verify().problems == [])
    }

    @Test func anUndoComputesTheValueAnew() throws {
        let staff = try Staff()
        let (context, company, person) = try staff.saved()
        person.first = "Augusta"
        try context.save()
        let other = staff.store.context(author: "other")
        try #require(try other.object(Firm.self, id: company.id)).name = "Engines"
        try other.save()
        try staff.store.undo(author: "me")
        #expect(try staff.stored(person)?.card == "Ada Byron, Engines Ltd")
        try staff.store.redo(author: "me")
        #expect(try staff.stored(person)?.card == "Augusta Byron, Engines Ltd")
        try staff.store.undo(author: "other")
        #expect(try staff.stored(person)?.card == "Augusta Byron, Acme Ltd")
        #expect(try staff.store.verify().problems == [])
    }

    @Test func aChangeSetCannotSetIt() throws {
        let staff = try Staff()
        let (context, _, person) = try staff.saved()
        var changeSet = ChangeSet()
        person.first = "Augusta"
        changeSet = context.changes
        context.rollback()
        let properties = try #require(changeSet.changes.first).properties
        let index = try #require(properties.firstIndex { $0.name == "fullName" })
        changeSet.changes[0].properties[index].new = .string("Someone Else")
        try context.apply(changeSet)
        try context.save()
        #expect(try staff.stored(person)?.fullName == "Augusta Byron")
    }
}
