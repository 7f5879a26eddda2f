#include <errno.h>

#include "format.h"

// The lists of the articles of each notebook, in chunks, as Stet's tree of members has them.

typedef struct {
    BareID owner, member;
} MemberEdit;

static int compare_ids(BareID one, BareID other) {
    if (one.high != other.high) return one.high < other.high ? -1 : 1;
    return one.low < other.low ? -1 : one.low > other.low;
}

static int compare_edits(const void *one, const void *other) {
    const MemberEdit *a = one, *b = other;
    int order = compare_ids(a->owner, b->owner);
    return order ? order : compare_ids(a->member, b->member);
}

void put_members_prefix(uint8_t *to, BareID owner) {
    put16(to, __builtin_bswap16(ARTICLES_END));
    put_id(to + 2, owner);
}

bool is_list_of(const MDB_val *key, const uint8_t *prefix) {
    return key->mv_size >= MEMBERS_PREFIX_COUNT
        && !memcmp(key->mv_data, prefix, MEMBERS_PREFIX_COUNT);
}

// Moves to the last chunk whose key is at most `wanted`.
static int seek_backwards(MDB_cursor *cursor, MDB_val wanted, MDB_val *key, MDB_val *value) {
    *key = wanted;
    int code = mdb_cursor_get(cursor, key, value, MDB_SET_RANGE);
    if (code == MDB_NOTFOUND) return mdb_cursor_get(cursor, key, value, MDB_LAST);
    if (code) return code;
    if (key->mv_size == wanted.mv_size && !memcmp(key->mv_data, wanted.mv_data, key->mv_size)) {
        return 0;
    }
    return mdb_cursor_get(cursor, key, value, MDB_PREV);
}

static size_t entry_count(const MDB_val *value) {
    return (value->mv_size - MEMBERS_HEADER_COUNT) / ID_COUNT;
}

static BareID entry(const MDB_val *value, size_t index) {
    return get_id((const uint8_t *)value->mv_data + MEMBERS_HEADER_COUNT + index * ID_COUNT);
}

// Room for the entries of two chunks and all edits of a commit.
typedef struct {
    BareID *ids;
    size_t count;
    bool is_appended;
} Merged;

static void merge(
    Merged *merged, const MDB_val *value, const MemberEdit *edits, size_t count, bool removes) {
    size_t next = 0;
    merged->count = 0;
    for (size_t index = 0; value && index < entry_count(value); index++) {
        BareID id = entry(value, index);
        while (next < count && compare_ids(edits[next].member, id) < 0) {
            if (!removes) merged->ids[merged->count++] = edits[next].member;
            next++;
        }
        if (next < count && compare_ids(edits[next].member, id) == 0) {
            next++;
            if (removes) continue;
        }
        merged->ids[merged->count++] = id;
    }
    merged->is_appended = next == 0;
    for (; next < count; next++) {
        if (!removes) merged->ids[merged->count++] = edits[next].member;
    }
}

static int put_chunk(
    BareStore *store, MDB_txn *transaction, MDB_val key, const BareID *ids, size_t count) {
    MDB_val value = {MEMBERS_HEADER_COUNT + count * ID_COUNT, NULL};
    int code = mdb_put(transaction, store->members, &key, &value, MDB_RESERVE);
    if (code) return code;
    uint8_t *to = value.mv_data;
    put16(to + 4, (uint16_t)count);
    put16(to + 6, (uint16_t)count);
    for (size_t index = 0; index < count; index++) {
        put_id(to + MEMBERS_HEADER_COUNT + index * ID_COUNT, ids[index]);
    }
    put32(to, members_checksum(&key, &value));
    return 0;
}

// Writes entries in the place of a chunk, as one or more: of the same size, or full where members
// were appended.
static int put_chunks(
    BareStore *store, MDB_txn *transaction, MDB_val first, const Merged *merged) {
    size_t bytes = merged->count * ID_COUNT, part = merged->count;
    if (bytes > MEMBERS_BYTE_LIMIT) {
        size_t parts = (bytes + MEMBERS_BYTE_LIMIT - 1) / MEMBERS_BYTE_LIMIT;
        part = (merged->is_appended ? MEMBERS_BYTE_LIMIT : (bytes + parts - 1) / parts) / ID_COUNT;
    }
    uint8_t name[MEMBERS_KEY_COUNT];
    memcpy(name, first.mv_data, MEMBERS_PREFIX_COUNT);
    for (size_t start = 0; start < merged->count; start += part) {
        size_t count = merged->count - start < part ? merged->count - start : part;
        MDB_val key = first;
        if (start) {
            put_id(name + MEMBERS_PREFIX_COUNT, merged->ids[start]);
            key = (MDB_val){sizeof name, name};
        }
        int code = put_chunk(store, transaction, key, merged->ids + start, count);
        if (code) return code;
    }
    return 0;
}

// Carries out the first edits of an owner that belong to one chunk; how many these are.
static int edit_chunk(
    BareStore *store, MDB_txn *transaction, MDB_cursor *cursor, const MemberEdit *edits, size_t *count,
    bool removes, Merged *merged) {
    uint8_t wanted[MEMBERS_KEY_COUNT], first[MEMBERS_KEY_COUNT], next[MEMBERS_KEY_COUNT];
    put_members_prefix(wanted, edits[0].owner);
    put_id(wanted + MEMBERS_PREFIX_COUNT, edits[0].member);
    MDB_val key, value, bound, following;
    int code = seek_backwards(cursor, (MDB_val){sizeof wanted, wanted}, &key, &value);
    if (code && code != MDB_NOTFOUND) return code;
    bool is_there = !code && is_list_of(&key, wanted);
    MDB_val place = {MEMBERS_PREFIX_COUNT, wanted};
    if (is_there) {
        memcpy(first, key.mv_data, key.mv_size);
        place = (MDB_val){key.mv_size, first};
        code = mdb_cursor_get(cursor, &bound, &following, MDB_NEXT);
    } else {
        bound = place;
        code = mdb_cursor_get(cursor, &bound, &following, MDB_SET_RANGE);
    }
    if (code && code != MDB_NOTFOUND) return code;
    bool is_bounded = !code && is_list_of(&bound, wanted);
    if (is_bounded) {
        memcpy(next, bound.mv_data, bound.mv_size);
        BareID end = get_id(next + MEMBERS_PREFIX_COUNT);
        size_t taken = 0;
        while (taken < *count && compare_ids(edits[taken].member, end) < 0) taken++;
        *count = taken;
    }
    merge(merged, is_there ? &value : NULL, edits, *count, removes);
    bool is_swallowed = is_bounded && merged->count
        && merged->count * ID_COUNT + following.mv_size <= MEMBERS_BYTE_LIMIT / 2;
    for (size_t index = 0; is_swallowed && index < entry_count(&following); index++) {
        merged->ids[merged->count++] = entry(&following, index);
    }
    if (merged->count) {
        code = put_chunks(store, transaction, place, merged);
    } else {
        code = is_there ? mdb_del(transaction, store->members, &place, NULL) : 0;
    }
    if (code || !is_swallowed) return code;
    MDB_val swallowed = {sizeof next, next};
    return mdb_del(transaction, store->members, &swallowed, NULL);
}

int put_members(BareStore *store, MDB_txn *transaction, const Change *changes, size_t count) {
    // A delete takes away what an insert adds, and an update leaves it alone; a commit has one kind.
    if (count == 0 || changes[0].kind == UPDATE) return 0;
    MemberEdit *edits = malloc(count * sizeof *edits);
    Merged merged = {
        malloc((count + 2 * MEMBERS_BYTE_LIMIT / ID_COUNT) * sizeof *merged.ids), 0, false};
    MDB_cursor *cursor = NULL;
    int code = edits && merged.ids ? 0 : ENOMEM;
    if (!code) code = mdb_cursor_open(transaction, store->members, &cursor);
    size_t found = 0;
    for (size_t index = 0; index < count && !code; index++) {
        if (changes[index].entity != ARTICLE) continue;
        edits[found++] = (MemberEdit){changes[index].notebook, changes[index].id};
    }
    if (!code) qsort(edits, found, sizeof *edits, compare_edits);
    for (size_t start = 0; start < found && !code;) {
        size_t end = start;
        while (end < found && !compare_ids(edits[end].owner, edits[start].owner)) end++;
        size_t taken = end - start;
        code = edit_chunk(
            store, transaction, cursor, edits + start, &taken, changes[0].kind == DELETE, &merged);
        start += taken;
    }
    if (cursor) mdb_cursor_close(cursor);
    free(edits);
    free(merged.ids);
    return code;
}
