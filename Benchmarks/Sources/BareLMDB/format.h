#ifndef BARE_FORMAT_H
#define BARE_FORMAT_H

#include <lmdb.h>
#include <stdlib.h>
#include <string.h>

#include "include/bare_lmdb.h"

// The sizes of Stet's format; ARCHITECTURE.md describes every byte. All numbers are little-endian
// but in keys.
enum {
    ARTICLE = 1,  // entities are numbered in the order of their names
    NOTEBOOK = 2,
    ARTICLE_SLOT_COUNT = 5,  // title, body, rating, created, notebook
    NOTEBOOK_SLOT_COUNT = 1,  // name
    RECORD_HEADER_COUNT = 16,
    BITMAP_COUNT = 8,
    ID_COUNT = 16,
    REFERENCE_KEY_COUNT = 36,
    ENVELOPE_COUNT = 176,
    ATTRIBUTES_COUNT = 23,
    CHUNK_COUNT = 8 * 4096 - 16,
    CHUNK_HEADER_COUNT = 8,
    CHANGE_HEADER_COUNT = 48,
    SALT_COUNT = 16,
    HEAD_COUNT = 56,
};

struct BareStore {
    MDB_env *environment;
    MDB_dbi unnamed, journal, references, articles, notebooks;
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

// The checksum of a record: XXH64 of its body, with id and header mixed in.
uint32_t record_checksum(
    const uint8_t *body, size_t count, BareID id, uint16_t schema_revision, uint64_t revision);

#endif
