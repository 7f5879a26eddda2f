#ifndef BARE_FORMAT_H
#define BARE_FORMAT_H

#include <lmdb.h>
#include <stdlib.h>
#include <string.h>

#include "include/bare_lmdb.h"

// The sizes of Stet's format; docs/FileFormat.md describes every byte. All numbers are little-endian
// but in keys.
enum {
    ARTICLE = 1,  // entities are numbered in the order of their names
    NOTEBOOK = 2,
    ARTICLE_SLOT_COUNT = 5,  // title, body, rating, created, notebook
    NOTEBOOK_SLOT_COUNT = 1,  // name
    RECORD_HEADER_COUNT = 16,
    BITMAP_COUNT = 8,
    ID_COUNT = 16,
    // The list of the articles of a notebook: the number of its end, the owner, the first member.
    ARTICLES_END = 1,
    MEMBERS_PREFIX_COUNT = 2 + ID_COUNT,
    MEMBERS_KEY_COUNT = MEMBERS_PREFIX_COUNT + ID_COUNT,
    MEMBERS_HEADER_COUNT = 8,
    MEMBERS_BYTE_LIMIT = 1200,
    ENVELOPE_COUNT = 176,
    ATTRIBUTES_COUNT = 23,
    CHUNK_COUNT = 8 * 4096 - 16,
    CHUNK_HEADER_COUNT = 8,
    CHANGE_HEADER_COUNT = 48,
    CELL_HEADER_COUNT = 4,
    SALT_COUNT = 16,
    HEAD_COUNT = 56,
    TITLE_MAXIMUM = 32,
    // Number of the index, tag, each byte of the title escaped, its end, the article's id.
    ENTRY_MAXIMUM = 2 + 1 + 2 * TITLE_MAXIMUM + 2 + ID_COUNT,
};

// As in the journal.
enum { INSERT = 1, UPDATE = 2, DELETE = 3 };

// What a commit does to an article, or to a notebook with its name as the title.
typedef struct {
    int kind, entity;
    BareID id, notebook;
    const BareArticle *article;  // what is inserted, updated to, or deleted
    const BareArticle *before;  // what is updated
    uint64_t base;  // the revision of its record before; 0 of an insert
} Change;

struct BareStore {
    MDB_env *environment;
    MDB_dbi unnamed, journal, members, indexes, articles, notebooks;
    MDB_txn *reader;  // reset between reads
    bool journals;
    uint64_t revision;
    BareID last_id;
    uint64_t random;
    BareID *notebook_ids;
    uint32_t notebook_count;
};

static inline void put16(uint8_t *to, uint16_t value) { memcpy(to, &value, 2); }
static inline void put32(uint8_t *to, uint32_t value) { memcpy(to, &value, 4); }
static inline void put64(uint8_t *to, uint64_t value) { memcpy(to, &value, 8); }

static inline uint64_t get64(const uint8_t *from) {
    uint64_t value;
    memcpy(&value, from, 8);
    return value;
}

static inline uint16_t get16(const uint8_t *from) {
    uint16_t value;
    memcpy(&value, from, 2);
    return value;
}

static inline uint32_t get32(const uint8_t *from) {
    uint32_t value;
    memcpy(&value, from, 4);
    return value;
}

static inline void put_id(uint8_t *to, BareID id) {
    put64(to, __builtin_bswap64(id.high));
    put64(to + 8, __builtin_bswap64(id.low));
}

static inline BareID get_id(const uint8_t *from) {
    BareID id = {__builtin_bswap64(get64(from)), __builtin_bswap64(get64(from + 8))};
    return id;
}

// xorshift64: for ids and salts, which must differ and need not be hard to guess here.
static inline uint64_t next_random(BareStore *store) {
    uint64_t value = store->random;
    value ^= value << 13;
    value ^= value >> 7;
    value ^= value << 17;
    return store->random = value;
}

// One article in the transaction, with a revision of its own.
int put_article(BareStore *store, MDB_txn *transaction, const BareArticle *article);

// A record that has been checked.
typedef struct {
    const char *title, *body;
    uint32_t title_count, body_count;
    int64_t rating;
    double created;
    BareID notebook;
    uint64_t revision;
} Article;

// Checks format, flags, checksum and revision of a record, and takes it apart.
bool decode_article(const MDB_val *value, BareID id, uint64_t newest, Article *article);

// True when a record says that its object is deleted.
bool is_tombstone(const MDB_val *value);

// The body of a record.
size_t body_count(const Change *change);
void put_body(uint8_t *body, const Change *change);

// The parts of a commit but records and head.
int put_journal(BareStore *store, MDB_txn *transaction, const Change *changes, size_t count);
int put_members(BareStore *store, MDB_txn *transaction, const Change *changes, size_t count);
int put_entries(BareStore *store, MDB_txn *transaction, const Change *changes, size_t count);

// What `context` does to the stored article at an index; answers an error code, or 0.
typedef int (*Edit)(const void *context, size_t index, BareArticle *article);

// Edits articles in one durable commit, or without an edit deletes them. The ids ascend.
int change_stored(
    BareStore *store, const BareID *ids, size_t count, Edit edit, const void *context);

// All of it, but for LMDB's own. The revision moves on; after a failure the store is of no use.
int put_commit(BareStore *store, MDB_txn *transaction, const Change *changes, size_t count);

// What the keys of all chunks of a notebook's list begin with, and whether a key does.
void put_members_prefix(uint8_t *to, BareID owner);
bool is_list_of(const MDB_val *key, const uint8_t *prefix);

// The checksum of an entry of an index: XXH64 of its key.
uint32_t entry_checksum(const MDB_val *key);

// The checksum of a chunk of members: XXH64 of what stands behind it, with its key mixed in.
uint32_t members_checksum(const MDB_val *key, const MDB_val *value);

// The checksum of a record: XXH64 of its body, with id and header mixed in.
uint32_t record_checksum(
    const uint8_t *body, size_t count, BareID id, const uint8_t *header, uint64_t revision);

#endif
