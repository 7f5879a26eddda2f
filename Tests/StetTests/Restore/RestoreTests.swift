#if STET_FAULTS
    import Testing

    /// The heart of the promise: whatever makes a save fail, the context is as before, nothing was
    /// published, nothing is on the disk.
    ///
    /// `RestoreDriver` holds the oracle.
    @Suite struct RestoreTests {
        @Test(arguments: UInt64(1)...24)
        func aSaveThatFailsAnywhereLeavesEverythingAsBefore(seed: UInt64) throws {
            var driver = try RestoreDriver(seed: seed)
            let difference = try driver.run(rounds: 60)
            #expect(difference == nil, "seed \(seed)")
        }

        @Test func everyStageIsMadeToFail() throws {
            var driver = try RestoreDriver(seed: 4_711)
            let difference = try driver.run(rounds: 200)
            #expect(difference == nil)
            let expected = Set(RestoreDriver.Stage.allCases).subtracting([.none])
            #expect(Set(driver.failures.keys) == expected)
            #expect(driver.failures.values.allSatisfy { $0 >= 3 }, "\(driver.failures)")
        }

        @MainActor @Test(arguments: UInt64(1)...24)
        func aFlightThatFailsLeavesEverythingAsBefore(seed: UInt64) async throws {
            var driver = try RestoreDriver(seed: seed)
            let difference = try await driver.runFlights(rounds: 40)
            #expect(difference == nil, "seed \(seed)")
        }

        @MainActor @Test func everyEndOfAFlightIsTried() async throws {
            var driver = try RestoreDriver(seed: 4_711)
            #expect(try await driver.runFlights(rounds: 150) == nil)
            #expect(Set(driver.flightFailures.keys) == [.conflict, .inputOutput, .withdrawn])
            #expect(
                driver.flightFailures.values.allSatisfy { $0 >= 3 }, "\(driver.flightFailures)")
        }
    }
#endif
