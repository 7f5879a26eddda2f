#ifndef BARE_LMDB_H
#define BARE_LMDB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The floor under Stet: C on LMDB that writes and reads the bytes Stet writes and reads, without a
// library between.
//
// The same: tables, keys, records with their checksums, journal entries cut into the same chunks,
// with the values before each change, lists of members in the same chunks, entries of indexes sorted
// before they are put, the head in the unnamed table, MDB_APPEND and MDB_RESERVE, one durable transaction per
// commit. Left out: SHA-256 (zeros stand where the digests
// would, a cheap counter where the random salts would), validation, the checks of the store before
// a commit, objects, and everything that watches a commit.
//
// Every function that can fail answers 0 or an error code of LMDB or errno.

typedef struct BareStore BareStore;

typedef struct {
    uint64_t high, low;
} BareID;

// One article to be written. Its texts are borrowed.
typedef struct {
    const char *title;
    const char *body;
    uint32_t title_count, body_count;
    int64_t rating;
    double created;
    uint32_t notebook;  // the position of a notebook in the store
} BareArticle;

// What was read, to be compared with what Stet has read.
typedef struct {
    uint64_t count;
    uint64_t title_byte_count, body_byte_count;
    int64_t rating_sum, created_sum;
    uint64_t hash;  // over all properties of all objects; only made when it is asked for
} BareTotals;

const char *bare_lmdb_version(void);
const char *bare_message(int code);

// Gives free memory back to the system, so that no program profits from what the one before it has
// left behind.
void bare_trim_memory(void);

// True when `path` lies on a file system without a disk.
bool bare_is_in_memory(const char *path);

// Opens the store at `path`. A new one gets its tables and a head; one that Stet wrote can be read.
// Commits of a store that does not journal write the same but for the journal.
int bare_open(const char *path, bool creates, bool journals, BareStore **store);
void bare_close(BareStore *store);

// Writes `count` notebooks in one commit. Call it once, before the first article.
int bare_commit_notebooks(BareStore *store, uint32_t count);

// Writes `count` articles in one durable commit. Their ids go to `ids` unless it is null.
int bare_commit(BareStore *store, const BareArticle *articles, size_t count, BareID *ids);

// Gives articles the title and the rating of others, all in one durable commit. The ids ascend.
int bare_update(
    BareStore *store, const BareID *ids, const BareArticle *articles, size_t count);

// Deletes articles in one durable commit. The ids ascend.
int bare_delete(BareStore *store, const BareID *ids, size_t count);

// Takes the last commit, an update that was journalled, back in one durable commit: from its entry,
// each title and rating that is still the one that it has set.
int bare_undo(BareStore *store);

// Writes each article in a durable commit, by so many threads, each with a transaction per article.
int bare_commit_by_threads(
    BareStore *store, const BareArticle *articles, size_t count, uint32_t threads);

// The same, but the threads queue their articles for one writer, which puts all that wait into one
// transaction, each with a revision and a journal entry of its own; a thread goes on when its
// article is durable. When more than one waits, the writer waits up to 60 microseconds for as many
// as it had the last time, as Stet's does.
int bare_commit_grouped(
    BareStore *store, const BareArticle *articles, size_t count, uint32_t threads);

// Scans all articles: checks header, checksum and revision, copies both texts out into one buffer.
int bare_scan(BareStore *store, bool hashes, BareTotals *totals);

// The same, but each article becomes a struct with two texts of its own, all by malloc, that stays
// until the end, as the objects of a fetch do.
typedef struct BareObjects BareObjects;
int bare_fetch(BareStore *store, BareTotals *totals, BareObjects **objects);
void bare_free(BareObjects *objects);

// Reads articles by id, in one read scope or each in one of its own, and copies both texts out into
// one buffer.
int bare_get(
    BareStore *store, const BareID *ids, size_t count, bool one_scope, BareTotals *totals);

// Goes through all notebooks, and reads the articles of each by id: checks them as a scan does, and
// copies both texts out into one buffer. Counts them and the bytes of their titles.
int bare_walk(BareStore *store, BareTotals *totals);

// The articles of a range of notebooks, found by the reverse references, sorted by their titles and
// copied out into one buffer in that order; the hash is over the titles in order.
int bare_sorted(
    BareStore *store, uint32_t first_notebook, uint32_t notebook_count, BareTotals *totals);

// Counts the articles whose body has a text in it, by their bytes. No checksum is compared.
int bare_count(BareStore *store, const char *text, size_t byte_count, uint64_t *count);

/* What malloc has given out and not got back. */
size_t bare_heap_byte_count(void);

#endif
