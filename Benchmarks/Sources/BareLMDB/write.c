#include <errno.h>

#include "format.h"

// An object to be written: an article, or a notebook with its name as the title.
typedef struct {
    const BareArticle *article;
    BareID id, notebook;
    int entity;
} Object;

static size_t body_count(const Object *object) {
    const BareArticle *article = object->article;
    if (object->entity == NOTEBOOK) return BITMAP_COUNT + 8 + article->title_count;
    return BITMAP_COUNT + 8 * ARTICLE_SLOT_COUNT + article->title_count + article->body_count
        + ID_COUNT;
}

static uint8_t *put_text(uint8_t *body, uint8_t *tail, int slot, const char *text, uint32_t count) {
    uint64_t word = (uint64_t)(tail - body) | (uint64_t)count << 32 | (uint64_t)1 << 63;
    put64(body + BITMAP_COUNT + 8 * slot, word);
    memcpy(tail, text, count);
    return tail + count;
}

static void put_body(uint8_t *body, const Object *object) {
    const BareArticle *article = object->article;
    memset(body, 0, BITMAP_COUNT);
    if (object->entity == NOTEBOOK) {
        put_text(body, body + BITMAP_COUNT + 8, 0, article->title, article->title_count);
        return;
    }
    uint8_t *slots = body + BITMAP_COUNT;
    uint8_t *tail = slots + 8 * ARTICLE_SLOT_COUNT;
    tail = put_text(body, tail, 0, article->title, article->title_count);
    tail = put_text(body, tail, 1, article->body, article->body_count);
    put64(slots + 16, (uint64_t)article->rating);
    memcpy(slots + 24, &article->created, 8);
    put64(slots + 32, (uint64_t)(tail - body) | (uint64_t)ID_COUNT << 32);
    put_id(tail, object->notebook);
}

// MARK: The journal

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

static uint8_t *put_change(BareStore *store, uint8_t *to, const Object *object) {
    size_t count = body_count(object);
    put32(to, (uint32_t)(CHANGE_HEADER_COUNT + count));
    put64(to + 4, next_random(store));
    put64(to + 12, next_random(store));
    to[20] = 1;
    to[21] = 0;
    put16(to + 22, (uint16_t)object->entity);
    put_id(to + 24, object->id);
    put64(to + 40, 0);
    put_body(to + CHANGE_HEADER_COUNT, object);
    return to + CHANGE_HEADER_COUNT + count;
}

// How many objects from `first` on fit a chunk with so many bytes taken; the chunk's size.
static size_t fit(const Object *objects, size_t first, size_t count, size_t *taken) {
    size_t end = first;
    for (; end < count; end++) {
        size_t next = CHANGE_HEADER_COUNT + body_count(&objects[end]);
        if (*taken + next > CHUNK_COUNT) break;
        *taken += next;
    }
    return end;
}

static int put_journal(
    BareStore *store, MDB_txn *transaction, const Object *objects, size_t count) {
    // The first pass only counts: the envelope says how many chunks and bytes follow.
    size_t chunks = 0, bytes = ATTRIBUTES_COUNT;
    for (size_t next = 0; chunks == 0 || next < count; chunks++) {
        size_t taken = CHUNK_HEADER_COUNT + (chunks == 0 ? ENVELOPE_COUNT + ATTRIBUTES_COUNT : 0);
        next = fit(objects, next, count, &taken);
    }
    for (size_t index = 0; index < count; index++) {
        bytes += CHANGE_HEADER_COUNT + body_count(&objects[index]);
    }
    uint64_t revision = store->revision + 1;
    size_t first = 0;
    for (size_t chunk = 0; chunk < chunks; chunk++) {
        size_t size = CHUNK_HEADER_COUNT + (chunk == 0 ? ENVELOPE_COUNT + ATTRIBUTES_COUNT : 0);
        size_t end = fit(objects, first, count, &size);
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
        for (; first < end; first++) to = put_change(store, to, &objects[first]);
    }
    return 0;
}

// MARK: Records, references, head

static int put_records(
    BareStore *store, MDB_txn *transaction, const Object *objects, size_t count) {
    uint64_t revision = store->revision + 1;
    for (size_t index = 0; index < count; index++) {
        const Object *object = &objects[index];
        size_t body = body_count(object);
        uint8_t name[ID_COUNT];
        put_id(name, object->id);
        MDB_val key = {ID_COUNT, name}, value = {RECORD_HEADER_COUNT + body, NULL};
        MDB_dbi table = object->entity == ARTICLE ? store->articles : store->notebooks;
        int code = mdb_put(transaction, table, &key, &value, MDB_RESERVE | MDB_APPEND);
        if (code) return code;
        uint8_t *header = value.mv_data;
        put_body(header + RECORD_HEADER_COUNT, object);
        header[0] = 1;
        header[1] = 0;
        put16(header + 2, 1);
        put32(
            header + 4,
            record_checksum(header + RECORD_HEADER_COUNT, body, object->id, 1, revision));
        put64(header + 8, revision);
    }
    return 0;
}

typedef struct {
    BareID target, source;
} Reference;

static int compare_references(const void *one, const void *other) {
    const Reference *a = one, *b = other;
    if (a->target.high != b->target.high) return a->target.high < b->target.high ? -1 : 1;
    if (a->target.low != b->target.low) return a->target.low < b->target.low ? -1 : 1;
    if (a->source.high != b->source.high) return a->source.high < b->source.high ? -1 : 1;
    return a->source.low < b->source.low ? -1 : a->source.low > b->source.low;
}

static int put_references(
    BareStore *store, MDB_txn *transaction, const Object *objects, size_t count) {
    Reference *references = malloc(count * sizeof *references);
    if (!references) return ENOMEM;
    size_t found = 0;
    for (size_t index = 0; index < count; index++) {
        if (objects[index].entity != ARTICLE) continue;
        references[found++] = (Reference){objects[index].notebook, objects[index].id};
    }
    qsort(references, found, sizeof *references, compare_references);
    int code = 0;
    for (size_t index = 0; index < found && !code; index++) {
        uint8_t name[REFERENCE_KEY_COUNT];
        put_id(name, references[index].target);
        put16(name + 16, __builtin_bswap16(ARTICLE));
        put16(name + 18, __builtin_bswap16(4));
        put_id(name + 20, references[index].source);
        MDB_val key = {sizeof name, name}, value = {0, NULL};
        code = mdb_put(transaction, store->references, &key, &value, 0);
    }
    free(references);
    return code;
}

static int put_head(BareStore *store, MDB_txn *transaction) {
    uint8_t head[HEAD_COUNT] = {0};
    put64(head, store->revision + 1);
    put32(head + 48, 1);
    MDB_val key = {4, "head"}, value = {HEAD_COUNT, head};
    return mdb_put(transaction, store->unnamed, &key, &value, 0);
}

// MARK: Commits

// Everything of one commit but LMDB's own. The revision moves on; after a failure the store is of
// no use.
static int put_commit(
    BareStore *store, MDB_txn *transaction, const Object *objects, size_t count) {
    int code = store->journals ? put_journal(store, transaction, objects, count) : 0;
    if (!code) code = put_records(store, transaction, objects, count);
    if (!code) code = put_references(store, transaction, objects, count);
    if (!code) code = put_head(store, transaction);
    store->revision++;
    return code;
}

static BareID next_id(BareStore *store) {
    store->last_id.low += (next_random(store) >> 32) + 1;
    return store->last_id;
}

static Object make_object(BareStore *store, const BareArticle *article) {
    return (Object){
        .article = article,
        .id = next_id(store),
        .notebook = store->notebook_ids[article->notebook],
        .entity = ARTICLE,
    };
}

int put_article(BareStore *store, MDB_txn *transaction, const BareArticle *article) {
    Object object = make_object(store, article);
    return put_commit(store, transaction, &object, 1);
}

static int finish(MDB_txn *transaction, int code) {
    if (!code) return mdb_txn_commit(transaction);
    mdb_txn_abort(transaction);
    return code;
}

int bare_commit(BareStore *store, const BareArticle *articles, size_t count, BareID *ids) {
    MDB_txn *transaction;
    Object *objects = malloc(count * sizeof *objects);
    if (!objects) return ENOMEM;
    // What threads share, ids and revision, is guarded by LMDB's lock of the writer.
    int code = mdb_txn_begin(store->environment, NULL, 0, &transaction);
    if (!code) {
        for (size_t index = 0; index < count; index++) {
            objects[index] = make_object(store, &articles[index]);
            if (ids) ids[index] = objects[index].id;
        }
        code = finish(transaction, put_commit(store, transaction, objects, count));
    }
    free(objects);
    return code;
}

int bare_commit_notebooks(BareStore *store, uint32_t count) {
    Object *objects = malloc(count * sizeof *objects);
    BareArticle name = {.title = "Notebook", .title_count = 8};
    MDB_txn *transaction;
    store->notebook_ids = malloc(count * sizeof *store->notebook_ids);
    int code = objects && store->notebook_ids ? 0 : ENOMEM;
    if (!code) code = mdb_txn_begin(store->environment, NULL, 0, &transaction);
    if (!code) {
        store->notebook_count = count;
        for (uint32_t index = 0; index < count; index++) {
            store->notebook_ids[index] = next_id(store);
            objects[index] = (Object){
                .article = &name, .id = store->notebook_ids[index], .entity = NOTEBOOK};
        }
        code = finish(transaction, put_commit(store, transaction, objects, count));
    }
    free(objects);
    return code;
}
