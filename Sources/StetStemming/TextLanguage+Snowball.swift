public import StetStore

extension TextLanguage {
    /// The languages of Snowball, by the names of their algorithms in the installed libstemmer.
    ///
    /// A program that opens stores without their models, such as a tool or a restore, reads this
    /// once before it does: that makes their stemmers known.
    public static let snowball: [TextLanguage] = SnowballStemmer.algorithms.map(Self.snowball)

    /// Returns the language with a Snowball algorithm, such as "polish", for those of a newer
    /// libstemmer.
    ///
    /// If the installed libstemmer lacks the algorithm, no store can be opened for models that name
    /// the language: `StoreError` (`.textRulesMissing`).
    public static func snowball(_ algorithm: String) -> TextLanguage {
        guard let stemmer = SnowballStemmer(algorithm) else {
            return TextLanguage(withoutStemmer: algorithm)
        }
        return TextLanguage(algorithm, stemmer: stemmer)
    }

    /// Arabic.
    public static let arabic = snowball("arabic")
    /// Armenian.
    public static let armenian = snowball("armenian")
    /// Basque.
    public static let basque = snowball("basque")
    /// Catalan.
    public static let catalan = snowball("catalan")
    /// Danish.
    public static let danish = snowball("danish")
    /// Dutch.
    public static let dutch = snowball("dutch")
    /// English.
    public static let english = snowball("english")
    /// Finnish.
    public static let finnish = snowball("finnish")
    /// French.
    public static let french = snowball("french")
    /// German.
    public static let german = snowball("german")
    /// Greek.
    public static let greek = snowball("greek")
    /// Hindi.
    public static let hindi = snowball("hindi")
    /// Hungarian.
    public static let hungarian = snowball("hungarian")
    /// Indonesian.
    public static let indonesian = snowball("indonesian")
    /// Irish.
    public static let irish = snowball("irish")
    /// Italian.
    public static let italian = snowball("italian")
    /// Lithuanian.
    public static let lithuanian = snowball("lithuanian")
    /// Nepali.
    public static let nepali = snowball("nepali")
    /// Norwegian.
    public static let norwegian = snowball("norwegian")
    /// English by the first algorithm of Martin Porter, as in FTS5 of SQLite; `english` is better.
    public static let porter = snowball("porter")
    /// Portuguese.
    public static let portuguese = snowball("portuguese")
    /// Romanian.
    public static let romanian = snowball("romanian")
    /// Russian.
    public static let russian = snowball("russian")
    /// Serbian.
    public static let serbian = snowball("serbian")
    /// Spanish.
    public static let spanish = snowball("spanish")
    /// Swedish.
    public static let swedish = snowball("swedish")
    /// Tamil.
    public static let tamil = snowball("tamil")
    /// Turkish.
    public static let turkish = snowball("turkish")
    /// Yiddish.
    public static let yiddish = snowball("yiddish")
}
