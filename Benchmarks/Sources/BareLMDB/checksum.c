#include "format.h"

// XXH64 (github.com/Cyan4973/xxHash, doc/xxhash_spec.md), as in
// Sources/StetStore/Bytes/Checksum.swift.

static const uint64_t prime1 = 0x9E3779B185EBCA87u;
static const uint64_t prime2 = 0xC2B2AE3D27D4EB4Fu;
static const uint64_t prime3 = 0x165667B19E3779F9u;
static const uint64_t prime4 = 0x85EBCA77C2B2AE63u;
static const uint64_t prime5 = 0x27D4EB2F165667C5u;

static inline uint64_t rotate(uint64_t value, int count) {
    return value << count | value >> (64 - count);
}

static inline uint64_t mix(uint64_t accumulator, uint64_t lane) {
    return rotate(accumulator + lane * prime2, 31) * prime1;
}

static inline uint64_t avalanche(uint64_t hash) {
    hash = (hash ^ hash >> 33) * prime2;
    hash = (hash ^ hash >> 29) * prime3;
    return hash ^ hash >> 32;
}

static uint64_t hash_bytes(const uint8_t *bytes, size_t count, uint64_t seed) {
    size_t offset = 0;
    uint64_t hash = seed + prime5;
    if (count >= 32) {
        uint64_t lanes[4] = {seed + prime1 + prime2, seed + prime2, seed, seed - prime1};
        do {
            for (int lane = 0; lane < 4; lane++) {
                lanes[lane] = mix(lanes[lane], get64(bytes + offset + 8 * lane));
            }
            offset += 32;
        } while (offset + 32 <= count);
        hash = rotate(lanes[0], 1) + rotate(lanes[1], 7) + rotate(lanes[2], 12)
            + rotate(lanes[3], 18);
        for (int lane = 0; lane < 4; lane++) {
            hash = (hash ^ mix(0, lanes[lane])) * prime1 + prime4;
        }
    }
    hash += count;
    for (; offset + 8 <= count; offset += 8) {
        hash = rotate(hash ^ mix(0, get64(bytes + offset)), 27) * prime1 + prime4;
    }
    if (offset + 4 <= count) {
        hash = rotate(hash ^ get32(bytes + offset) * prime1, 23) * prime2 + prime3;
        offset += 4;
    }
    for (; offset < count; offset++) {
        hash = rotate(hash ^ bytes[offset] * prime5, 11) * prime1;
    }
    return avalanche(hash);
}

uint32_t entry_checksum(const MDB_val *key) {
    return (uint32_t)hash_bytes(key->mv_data, key->mv_size, 0);
}

uint32_t members_checksum(const MDB_val *key, const MDB_val *value) {
    uint64_t seed = hash_bytes(key->mv_data, key->mv_size, 0);
    return (uint32_t)hash_bytes((const uint8_t *)value->mv_data + 4, value->mv_size - 4, seed);
}

uint32_t record_checksum(
    const uint8_t *body, size_t count, BareID id, const uint8_t *header, uint64_t revision) {
    uint64_t hash = hash_bytes(body, count, id.high ^ id.low);
    // Format, flags and schema revision.
    uint64_t prefix = get32(header);
    return (uint32_t)avalanche(mix(mix(hash, prefix), revision));
}
