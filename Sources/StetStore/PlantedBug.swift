#if STET_FAULTS
    /// True when a planted bug is active: one that the test of a requirement must find, see `make
    /// mutants`.
    package func isPlanted(_ name: StaticString) -> Bool {
        StoreFile.plantedByName.map { $0 == name.description } ?? false
    }
#else
    /// False, and known to the compiler.
    @inlinable
    package func isPlanted(_ name: StaticString) -> Bool { false }
#endif
