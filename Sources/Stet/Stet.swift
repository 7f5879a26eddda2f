// Users of Stet need the public types of StetStore: ids, revisions, commits, errors.
@_exported public import StetStore
