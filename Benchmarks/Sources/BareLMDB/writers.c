#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "format.h"

// Many threads that each commit their share of the articles, one at a time.

typedef struct Group Group;

typedef struct {
    BareStore *store;
    Group *group;
    const BareArticle *articles;
    size_t count;
    int code;
    sem_t durable;
    pthread_t thread;
} Writer;

static int run(
    BareStore *store, Group *group, const BareArticle *articles, size_t count, uint32_t threads,
    void *(*body)(void *)) {
    Writer *writers = calloc(threads, sizeof *writers);
    if (!writers) return ENOMEM;
    int code = 0;
    uint32_t started = 0;
    for (size_t next = 0; started < threads && !code; started++) {
        Writer *writer = &writers[started];
        size_t end = count * (started + 1) / threads;
        *writer = (Writer){
            .store = store, .group = group, .articles = &articles[next], .count = end - next};
        next = end;
        sem_init(&writer->durable, 0, 0);
        code = pthread_create(&writer->thread, NULL, body, writer);
        if (code) break;
    }
    for (uint32_t index = 0; index < started; index++) {
        pthread_join(writers[index].thread, NULL);
        if (!code) code = writers[index].code;
    }
    free(writers);
    return code;
}

// MARK: A transaction per article

static void *commit_each(void *argument) {
    Writer *writer = argument;
    for (size_t index = 0; index < writer->count && !writer->code; index++) {
        writer->code = bare_commit(writer->store, &writer->articles[index], 1, NULL);
    }
    return NULL;
}

int bare_commit_by_threads(
    BareStore *store, const BareArticle *articles, size_t count, uint32_t threads) {
    return run(store, NULL, articles, count, threads, commit_each);
}

// MARK: One writer for all

enum { WAITING_MAXIMUM = 1024, LINGER_NANOSECONDS = 60000 };

typedef struct {
    Writer *writer;
    const BareArticle *article;
} Insert;

struct Group {
    BareStore *store;
    pthread_mutex_t mutex;
    pthread_cond_t arrival;
    Insert waiting[WAITING_MAXIMUM];
    size_t waiting_count;
    bool is_ending;
};

static void *queue_each(void *argument) {
    Writer *writer = argument;
    Group *group = writer->group;
    for (size_t index = 0; index < writer->count && !writer->code; index++) {
        pthread_mutex_lock(&group->mutex);
        group->waiting[group->waiting_count++] = (Insert){writer, &writer->articles[index]};
        pthread_cond_signal(&group->arrival);
        pthread_mutex_unlock(&group->mutex);
        while (sem_wait(&writer->durable)) {}
    }
    return NULL;
}

// Called and left with the mutex held.
static void linger(Group *group, size_t expected) {
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += LINGER_NANOSECONDS;
    if (end.tv_nsec >= 1000000000) {
        end.tv_nsec -= 1000000000;
        end.tv_sec++;
    }
    while (group->waiting_count < expected) {
        if (pthread_cond_timedwait(&group->arrival, &group->mutex, &end)) return;
    }
}

static int commit_all(BareStore *store, const Insert *inserts, size_t count) {
    MDB_txn *transaction;
    int code = mdb_txn_begin(store->environment, NULL, 0, &transaction);
    if (code) return code;
    for (size_t index = 0; index < count && !code; index++) {
        code = put_article(store, transaction, inserts[index].article);
    }
    if (!code) return mdb_txn_commit(transaction);
    mdb_txn_abort(transaction);
    return code;
}

static void *write_all(void *argument) {
    Group *group = argument;
    Insert taken[WAITING_MAXIMUM];
    size_t count = 0;
    for (;;) {
        pthread_mutex_lock(&group->mutex);
        while (group->waiting_count == 0 && !group->is_ending) {
            pthread_cond_wait(&group->arrival, &group->mutex);
        }
        if (group->waiting_count > 1) linger(group, count);
        count = group->waiting_count;
        memcpy(taken, group->waiting, count * sizeof *taken);
        group->waiting_count = 0;
        pthread_mutex_unlock(&group->mutex);
        if (count == 0) return NULL;
        int code = commit_all(group->store, taken, count);
        for (size_t index = 0; index < count; index++) {
            taken[index].writer->code = code;
            sem_post(&taken[index].writer->durable);
        }
    }
}

int bare_commit_grouped(
    BareStore *store, const BareArticle *articles, size_t count, uint32_t threads) {
    if (threads > WAITING_MAXIMUM) return EINVAL;
    Group *group = calloc(1, sizeof *group);
    if (!group) return ENOMEM;
    group->store = store;
    pthread_mutex_init(&group->mutex, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&group->arrival, &attributes);
    pthread_t thread;
    int code = pthread_create(&thread, NULL, write_all, group);
    if (!code) {
        code = run(store, group, articles, count, threads, queue_each);
        pthread_mutex_lock(&group->mutex);
        group->is_ending = true;
        pthread_cond_signal(&group->arrival);
        pthread_mutex_unlock(&group->mutex);
        pthread_join(thread, NULL);
    }
    free(group);
    return code;
}
