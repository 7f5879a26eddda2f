#include <errno.h>

#include "format.h"

size_t body_count(const Change *change) {
    const BareArticle *article = change->article;
    if (change->entity == NOTEBOOK) return BITMAP_COUNT + 8 + article->title_count;
    return BITMAP_COUNT + 8 * ARTICLE_SLOT_COUNT + article->title_count + article->body_count
        + ID_COUNT;
}

static uint8_t *put_text(uint8_t *body, uint8_t *tail, int slot, const char *text, uint32_t count) {
    uint64_t word = (uint64_t)(tail - body) | (uint64_t)count << 32 | (uint64_t)1 << 63;
    put64(body + BITMAP_COUNT + 8 * slot, word);
    memcpy(tail, text, count);
    return tail + count;
}

void put_body(uint8_t *body, const Change *change) {
    const BareArticle *article = change->article;
    memset(body, 0, BITMAP_COUNT);
    if (change->entity == NOTEBOOK) {
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
    put_id(tail, change->notebook);
}

// MARK: Records and head

static void put_header(
    uint8_t *header, const Change *change, size_t body, uint64_t revision) {
    header[0] = 1;
    header[1] = change->kind == DELETE;
    put16(header + 2, 1);
    put32(
        header + 4,
        record_checksum(header + RECORD_HEADER_COUNT, body, change->id, header, revision));
    put64(header + 8, revision);
}

static int put_records(
    BareStore *store, MDB_txn *transaction, const Change *changes, size_t count) {
    uint64_t revision = store->revision + 1;
    for (size_t index = 0; index < count; index++) {
        const Change *change = &changes[index];
        size_t body = change->kind == DELETE ? 0 : body_count(change);
        uint8_t name[ID_COUNT];
        put_id(name, change->id);
        MDB_val key = {ID_COUNT, name}, value = {RECORD_HEADER_COUNT + body, NULL};
        MDB_dbi table = change->entity == ARTICLE ? store->articles : store->notebooks;
        unsigned append = change->kind == INSERT ? MDB_APPEND : 0;
        int code = mdb_put(transaction, table, &key, &value, MDB_RESERVE | append);
        if (code) return code;
        uint8_t *header = value.mv_data;
        if (body) put_body(header + RECORD_HEADER_COUNT, change);
        put_header(header, change, body, revision);
    }
    return 0;
}

static int put_head(BareStore *store, MDB_txn *transaction) {
    uint8_t head[HEAD_COUNT] = {0};
    put64(head, store->revision + 1);
    put32(head + 48, 1);
    MDB_val key = {4, "head"}, value = {HEAD_COUNT, head};
    return mdb_put(transaction, store->unnamed, &key, &value, 0);
}

// MARK: Commits

int put_commit(BareStore *store, MDB_txn *transaction, const Change *changes, size_t count) {
    int code = store->journals ? put_journal(store, transaction, changes, count) : 0;
    if (!code) code = put_records(store, transaction, changes, count);
    if (!code) code = put_members(store, transaction, changes, count);
    if (!code) code = put_entries(store, transaction, changes, count);
    if (!code) code = put_head(store, transaction);
    store->revision++;
    return code;
}

static BareID next_id(BareStore *store) {
    store->last_id.low += (next_random(store) >> 32) + 1;
    return store->last_id;
}

static Change make_insert(BareStore *store, const BareArticle *article) {
    return (Change){
        .kind = INSERT,
        .article = article,
        .id = next_id(store),
        .notebook = store->notebook_ids[article->notebook],
        .entity = ARTICLE,
    };
}

int put_article(BareStore *store, MDB_txn *transaction, const BareArticle *article) {
    Change change = make_insert(store, article);
    return put_commit(store, transaction, &change, 1);
}

static int finish(MDB_txn *transaction, int code) {
    if (!code) return mdb_txn_commit(transaction);
    mdb_txn_abort(transaction);
    return code;
}

int bare_commit(BareStore *store, const BareArticle *articles, size_t count, BareID *ids) {
    MDB_txn *transaction;
    Change *changes = malloc(count * sizeof *changes);
    if (!changes) return ENOMEM;
    // What threads share, ids and revision, is guarded by LMDB's lock of the writer.
    int code = mdb_txn_begin(store->environment, NULL, 0, &transaction);
    if (!code) {
        for (size_t index = 0; index < count; index++) {
            changes[index] = make_insert(store, &articles[index]);
            if (ids) ids[index] = changes[index].id;
        }
        code = finish(transaction, put_commit(store, transaction, changes, count));
    }
    free(changes);
    return code;
}

// MARK: Changes of what is stored

// Reads what the changes, whose ids are there, change: the values before, with texts of their own.
static int read_before(
    BareStore *store, MDB_txn *transaction, Change *changes, BareArticle *before, size_t count) {
    for (size_t index = 0; index < count; index++) {
        Change *change = &changes[index];
        uint8_t name[ID_COUNT];
        put_id(name, change->id);
        MDB_val key = {ID_COUNT, name}, value;
        Article found;
        int code = mdb_get(transaction, store->articles, &key, &value);
        if (code) return code;
        if (!decode_article(&value, change->id, store->revision, &found)) return MDB_CORRUPTED;
        char *text = malloc((size_t)found.title_count + found.body_count + 1);
        if (!text) return ENOMEM;
        memcpy(text, found.title, found.title_count);
        memcpy(text + found.title_count, found.body, found.body_count);
        before[index] = (BareArticle){
            .title = text, .title_count = found.title_count, .body = text + found.title_count,
            .body_count = found.body_count, .rating = found.rating, .created = found.created};
        change->base = found.revision;
        change->notebook = found.notebook;
    }
    return 0;
}

int change_stored(
    BareStore *store, const BareID *ids, size_t count, Edit edit, const void *context) {
    MDB_txn *transaction;
    Change *changes = calloc(count, sizeof *changes);
    BareArticle *before = calloc(count, sizeof *before), *after = calloc(count, sizeof *after);
    int code = changes && before && after ? 0 : ENOMEM;
    if (!code) code = mdb_txn_begin(store->environment, NULL, 0, &transaction);
    if (!code) {
        for (size_t index = 0; index < count; index++) {
            changes[index] = (Change){
                .kind = edit ? UPDATE : DELETE, .entity = ARTICLE, .id = ids[index]};
        }
        code = read_before(store, transaction, changes, before, count);
        for (size_t index = 0; index < count && !code; index++) {
            after[index] = before[index];
            if (edit) {
                code = edit(context, index, &after[index]);
                changes[index].before = &before[index];
            }
            changes[index].article = &after[index];
        }
        if (!code) code = put_commit(store, transaction, changes, count);
        code = finish(transaction, code);
    }
    for (size_t index = 0; before && index < count; index++) free((char *)before[index].title);
    free(changes);
    free(before);
    free(after);
    return code;
}

static int set_title_and_rating(const void *context, size_t index, BareArticle *article) {
    const BareArticle *wanted = (const BareArticle *)context + index;
    article->title = wanted->title;
    article->title_count = wanted->title_count;
    article->rating = wanted->rating;
    return 0;
}

int bare_update(
    BareStore *store, const BareID *ids, const BareArticle *articles, size_t count) {
    return change_stored(store, ids, count, set_title_and_rating, articles);
}

int bare_delete(BareStore *store, const BareID *ids, size_t count) {
    return change_stored(store, ids, count, NULL, NULL);
}

// MARK: Notebooks

int bare_commit_notebooks(BareStore *store, uint32_t count) {
    Change *changes = malloc(count * sizeof *changes);
    BareArticle name = {.title = "Notebook", .title_count = 8};
    MDB_txn *transaction;
    store->notebook_ids = malloc(count * sizeof *store->notebook_ids);
    int code = changes && store->notebook_ids ? 0 : ENOMEM;
    if (!code) code = mdb_txn_begin(store->environment, NULL, 0, &transaction);
    if (!code) {
        store->notebook_count = count;
        for (uint32_t index = 0; index < count; index++) {
            store->notebook_ids[index] = next_id(store);
            changes[index] = (Change){
                .kind = INSERT, .article = &name, .id = store->notebook_ids[index], .entity = NOTEBOOK};
        }
        code = finish(transaction, put_commit(store, transaction, changes, count));
    }
    free(changes);
    return code;
}
