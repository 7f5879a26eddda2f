#include <errno.h>
#include <linux/magic.h>
#include <malloc.h>
#include <sys/vfs.h>
#include <time.h>

#include "format.h"

const char *bare_lmdb_version(void) { return mdb_version(NULL, NULL, NULL); }

const char *bare_message(int code) { return mdb_strerror(code); }

void bare_trim_memory(void) { malloc_trim(0); }

bool bare_is_in_memory(const char *path) {
    struct statfs status;
    if (statfs(path, &status)) return false;
    return status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC;
}

static int write_first_head(BareStore *store, MDB_txn *transaction) {
    uint8_t head[HEAD_COUNT] = {0};
    MDB_val key = {4, "head"}, value = {HEAD_COUNT, head};
    return mdb_put(transaction, store->unnamed, &key, &value, 0);
}

static int read_head(BareStore *store, MDB_txn *transaction) {
    MDB_val key = {4, "head"}, value;
    int code = mdb_get(transaction, store->unnamed, &key, &value);
    if (code == 0) store->revision = get64(value.mv_data);
    return code;
}

static int open_tables(BareStore *store, MDB_txn *transaction, unsigned flags) {
    int code = mdb_dbi_open(transaction, NULL, 0, &store->unnamed);
    if (!code) code = mdb_dbi_open(transaction, "journal", flags, &store->journal);
    if (!code) code = mdb_dbi_open(transaction, "members", flags, &store->members);
    if (!code) code = mdb_dbi_open(transaction, "indexes", flags, &store->indexes);
    if (!code) code = mdb_dbi_open(transaction, "records.1", flags, &store->articles);
    if (!code) code = mdb_dbi_open(transaction, "records.2", flags, &store->notebooks);
    return code;
}

static int prepare(BareStore *store, bool creates) {
    MDB_txn *transaction;
    int code = mdb_txn_begin(store->environment, NULL, creates ? 0 : MDB_RDONLY, &transaction);
    if (code) return code;
    code = open_tables(store, transaction, creates ? MDB_CREATE : 0);
    if (!code && creates) code = write_first_head(store, transaction);
    if (!code) code = read_head(store, transaction);
    if (code) {
        mdb_txn_abort(transaction);
        return code;
    }
    code = mdb_txn_commit(transaction);
    if (!code) code = mdb_txn_begin(store->environment, NULL, MDB_RDONLY, &store->reader);
    if (!code) mdb_txn_reset(store->reader);
    return code;
}

int bare_open(const char *path, bool creates, bool journals, BareStore **result) {
    BareStore *store = calloc(1, sizeof *store);
    if (!store) return ENOMEM;
    store->journals = journals;
    store->random = 0x9E3779B97F4A7C15u;
    store->last_id.high = (uint64_t)time(NULL) * 1000 << 16 | 0x7000;
    store->last_id.low = (uint64_t)1 << 63;
    int code = mdb_env_create(&store->environment);
    if (!code) code = mdb_env_set_mapsize(store->environment, (size_t)1 << 40);
    if (!code) code = mdb_env_set_maxreaders(store->environment, 510);
    if (!code) code = mdb_env_set_maxdbs(store->environment, 10);
    if (!code) code = mdb_env_open(store->environment, path, MDB_NOSUBDIR | MDB_NOTLS, 0600);
    if (!code) code = prepare(store, creates);
    if (code) {
        bare_close(store);
        return code;
    }
    *result = store;
    return 0;
}

void bare_close(BareStore *store) {
    if (!store) return;
    if (store->reader) mdb_txn_abort(store->reader);
    if (store->environment) mdb_env_close(store->environment);
    free(store->notebook_ids);
    free(store);
}
