// What StetStore makes public (ids, revisions, commits, errors) is part of what users import with
// Stet.
@_exported public import StetStore
