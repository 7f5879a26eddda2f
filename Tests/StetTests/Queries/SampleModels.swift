import Foundation
import Stet

// Two models with equal properties, one of them with indexes for nearly everything: indexes must
// not affect the results.

enum SampleKind: String, RawAttribute, CaseIterable { case red, green, blue }

protocol SampleModel: Deletable {
    associatedtype Box: SampleBox
    var number: Int { get set }
    var small: Int8 { get set }
    var whole: UInt { get set }
    var real: Double { get set }
    var size: Int? { get set }
    var text: String { get set }
    var note: String? { get set }
    var date: Date { get set }
    var flag: Bool { get set }
    var price: Decimal { get set }
    var kind: SampleKind { get set }
    var box: Box? { get set }
    var others: ToMany<Self> { get set }
    init()
}

protocol SampleBox: Model {
    var name: String { get set }
    var rank: Int? { get set }
    init(name: String)
}

protocol SampleFields: _ModelFields where Object: SampleModel {
    associatedtype BoxFields: SampleBoxFields
    var number: QueryExpression<Int> { get }
    var small: QueryExpression<Int8> { get }
    var whole: QueryExpression<UInt> { get }
    var real: QueryExpression<Double> { get }
    var size: QueryExpression<Int?> { get }
    var text: QueryExpression<String> { get }
    var note: QueryExpression<String?> { get }
    var date: QueryExpression<Date> { get }
    var flag: QueryExpression<Bool> { get }
    var price: QueryExpression<Decimal> { get }
    var kind: QueryExpression<SampleKind> { get }
    var box: BoxFields? { get }
    var others: ToManyField<Object> { get }
}

protocol SampleBoxFields: _ModelFields where Object: SampleBox {
    var name: QueryExpression<String> { get }
    var rank: QueryExpression<Int?> { get }
}

@Model final class PlainBox: SampleBox {
    var name: String
    var rank: Int?
    @Relationship(inverse: \PlainSample.box) var samples: ToMany<PlainSample>
    init(name: String) { self.name = name }
}

@Model final class PlainSample: SampleModel {
    var number: Int = 0
    var small: Int8 = 0
    var whole: UInt = 0
    var real: Double = 0
    var size: Int?
    var text: String = ""
    var note: String?
    var date: Date = Date(timeIntervalSinceReferenceDate: 0)
    var flag: Bool = false
    var price: Decimal = Decimal(0)
    var kind: SampleKind = SampleKind.red
    var box: PlainBox?
    @Relationship var others: ToMany<PlainSample>
    init() {}
}

@Model final class IndexedBox: SampleBox {
    @Attribute(.indexed) var name: String
    @Attribute(.indexed) var rank: Int?
    @Relationship(inverse: \IndexedSample.box) var samples: ToMany<IndexedSample>
    init(name: String) { self.name = name }
}

@Model final class IndexedSample: SampleModel {
    #Index<IndexedSample>(\.flag, \.number)
    #Index<IndexedSample>(\.kind, \.text, \.number)
    #Index<IndexedSample>(\.small, \.text, \.number)
    #Index<IndexedSample>(\.number, \.text, where: { $0.flag })
    #Index<IndexedSample>(\.real, where: { $0.size != nil })
    #Index<IndexedSample>(\.text, where: { $0.number >= 0 && $0.number < 5 })
    @Attribute(.indexed) var number: Int = 0
    @Attribute(.indexed) var small: Int8 = 0
    @Attribute(.indexed) var whole: UInt = 0
    @Attribute(.indexed) var real: Double = 0
    @Attribute(.indexed) var size: Int?
    @Attribute(.indexed, .indexed(.substring)) var text: String = ""
    @Attribute(.indexed([.caseInsensitive, .diacriticInsensitive]), .indexed(.substring))
    var note: String?
    @Attribute(.indexed) var date: Date = Date(timeIntervalSinceReferenceDate: 0)
    var flag: Bool = false
    @Attribute(.indexed) var price: Decimal = Decimal(0)
    @Attribute(.indexed) var kind: SampleKind = SampleKind.red
    var box: IndexedBox?
    @Relationship var others: ToMany<IndexedSample>
    init() {}
}

extension PlainBox.Fields: SampleBoxFields {}
extension IndexedBox.Fields: SampleBoxFields {}
extension PlainSample.Fields: SampleFields {}
extension IndexedSample.Fields: SampleFields {}
