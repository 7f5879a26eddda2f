extension Sentence {
    // The messages of rules. The tables contain the plural forms.

    static let required = Sentence("{property} is required")
    static let empty = Sentence("{property} can't be empty")
    static let wrongPattern = Sentence("{property} is not in the right form")
    static let notADate = Sentence("{property} is not a date")

    package static let deleteDenied = Sentence(
        "{entity} can't be deleted while it has {property}")
    package static let deleteDeniedByOne = Sentence(
        "{entity} can't be deleted while it has a {property}")

    static func tooFew(_ count: Int) -> Sentence {
        Sentence("{property} must have at least {count} members", count: count)
    }

    static func tooMany(_ count: Int) -> Sentence {
        Sentence("{property} can't have more than {count} members", count: count)
    }

    static func tooShort(_ count: Int, _ unit: LengthUnit) -> Sentence {
        Sentence("{property} must be at least {count} \(unit)s", count: count)
    }

    static func tooLong(_ count: Int, _ unit: LengthUnit) -> Sentence {
        Sentence("{property} can't be longer than {count} \(unit)s", count: count)
    }

    static func tooSmall(_ limit: Value) -> Sentence {
        Sentence("{property} must be at least {limit}", limit: limit.description)
    }

    static func tooLarge(_ limit: Value) -> Sentence {
        Sentence("{property} can't be greater than {limit}", limit: limit.description)
    }

    static func tooEarly(_ limit: Value) -> Sentence {
        Sentence("{property} can't be before {limit}", limit: limit.description)
    }

    static func tooLate(_ limit: Value) -> Sentence {
        Sentence("{property} can't be after {limit}", limit: limit.description)
    }

    static func notOneOf(_ values: [Value]) -> Sentence {
        Sentence(
            "{property} must be one of {limit}",
            limit: values.map(\.description).joined(separator: ", "))
    }

    // The messages about sealed attributes.

    static func unsealable(_ refusal: SealRefusal) -> Sentence {
        switch refusal.reason {
        case .notSealed: Sentence("{property} is not sealed for this {entity}")
        case .keyDestroyed:
            Sentence("{property} can't be sealed: the key of its owner was destroyed")
        case .ownerMissing(let seal):
            Sentence("{property} can't be sealed while {limit} is nil", limit: seal.ownerName)
        case .unencodable: Sentence("{property} has a value that can't be encoded")
        case .unopened(let error):
            Sentence("{property} can't be sealed: {limit}", limit: error.message)
        }
    }

    static func notUnique(_ properties: [String]) -> Sentence {
        properties.count == 1
            ? Sentence("{property} is already taken by another {entity}")
            : Sentence(
                "{properties} together are already taken by another {entity}",
                properties: properties)
    }
}

/// The unit of a length.
enum LengthUnit: String, CaseIterable {
    case character, byte, element
}

extension MessageTable {
    /// The English sentences, as they appear in this documentation.
    public static let english: MessageTable = {
        var table = MessageTable(language: "en") { $0 == 1 ? .one : .other }
        for unit in LengthUnit.allCases {
            table.plurals[Sentence.tooShort(1, unit).key] = [
                .one: "{property} must be at least {count} \(unit)"
            ]
            table.plurals[Sentence.tooLong(1, unit).key] = [
                .one: "{property} can't be longer than {count} \(unit)"
            ]
        }
        table.plurals[Sentence.tooFew(1).key] = [
            .one: "{property} must have at least {count} member"
        ]
        table.plurals[Sentence.tooMany(1).key] = [
            .one: "{property} can't have more than {count} member"
        ]
        table.plurals["{count} values in {limit} commits, and the undo of these"] = [
            .one: "{count} value in {limit} commits, and the undo of these"
        ]
        table.plurals["{count} commits ({limit} bytes)"] = [
            .one: "{count} commit ({limit} bytes)"
        ]
        table.plurals["{count} undo steps of {limit}"] = [.one: "{count} undo step of {limit}"]
        return table
    }()

    /// The sentences in Simplified Chinese.
    public static let simplifiedChinese: MessageTable = {
        var table = MessageTable(
            language: "zh-Hans",
            sentences: [
                "{property} is required": "{property}为必填项",
                "{property} can't be empty": "{property}不能为空",
                "{property} is not in the right form": "{property}的格式不正确",
                "{property} is not a date": "{property}不是有效的日期",
                "{property} must be at least {limit}": "{property}不能小于 {limit}",
                "{property} can't be greater than {limit}": "{property}不能大于 {limit}",
                "{property} can't be before {limit}": "{property}不能早于 {limit}",
                "{property} can't be after {limit}": "{property}不能晚于 {limit}",
                "{property} must be one of {limit}": "{property}必须是以下之一：{limit}",
                Sentence.deleteDenied.key: "{entity}仍有{property}，不能删除",
                Sentence.deleteDeniedByOne.key: "{entity}仍有{property}，不能删除",
                "{entity} is protected, and its deletion was not confirmed":
                    "{entity}受保护，删除未经确认",
                Sentence.tooFew(1).key: "{property}至少需要 {count} 个成员",
                Sentence.tooMany(1).key: "{property}不能超过 {count} 个成员",
                "{property} is not sealed for this {entity}": "{property}不是为此{entity}加密的",
                "{property} can't be sealed: the key of its owner was destroyed":
                    "{property}无法加密：其所有者的密钥已被销毁",
                "{property} can't be sealed while {limit} is nil": "{limit}为空时，{property}无法加密",
                "{property} has a value that can't be encoded": "{property}的值无法编码",
                "{property} can't be sealed: {limit}": "{property}无法加密：{limit}",
                "{property} is already taken by another {entity}": "{property}已被另一个{entity}使用",
                "{properties} together are already taken by another {entity}":
                    "{properties}的组合已被另一个{entity}使用",
                "Delete {entity}?": "要删除{entity}吗？",
                "Delete {count} of {entity}?": "要删除 {count} 个{entity}吗？",
                "Delete all of {entity}?": "要删除所有{entity}吗？",
                "Erase the store {limit}?": "要抹掉存储 {limit} 吗？",
                "Trim the journal of {limit}?": "要截短 {limit} 的日志吗？",
                "Redact the history of {entity} {limit}?": "要从历史中抹去{entity} {limit} 的值吗？",
                "Redact the history of {count} of {entity}?": "要从历史中抹去 {count} 个{entity}的值吗？",
                "Delete": "删除", "Erase": "抹掉", "Trim": "截短", "Redact": "抹去",
                "Nothing is lost.": "不会丢失任何内容。",
                "Lost for good: {limit}.": "将永久丢失：{limit}。",
                "{count} {entity}": "{count} 个{entity}",
                "{count} values in {limit} commits, and the undo of these":
                    "{limit} 次提交中的 {count} 个值，以及对它们的撤销",
                "{count} commits ({limit} bytes)": "{count} 次提交（{limit} 字节）",
                "{count} undo steps of {limit}": "{limit} 的 {count} 个撤销步骤",
                "yes": "是", "no": "否",
            ])
        table.separators = ("、", "和")
        let units: [LengthUnit: String] = [
            .character: "个字符", .byte: "个字节", .element: "个元素",
        ]
        for (unit, name) in units {
            table.sentences[Sentence.tooShort(1, unit).key] = "{property}至少需要 {count} \(name)"
            table.sentences[Sentence.tooLong(1, unit).key] = "{property}不能超过 {count} \(name)"
        }
        return table
    }()
}
