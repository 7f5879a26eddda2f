import Testing

@testable import StetCLI

/// Quantities as people read them.
@Suite struct QuantityTests {
    @Test(arguments: [
        (0, "0 bytes"), (1, "1 byte"), (1_023, "1023 bytes"), (1_024, "1.00 KiB"),
        (1_536, "1.50 KiB"), (10_230, "9.99 KiB"), (10_240, "10.0 KiB"), (102_340, "99.9 KiB"),
        (102_400, "100 KiB"), (1_048_063, "1023 KiB"), (1_048_064, "1.00 MiB"),
        (179_306_496, "171 MiB"), (1 << 40, "1.00 TiB"), (Int.max, "8192 PiB"),
    ])
    func bytesAreShownInBinaryUnitsWithThreeDigits(byteCount: Int, text: String) {
        #expect(byteCountText(byteCount) == text)
    }

    @Test(arguments: [
        (Duration.zero, "0 ms"), (.milliseconds(41), "41 ms"), (.milliseconds(999), "999 ms"),
        (.milliseconds(1_000), "1.00 s"), (.milliseconds(12_345), "12.3 s"),
        (.seconds(185), "3 min 5 s"),
    ])
    func durationsAreShownInTheUnitThatSuits(duration: Duration, text: String) {
        #expect(durationText(duration) == text)
    }
}
