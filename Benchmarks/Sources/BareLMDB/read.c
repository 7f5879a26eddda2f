#define _GNU_SOURCE
#include <errno.h>

#include "format.h"

static bool locate(
    const uint8_t *body, size_t count, int slot, const char **text, uint32_t *length) {
    uint64_t word = get64(body + BITMAP_COUNT + 8 * slot);
    uint64_t offset = word & 0xffffffffu;
    *length = (uint32_t)(word >> 32 & 0x7fffffff);
    *text = (const char *)body + offset;
    return offset + *length <= count;
}

bool is_tombstone(const MDB_val *value) {
    return value->mv_size == RECORD_HEADER_COUNT && ((const uint8_t *)value->mv_data)[1] == 1;
}

bool decode_article(const MDB_val *value, BareID id, uint64_t newest, Article *article) {
    const uint8_t *record = value->mv_data;
    size_t fixed = RECORD_HEADER_COUNT + BITMAP_COUNT + 8 * ARTICLE_SLOT_COUNT;
    if (value->mv_size < fixed || record[0] != 1 || record[1] != 0) return false;
    const uint8_t *body = record + RECORD_HEADER_COUNT;
    size_t count = value->mv_size - RECORD_HEADER_COUNT;
    article->revision = get64(record + 8);
    uint32_t checksum = record_checksum(body, count, id, record, article->revision);
    if (checksum != get32(record + 4) || article->revision > newest) return false;
    const char *notebook;
    uint32_t notebook_count;
    if (!locate(body, count, 0, &article->title, &article->title_count)) return false;
    if (!locate(body, count, 1, &article->body, &article->body_count)) return false;
    if (!locate(body, count, 4, &notebook, &notebook_count)) return false;
    article->rating = (int64_t)get64(body + BITMAP_COUNT + 16);
    memcpy(&article->created, body + BITMAP_COUNT + 24, 8);
    article->notebook = get_id((const uint8_t *)notebook);
    return notebook_count == ID_COUNT;
}

static void add(BareTotals *totals, const Article *article) {
    totals->count++;
    totals->title_byte_count += article->title_count;
    totals->body_byte_count += article->body_count;
    totals->rating_sum += article->rating;
    totals->created_sum += (int64_t)article->created;
}

// FNV-1a.
static uint64_t hash_text(uint64_t hash, const char *text, uint32_t count) {
    for (uint32_t index = 0; index < count; index++) {
        hash = (hash ^ (uint8_t)text[index]) * 0x100000001b3u;
    }
    return hash;
}

static int compare_ids(const void *one, const void *other) {
    const BareID *a = one, *b = other;
    if (a->high != b->high) return a->high < b->high ? -1 : 1;
    return a->low < b->low ? -1 : a->low > b->low;
}

// The ids of all notebooks, which ascend with their positions.
static int load_notebooks(BareStore *store) {
    MDB_stat status;
    MDB_cursor *cursor;
    MDB_val key, value;
    int code = mdb_stat(store->reader, store->notebooks, &status);
    if (code || store->notebook_ids) return code;
    store->notebook_ids = malloc((status.ms_entries + 1) * sizeof *store->notebook_ids);
    if (!store->notebook_ids) return ENOMEM;
    code = mdb_cursor_open(store->reader, store->notebooks, &cursor);
    if (code) return code;
    while (!(code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT))) {
        store->notebook_ids[store->notebook_count++] = get_id(key.mv_data);
    }
    mdb_cursor_close(cursor);
    return code == MDB_NOTFOUND ? 0 : code;
}

// A sum, because the programs' articles are in different orders once many writers have written. All
// properties are in one product, so that none can be another article's.
static void add_hash(BareStore *store, BareTotals *totals, const Article *article) {
    const BareID *found = bsearch(
        &article->notebook, store->notebook_ids, store->notebook_count, sizeof *found, compare_ids);
    uint64_t position = found ? (uint64_t)(found - store->notebook_ids) + 1 : 0;
    uint64_t hash = hash_text(0xcbf29ce484222325u, article->title, article->title_count);
    hash = hash_text(hash, article->body, article->body_count);
    hash = (hash ^ (uint64_t)article->rating) * 0x100000001b3u;
    hash = (hash ^ (uint64_t)(int64_t)article->created) * 0x100000001b3u;
    totals->hash += hash * position;
}

// MARK: One buffer for all

// Keeps the compiler from leaving the copies out.
static inline void keep(const void *pointer) { __asm__ volatile("" : : "r"(pointer) : "memory"); }

static char *copy_out(const Article *article, char *buffer, size_t *capacity) {
    size_t count = (size_t)article->title_count + article->body_count;
    if (count > *capacity) {
        free(buffer);
        *capacity = 2 * count;
        buffer = malloc(*capacity);
        if (!buffer) return NULL;
    }
    memcpy(buffer, article->title, article->title_count);
    memcpy(buffer + article->title_count, article->body, article->body_count);
    keep(buffer);
    return buffer;
}

int bare_scan(BareStore *store, bool hashes, BareTotals *totals) {
    size_t capacity = 1024;
    char *buffer = malloc(capacity);
    MDB_cursor *cursor;
    MDB_val key, value;
    Article article;
    *totals = (BareTotals){0};
    int code = mdb_txn_renew(store->reader);
    if (!code && hashes) code = load_notebooks(store);
    if (!code) code = mdb_cursor_open(store->reader, store->articles, &cursor);
    if (code || !buffer) return code ? code : ENOMEM;
    while (!(code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT))) {
        if (is_tombstone(&value)) continue;
        if (!decode_article(&value, get_id(key.mv_data), store->revision, &article)) {
            code = MDB_CORRUPTED;
            break;
        }
        buffer = copy_out(&article, buffer, &capacity);
        if (!buffer) break;
        add(totals, &article);
        if (hashes) add_hash(store, totals, &article);
    }
    free(buffer);
    mdb_cursor_close(cursor);
    mdb_txn_reset(store->reader);
    return code == MDB_NOTFOUND ? 0 : buffer ? code : ENOMEM;
}

int bare_get(
    BareStore *store, const BareID *ids, size_t count, bool one_scope, BareTotals *totals) {
    size_t capacity = 1024;
    char *buffer = malloc(capacity);
    Article article;
    *totals = (BareTotals){0};
    int code = buffer ? 0 : ENOMEM;
    if (!code && one_scope) code = mdb_txn_renew(store->reader);
    for (size_t index = 0; index < count && !code; index++) {
        uint8_t name[ID_COUNT];
        put_id(name, ids[index]);
        MDB_val key = {ID_COUNT, name}, value;
        if (!one_scope) code = mdb_txn_renew(store->reader);
        if (code) break;
        code = mdb_get(store->reader, store->articles, &key, &value);
        if (!code && !decode_article(&value, ids[index], store->revision, &article)) {
            code = MDB_CORRUPTED;
        }
        if (!code) {
            buffer = copy_out(&article, buffer, &capacity);
            if (!buffer) code = ENOMEM;
            add(totals, &article);
        }
        if (!one_scope) mdb_txn_reset(store->reader);
    }
    if (one_scope) mdb_txn_reset(store->reader);
    free(buffer);
    return code;
}

// Called with each article of a notebook, in the order of its list.
typedef int (*Visit)(void *context, const Article *article);

static int for_each_article(
    BareStore *store, MDB_cursor *members, BareID notebook, Visit visit, void *context) {
    uint8_t prefix[MEMBERS_PREFIX_COUNT];
    put_members_prefix(prefix, notebook);
    MDB_val key = {sizeof prefix, prefix}, chunk, value;
    Article article;
    int code = mdb_cursor_get(members, &key, &chunk, MDB_SET_RANGE);
    while (!code && is_list_of(&key, prefix)) {
        uint8_t *bytes = chunk.mv_data;
        if (get32(bytes) != members_checksum(&key, &chunk)) return MDB_CORRUPTED;
        for (size_t start = MEMBERS_HEADER_COUNT; start < chunk.mv_size; start += ID_COUNT) {
            MDB_val name = {ID_COUNT, bytes + start};
            code = mdb_get(store->reader, store->articles, &name, &value);
            if (code) return code;
            if (!decode_article(&value, get_id(bytes + start), store->revision, &article)) {
                return MDB_CORRUPTED;
            }
            code = visit(context, &article);
            if (code) return code;
        }
        code = mdb_cursor_get(members, &key, &chunk, MDB_NEXT);
    }
    return code == MDB_NOTFOUND ? 0 : code;
}

typedef struct {
    char *buffer;
    size_t capacity;
    BareTotals *totals;
} Walk;

static int add_title(void *context, const Article *article) {
    Walk *walk = context;
    walk->buffer = copy_out(article, walk->buffer, &walk->capacity);
    if (!walk->buffer) return ENOMEM;
    walk->totals->count++;
    walk->totals->title_byte_count += article->title_count;
    return 0;
}

int bare_walk(BareStore *store, BareTotals *totals) {
    Walk walk = {malloc(1024), 1024, totals};
    MDB_cursor *notebooks = NULL, *members = NULL;
    MDB_val key, value;
    *totals = (BareTotals){0};
    int code = walk.buffer ? mdb_txn_renew(store->reader) : ENOMEM;
    if (!code) code = mdb_cursor_open(store->reader, store->notebooks, &notebooks);
    if (!code) code = mdb_cursor_open(store->reader, store->members, &members);
    while (!code && !(code = mdb_cursor_get(notebooks, &key, &value, MDB_NEXT))) {
        code = for_each_article(store, members, get_id(key.mv_data), add_title, &walk);
    }
    if (notebooks) mdb_cursor_close(notebooks);
    if (members) mdb_cursor_close(members);
    mdb_txn_reset(store->reader);
    free(walk.buffer);
    return code == MDB_NOTFOUND ? 0 : code;
}

// MARK: Queries

typedef struct {
    Article *articles;
    size_t count, capacity;
} ArticleList;

static int add_to_list(void *context, const Article *article) {
    ArticleList *list = context;
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 256;
        Article *grown = realloc(list->articles, list->capacity * sizeof *list->articles);
        if (!grown) return ENOMEM;
        list->articles = grown;
    }
    list->articles[list->count++] = *article;
    return 0;
}

static int compare_titles(const void *one, const void *other) {
    const Article *a = one, *b = other;
    uint32_t count = a->title_count < b->title_count ? a->title_count : b->title_count;
    int order = memcmp(a->title, b->title, count);
    if (order) return order;
    return a->title_count < b->title_count ? -1 : a->title_count > b->title_count;
}

int bare_sorted(
    BareStore *store, uint32_t first_notebook, uint32_t notebook_count, BareTotals *totals) {
    size_t capacity = 1024;
    char *buffer = malloc(capacity);
    ArticleList list = {0};
    MDB_cursor *members = NULL;
    *totals = (BareTotals){.hash = 0xcbf29ce484222325u};
    int code = buffer ? mdb_txn_renew(store->reader) : ENOMEM;
    if (!code) code = load_notebooks(store);
    if (!code) code = mdb_cursor_open(store->reader, store->members, &members);
    for (uint32_t index = 0; index < notebook_count && !code; index++) {
        code = for_each_article(
            store, members, store->notebook_ids[first_notebook + index], add_to_list, &list);
    }
    if (!code) qsort(list.articles, list.count, sizeof *list.articles, compare_titles);
    for (size_t index = 0; index < list.count && !code; index++) {
        const Article *article = &list.articles[index];
        buffer = copy_out(article, buffer, &capacity);
        if (!buffer) code = ENOMEM;
        totals->count++;
        totals->hash = hash_text(totals->hash, article->title, article->title_count);
    }
    if (members) mdb_cursor_close(members);
    mdb_txn_reset(store->reader);
    free(list.articles);
    free(buffer);
    return code;
}

int bare_count(BareStore *store, const char *text, size_t byte_count, uint64_t *count) {
    MDB_cursor *cursor;
    MDB_val key, value;
    *count = 0;
    int code = mdb_txn_renew(store->reader);
    if (!code) code = mdb_cursor_open(store->reader, store->articles, &cursor);
    if (code) return code;
    while (!(code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT))) {
        if (is_tombstone(&value)) continue;
        const uint8_t *record = value.mv_data;
        const char *body;
        uint32_t length;
        size_t fixed = RECORD_HEADER_COUNT + BITMAP_COUNT + 8 * ARTICLE_SLOT_COUNT;
        if (value.mv_size < fixed || record[0] != 1 || get64(record + 8) > store->revision
            || !locate(
                record + RECORD_HEADER_COUNT, value.mv_size - RECORD_HEADER_COUNT, 1, &body,
                &length)) {
            code = MDB_CORRUPTED;
            break;
        }
        if (memmem(body, length, text, byte_count)) *count += 1;
    }
    mdb_cursor_close(cursor);
    mdb_txn_reset(store->reader);
    return code == MDB_NOTFOUND ? 0 : code;
}

// MARK: Structs that stay

typedef struct {
    BareID id, notebook;
    uint64_t revision;
    char *title, *body;
    uint32_t title_count, body_count;
    int64_t rating;
    double created;
} KeptArticle;

struct BareObjects {
    size_t count, capacity;
    KeptArticle **articles;
};

static char *copy_text(const char *text, uint32_t count) {
    char *copy = malloc(count ? count : 1);
    if (copy) memcpy(copy, text, count);
    return copy;
}

static bool keep_article(BareObjects *objects, BareID id, const Article *article) {
    if (objects->count == objects->capacity) {
        objects->capacity = objects->capacity ? 2 * objects->capacity : 1024;
        KeptArticle **grown = realloc(
            objects->articles, objects->capacity * sizeof *objects->articles);
        if (!grown) return false;
        objects->articles = grown;
    }
    KeptArticle *kept = malloc(sizeof *kept);
    if (!kept) return false;
    *kept = (KeptArticle){
        .id = id,
        .notebook = article->notebook,
        .title = copy_text(article->title, article->title_count),
        .body = copy_text(article->body, article->body_count),
        .title_count = article->title_count,
        .body_count = article->body_count,
        .rating = article->rating,
        .created = article->created,
    };
    objects->articles[objects->count++] = kept;
    return kept->title && kept->body;
}

int bare_fetch(BareStore *store, BareTotals *totals, BareObjects **result) {
    BareObjects *objects = calloc(1, sizeof *objects);
    MDB_cursor *cursor;
    MDB_val key, value;
    Article article;
    *totals = (BareTotals){0};
    int code = mdb_txn_renew(store->reader);
    if (!code) code = mdb_cursor_open(store->reader, store->articles, &cursor);
    if (code || !objects) return code ? code : ENOMEM;
    while (!(code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT))) {
        BareID id = get_id(key.mv_data);
        if (!decode_article(&value, id, store->revision, &article)) {
            code = MDB_CORRUPTED;
        } else if (!keep_article(objects, id, &article)) {
            code = ENOMEM;
        }
        if (code) break;
        // The properties are read from the struct, as they are from an object.
        const KeptArticle *kept = objects->articles[objects->count - 1];
        totals->count++;
        totals->title_byte_count += kept->title_count;
        totals->body_byte_count += kept->body_count;
        totals->rating_sum += kept->rating;
        totals->created_sum += (int64_t)kept->created;
    }
    mdb_cursor_close(cursor);
    mdb_txn_reset(store->reader);
    *result = objects;
    return code == MDB_NOTFOUND ? 0 : code;
}

void bare_free(BareObjects *objects) {
    for (size_t index = 0; index < objects->count; index++) {
        free(objects->articles[index]->title);
        free(objects->articles[index]->body);
        free(objects->articles[index]);
    }
    free(objects->articles);
    free(objects);
}
