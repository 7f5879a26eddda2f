#include "format.h"

// The journal entry of a commit.

static uint8_t *put_envelope(
    uint8_t *to, uint64_t revision, size_t changes, size_t chunks, size_t count) {
    memset(to, 0, ENVELOPE_COUNT);  // digests stay 0
    to[0] = 1;
    put16(to + 2, 1);
    put32(to + 4, (uint32_t)changes);
    put64(to + 8, revision);
    put64(to + 24, revision - 1);
    put32(to + 56, 1);
    put32(to + 160, (uint32_t)chunks);
    put64(to + 168, count);
    return to + ENVELOPE_COUNT;
}

static uint8_t *put_attributes(BareStore *store, uint8_t *to) {
    memset(to, 0, ATTRIBUTES_COUNT);
    put32(to, ATTRIBUTES_COUNT);
    put64(to + 4, next_random(store));
    put64(to + 12, next_random(store));
    return to + ATTRIBUTES_COUNT;
}

enum { INT = 2, STRING = 5, BEFORE_AND_AFTER = 3 };

static bool changes_title(const Change *change) {
    const BareArticle *old = change->before, *new = change->article;
    return old->title_count != new->title_count
        || memcmp(old->title, new->title, new->title_count);
}

static bool changes_rating(const Change *change) {
    return change->before->rating != change->article->rating;
}

// The bytes of a change in the journal.
static size_t change_count(const Change *change) {
    if (change->kind != UPDATE) return CHANGE_HEADER_COUNT + body_count(change);
    size_t count = CHANGE_HEADER_COUNT + 2;
    if (changes_title(change)) {
        count += CELL_HEADER_COUNT + 8 + change->before->title_count
            + change->article->title_count;
    }
    if (changes_rating(change)) count += CELL_HEADER_COUNT + 16;
    return count;
}

static uint8_t *put_cell(uint8_t *to, uint16_t slot, uint8_t type) {
    put16(to, slot);
    to[2] = type;
    to[3] = BEFORE_AND_AFTER;
    return to + CELL_HEADER_COUNT;
}

static uint8_t *put_title(uint8_t *to, const BareArticle *article) {
    put32(to, article->title_count);
    memcpy(to + 4, article->title, article->title_count);
    return to + 4 + article->title_count;
}

static void put_cells(uint8_t *to, const Change *change) {
    put16(to, (uint16_t)(changes_title(change) + changes_rating(change)));
    to += 2;
    if (changes_title(change)) {
        to = put_cell(to, 0, STRING);
        to = put_title(to, change->before);
        to = put_title(to, change->article);
    }
    if (changes_rating(change)) {
        to = put_cell(to, 2, INT);
        put64(to, (uint64_t)change->before->rating);
        put64(to + 8, (uint64_t)change->article->rating);
    }
}

static uint8_t *put_change(BareStore *store, uint8_t *to, const Change *change) {
    size_t count = change_count(change);
    put32(to, (uint32_t)count);
    put64(to + 4, next_random(store));
    put64(to + 12, next_random(store));
    to[20] = (uint8_t)change->kind;
    to[21] = 0;
    put16(to + 22, (uint16_t)change->entity);
    put_id(to + 24, change->id);
    put64(to + 40, change->base);
    if (change->kind == UPDATE) {
        put_cells(to + CHANGE_HEADER_COUNT, change);
    } else {
        put_body(to + CHANGE_HEADER_COUNT, change);
    }
    return to + count;
}

// How many changes from `first` on fit a chunk with so many bytes taken; the chunk's size.
static size_t fit(const Change *changes, size_t first, size_t count, size_t *taken) {
    size_t end = first;
    for (; end < count; end++) {
        size_t next = change_count(&changes[end]);
        if (*taken + next > CHUNK_COUNT) break;
        *taken += next;
    }
    return end;
}

int put_journal(BareStore *store, MDB_txn *transaction, const Change *changes, size_t count) {
    // The first pass only counts: the envelope says how many chunks and bytes follow.
    size_t chunks = 0, bytes = ATTRIBUTES_COUNT;
    for (size_t next = 0; chunks == 0 || next < count; chunks++) {
        size_t taken = CHUNK_HEADER_COUNT + (chunks == 0 ? ENVELOPE_COUNT + ATTRIBUTES_COUNT : 0);
        next = fit(changes, next, count, &taken);
    }
    for (size_t index = 0; index < count; index++) bytes += change_count(&changes[index]);
    uint64_t revision = store->revision + 1;
    size_t first = 0;
    for (size_t chunk = 0; chunk < chunks; chunk++) {
        size_t size = CHUNK_HEADER_COUNT + (chunk == 0 ? ENVELOPE_COUNT + ATTRIBUTES_COUNT : 0);
        size_t end = fit(changes, first, count, &size);
        uint8_t name[12];
        put64(name, __builtin_bswap64(revision));
        put32(name + 8, __builtin_bswap32((uint32_t)chunk));
        MDB_val key = {sizeof name, name}, value = {size, NULL};
        int code = mdb_put(transaction, store->journal, &key, &value, MDB_RESERVE | MDB_APPEND);
        if (code) return code;
        uint8_t *to = value.mv_data;
        if (chunk == 0) to = put_envelope(to, revision, count, chunks, bytes);
        put32(to, (uint32_t)first);
        put32(to + 4, (uint32_t)(end - first));
        to += CHUNK_HEADER_COUNT;
        if (chunk == 0) to = put_attributes(store, to);
        for (; first < end; first++) to = put_change(store, to, &changes[first]);
    }
    return 0;
}
