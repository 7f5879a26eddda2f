public import StetStore

// Types of StetStore that the code of `@Model` uses: they are not re-exported under their names.

/// The index of a property.
public typealias _Slot = Slot

/// The reader of a record.
public typealias _RecordReader = RecordReader

/// The writer of a record.
public typealias _RecordWriter = RecordWriter
