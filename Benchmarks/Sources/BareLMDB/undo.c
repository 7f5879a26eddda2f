#include <errno.h>

#include "format.h"

// The inverse of an update, from its own journal entry: what it has changed gets the value of
// before, where that of the update is still there.

// The body of the last commit's entry, without the headers of its chunks; free it.
static int read_last(
    BareStore *store, MDB_txn *transaction, uint8_t **body, size_t *change_count) {
    uint8_t name[12];
    put64(name, __builtin_bswap64(store->revision));
    put32(name + 8, 0);
    MDB_val key = {sizeof name, name}, value;
    MDB_cursor *cursor;
    int code = mdb_cursor_open(transaction, store->journal, &cursor);
    if (code) return code;
    code = mdb_cursor_get(cursor, &key, &value, MDB_SET_KEY);
    if (!code) {
        const uint8_t *envelope = value.mv_data;
        uint32_t chunks = get32(envelope + 160);
        *change_count = get32(envelope + 4);
        uint8_t *to = *body = malloc(get64(envelope + 168));
        if (!to) code = ENOMEM;
        for (uint32_t chunk = 0; chunk < chunks && !code; chunk++) {
            if (chunk) code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
            if (code) break;
            size_t header = CHUNK_HEADER_COUNT + (chunk ? 0 : ENVELOPE_COUNT);
            memcpy(to, (const uint8_t *)value.mv_data + header, value.mv_size - header);
            to += value.mv_size - header;
        }
    }
    mdb_cursor_close(cursor);
    return code;
}

static bool has_title(const BareArticle *article, const uint8_t *title) {
    uint32_t count = get32(title);
    return article->title_count == count && !memcmp(article->title, title + 4, count);
}

// The context is an array of pointers to the cells of changes.
static int take_back(const void *context, size_t index, BareArticle *article) {
    const uint8_t *from = ((const uint8_t *const *)context)[index];
    uint16_t cells = get16(from);
    from += 2;
    for (uint16_t cell = 0; cell < cells; cell++) {
        bool is_title = get16(from) == 0;
        const uint8_t *before = from + CELL_HEADER_COUNT;
        const uint8_t *after = before + (is_title ? 4 + get32(before) : 8);
        from = after + (is_title ? 4 + get32(after) : 8);
        if (is_title && has_title(article, after)) {
            article->title = (const char *)before + 4;
            article->title_count = get32(before);
        } else if (!is_title && article->rating == (int64_t)get64(after)) {
            article->rating = (int64_t)get64(before);
        } else {
            return EBUSY;
        }
    }
    return 0;
}

int bare_undo(BareStore *store) {
    MDB_txn *transaction;
    uint8_t *body = NULL;
    size_t count = 0;
    int code = mdb_txn_begin(store->environment, NULL, MDB_RDONLY, &transaction);
    if (code) return code;
    code = read_last(store, transaction, &body, &count);
    mdb_txn_abort(transaction);
    BareID *ids = malloc(count * sizeof *ids);
    const uint8_t **cells = malloc(count * sizeof *cells);
    if (!code && !(ids && cells)) code = ENOMEM;
    const uint8_t *from = body + (code ? 0 : get32(body));
    for (size_t index = 0; index < count && !code; index++) {
        if (from[20] != UPDATE) code = EINVAL;
        ids[index] = get_id(from + 24);
        cells[index] = from + CHANGE_HEADER_COUNT;
        from += get32(from);
    }
    if (!code) code = change_stored(store, ids, count, take_back, cells);
    free(ids);
    free(cells);
    free(body);
    return code;
}
