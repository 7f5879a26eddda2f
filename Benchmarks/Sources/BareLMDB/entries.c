#include <errno.h>

#include "format.h"

// The entries of indexes, sorted before they are put.

// Of titles and of ratings, in the order of their slots.
enum { TITLE_INDEX = 1, RATING_INDEX = 2 };

typedef struct {
    uint8_t count;
    uint8_t bytes[ENTRY_MAXIMUM];
} Entry;

typedef struct {
    size_t count;
    Entry *entries;
} Entries;

static int compare_entries(const void *one, const void *other) {
    const Entry *a = one, *b = other;
    int order = memcmp(a->bytes, b->bytes, a->count < b->count ? a->count : b->count);
    return order ? order : (int)a->count - (int)b->count;
}

static void add_title(Entries *entries, const BareArticle *article, BareID id) {
    Entry *entry = &entries->entries[entries->count++];
    uint8_t *to = entry->bytes;
    put16(to, __builtin_bswap16(TITLE_INDEX));
    to[2] = 1;
    to += 3;
    for (uint32_t index = 0; index < article->title_count; index++) {
        *to++ = (uint8_t)article->title[index];
        if (article->title[index] == 0) *to++ = 255;
    }
    *to++ = 0;
    *to++ = 0;
    put_id(to, id);
    entry->count = (uint8_t)(to + ID_COUNT - entry->bytes);
}

static void add_rating(Entries *entries, const BareArticle *article, BareID id) {
    Entry *entry = &entries->entries[entries->count++];
    put16(entry->bytes, __builtin_bswap16(RATING_INDEX));
    entry->bytes[2] = 1;
    put64(entry->bytes + 3, __builtin_bswap64((uint64_t)article->rating ^ (uint64_t)1 << 63));
    put_id(entry->bytes + 11, id);
    entry->count = 11 + ID_COUNT;
}

static void collect(const Change *change, Entries *removed, Entries *added) {
    if (change->entity != ARTICLE) return;
    const BareArticle *old = change->kind == DELETE ? change->article : change->before;
    const BareArticle *new = change->kind == DELETE ? NULL : change->article;
    bool is_same = old && new && old->title_count == new->title_count
        && !memcmp(old->title, new->title, new->title_count);
    if (old && !is_same) add_title(removed, old, change->id);
    if (new && !is_same) add_title(added, new, change->id);
    is_same = old && new && old->rating == new->rating;
    if (old && !is_same) add_rating(removed, old, change->id);
    if (new && !is_same) add_rating(added, new, change->id);
}

int put_entries(BareStore *store, MDB_txn *transaction, const Change *changes, size_t count) {
    for (size_t index = 0; index < count; index++) {
        if (changes[index].article->title_count > TITLE_MAXIMUM) return EINVAL;
    }
    Entries removed = {0, malloc(2 * count * sizeof(Entry))};
    Entries added = {0, malloc(2 * count * sizeof(Entry))};
    int code = removed.entries && added.entries ? 0 : ENOMEM;
    for (size_t index = 0; index < count && !code; index++) {
        collect(&changes[index], &removed, &added);
    }
    if (!code) qsort(removed.entries, removed.count, sizeof(Entry), compare_entries);
    if (!code) qsort(added.entries, added.count, sizeof(Entry), compare_entries);
    for (size_t index = 0; index < removed.count && !code; index++) {
        MDB_val key = {removed.entries[index].count, removed.entries[index].bytes};
        code = mdb_del(transaction, store->indexes, &key, NULL);
    }
    for (size_t index = 0; index < added.count && !code; index++) {
        MDB_val key = {added.entries[index].count, added.entries[index].bytes};
        uint32_t checksum = entry_checksum(&key);
        MDB_val value = {sizeof checksum, &checksum};
        code = mdb_put(transaction, store->indexes, &key, &value, 0);
    }
    free(removed.entries);
    free(added.entries);
    return code;
}
