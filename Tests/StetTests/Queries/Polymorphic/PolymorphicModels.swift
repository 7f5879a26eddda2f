import Foundation
import Stet
import StetTestSupport

@Model final class Poster {
    var name: String
    init(_ name: String) { self.name = name }
}

@Embedded struct PostPlace: EmbeddedValue {
    var city: String = ""
    var floor: Int?
}

/// Three models adopt it, whose properties are in different slots and have different indexes.
@ModelProtocol protocol Postable: Deletable {
    var title: String { get set }
    var postedAt: Int? { get set }
    var score: Double { get set }
    var poster: Poster? { get set }
    var place: PostPlace { get set }
    var annex: PostPlace? { get set }
    var secret: Int { get set }
    /// Not stored by every model.
    var summary: String { get }
    @Transient var symbol: Character { get }
    static var plural: String { get }
    init()
}

extension Postable {
    var symbol: Character { title.first ?? "?" }
    static var plural: String { "posts" }
}

@Model final class Story: Postable {
    var text: String = ""
    var annex: PostPlace?
    @Attribute(.indexed) var postedAt: Int?
    var title: String = ""
    var score: Double = 0
    var poster: Poster?
    var place: PostPlace = PostPlace()
    @Attribute(.hidden) var secret: Int = 0
    var summary: String { "\(title): \(text)" }

    #Index<Story>(\.title, \.text)

    init() {}
}

@Model final class Picture: Postable {
    var place: PostPlace = PostPlace()
    var poster: Poster?
    var annex: PostPlace?
    @Attribute(.indexed) var score: Double = 0
    @Attribute(.indexed) var title: String = ""
    var postedAt: Int?
    var secret: Int = 0
    var summary: String = ""
    var isFetched: Bool { fetches > 0 }
    @Transient var fetches = 0

    #Index<Picture>(\.postedAt, \.score)

    init() {}
    func didFetch() { fetches += 1 }
}

@Model final class Clip: Postable {
    var secret: Int = 0
    var annex: PostPlace? = PostPlace(city: "a")
    var postedAt: Int?
    var poster: Poster?
    var title: String = ""
    var seconds: Int = 0
    var place: PostPlace = PostPlace()
    var score: Double = 0
    @Derived var summary: String { title + "!" }
    init() {}
}

/// A model that adopts no protocol, with the same properties as one that does.
@Model final class Bystander {
    var title: String = ""
    var postedAt: Int?
    init() {}
}

// MARK: - Mistakes

@ModelProtocol protocol Sized: Model { var size: Int { get } }
extension Sized { var size: Int { 1 } }

@Model final class ExactlySized: Sized {
    var size: Int = 0
    init() {}
}

/// Adopts the protocol by its default, beside a property of another type.
@Model final class VaguelySized: Sized {
    var size: Int?
    init() {}
}
