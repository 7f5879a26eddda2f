/// Puts conditions together: the closures of queries may have several, one per line, all of which
/// an object must meet, and `if` around some of them.
///
/// The condition of an `if` is one of the program, not of the object.
@resultBuilder
public enum QueryBuilder {
    /// A condition.
    public static func buildExpression(
        _ condition: QueryExpression<Bool>
    ) -> QueryExpression<Bool> { condition }

    /// A condition behind a `?`, not met where there is nothing.
    public static func buildExpression(
        _ condition: QueryExpression<Bool>?
    ) -> QueryExpression<Bool> { condition ?? !QueryExpression.always }

    /// All of these.
    public static func buildBlock(
        _ conditions: QueryExpression<Bool>...
    ) -> QueryExpression<Bool> {
        conditions.dropFirst().reduce(conditions.first ?? .always) { $0 && $1 }
    }

    /// Those of an `if` without `else`.
    public static func buildOptional(
        _ condition: QueryExpression<Bool>?
    ) -> QueryExpression<Bool> { condition ?? .always }

    /// Those of an `if`.
    public static func buildEither(
        first condition: QueryExpression<Bool>
    ) -> QueryExpression<Bool> { condition }

    /// Those of an `else`.
    public static func buildEither(
        second condition: QueryExpression<Bool>
    ) -> QueryExpression<Bool> { condition }

    /// Those of a loop.
    public static func buildArray(
        _ conditions: [QueryExpression<Bool>]
    ) -> QueryExpression<Bool> { conditions.reduce(.always) { $0 && $1 } }
}
