/// The exceptions from the limits of `SizeTests`; no others are to be added.
enum SizeExceptions {
    /// The files of more than 300 lines of code.
    static let files: [String: Int] = [
        "Sources/Stet/Pending/PendingChanges.swift": 328,
        "Sources/StetLMDB/Files/FileLocks.swift": 305,
        "Tests/StetCampaign/Retention/Privacy.swift": 313,
        "Tests/StetMacrosTests/ModelMisuseTests.swift": 319,
        "Tests/StetStoreTests/Commit/WriterTests.swift": 309,
        "Tests/StetStoreTests/File/OpenErrorTests.swift": 325,
        "Tests/StetStoreTests/Members/LinkPairTests.swift": 310,
        "Tests/StetStoreTests/Retention/TrimTests.swift": 318,
        "Tests/StetStoreTests/Undo/UndoMemberTests.swift": 321,
        "Tests/StetTests/Migration/StagedMigrationTests.swift": 310,
        "Tests/StetTests/Relationships/ToManyTests.swift": 325,
    ]

    /// The functions of more than 40 lines of code.
    static let functions: [String: Int] = [
        "Sources/StetMacros/ModelMisuse.swift misuse": 43,
        "Sources/StetStore/Journal/Envelope.swift init": 42,
        "Sources/StetStore/Retention/OutdatedCommits.swift init": 42,
        "Sources/StetStore/Schema/DerivedProperty.swift type": 44,
        "Sources/StetStore/Schema/Schema+Format.swift init": 48,
        "Sources/StetStore/Subscriptions/SubscriptionUpdate.swift apply": 45,
        "Sources/StetStore/Verification/Verification+Indexes.swift compareIndexes": 47,
        "Sources/StetStore/Verification/Verification.swift foldJournal": 47,
        "Tests/StetCLITests/Exchange/ExchangeTests.swift "
            + "rowsThatAreNotValidAreToldWithTheirLinesAndNothingIsCommitted": 52,
        "Tests/StetCLITests/Showing/ShowingTests.swift infoShowsSizesSchemaAndWhoReads": 48,
        "Tests/StetCampaign/Checker.swift answer": 47,
        "Tests/StetCampaign/Simulation/SimulatedEdit.swift apply": 45,
        "Tests/StetContract/Reference/JournalFold.swift world": 51,
        "Tests/StetContract/Run/ContractRun+Undo.swift adoptUndo": 48,
        "Tests/StetContract/Run/ContractRun+Undo.swift takeBack": 51,
        "Tests/StetContract/Run/ContractRun.swift performNow": 50,
        "Tests/StetLMDBTests/Log/LoggedEnvironmentTests.swift aPowerCutTakesNoCommit": 42,
        "Tests/StetLiveOracle/LiveEdits.swift edit": 45,
        "Tests/StetLiveOracle/LiveQueryTrial.swift run": 74,
        "Tests/StetLiveTool/StetLiveTool.swift main": 41,
        "Tests/StetMacrosTests/EmbeddedMacroTests.swift anEmbeddedValueIsAnExtension": 81,
        "Tests/StetStoreTests/Commit/GrowthTests.swift "
            + "aReadThatStaysOpenHoldsPagesBackAndIsNamedWithItsAge": 41,
        "Tests/StetStoreTests/Members/MemberTreeTests.swift "
            + "randomEditsGiveTheListsOfAPlainModel": 42,
        "Tests/StetStoreTests/Migration/GoldenVersionsTests.swift make": 45,
        "Tests/StetStoreTests/Migration/LightMigrationTests.swift numbersWiden": 41,
        "Tests/StetStoreTests/Migration/LightMigrationTests.swift "
            + "theMigratedStoreIsEditedReopenedAndProved": 47,
        "Tests/StetStoreTests/Migration/MigrationDriver.swift mutate": 57,
        "Tests/StetStoreTests/Schema/RelationshipSchemaTests.swift "
            + "relationshipsThatCannotBeAreRefused": 53,
        "Tests/StetStoreTests/State/DeleteRulesTests.swift "
            + "whatIsDeletedIsTheClosureOfTheCascades": 58,
        "Tests/StetTests/Attributes/PropertyTypeTests.swift "
            + "theExtremesOfEveryTypeComeBackByTheBit": 42,
        "Tests/StetTests/Counters/CounterMigrationTests.swift anIntegerBecomesACounterAndBack": 41,
        "Tests/StetTests/Model/MistakeMessageTests.swift conditions": 47,
        "Tests/StetTests/Model/MistakeMessageTests.swift superclasses": 50,
        "Tests/StetTests/Model/MistakeMessageTests.swift textsOfProperties": 47,
        "Tests/StetTests/Observation/LiveMatchesTests.swift "
            + "theQueryRunsAfterAStepThatHasFailed": 46,
        "Tests/StetTests/Observation/RandomFeedTests.swift aFilteredFeedIsTheJournalFiltered": 47,
        "Tests/StetTests/Processes/SeveralProcessesTests.swift "
            + "eightObserversSeeEachCommitOfFourTasksAndThreeProcesses": 60,
        "Tests/StetTests/Queries/QueryOracleTests.swift compare": 52,
        "Tests/StetTests/Queries/StoreViewTests.swift everyRevisionIsShownAsItWas": 49,
        "Tests/StetTests/Relationships/MemberFlightTests.swift "
            + "membersEditedDuringAFlightStayWithItsEnd": 46,
        "Tests/StetTests/Relationships/OrderedToManyTests.swift randomMovesAgreeWithAnArray": 49,
        "Tests/StetTests/Relationships/RelationshipOracle.swift save": 53,
        "Tests/StetTests/Requirements/ProtectionMessageTests.swift messages": 41,
        "Tests/StetTests/Restore/RestoreDriver+Flights.swift fly": 48,
        "Tests/StetTests/Retention/OnlineCompactionTests.swift "
            + "nothingIsLostWhileOthersSaveAndRead": 43,
        "Tests/StetTests/Retention/RedactedViewTests.swift "
            + "snapshotsAndQueriesShowTheSameEmptyValues": 50,
        "Tests/StetTests/Save/CancellationTests.swift "
            + "inAStormOfCancellationsEachSaveIsWholeOrNotThere": 41,
        "Tests/StetTests/Service/ProblemDetailsTests.swift everyViolationIsAnErrorOfTheProblem": 46,
        "Tests/StetTests/Store/DraftTests.swift redaction": 45,
    ]
}
