/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/runtime/warm_start.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/runtime/heap_file.h"
#include "supervisor/runtime/prepared_start.h"
#include "supervisor/runtime/runtime_worker.h"

enum { LIMIT_MS = 300000 };

/* ---- in the store ---- */

/* "warm-" and the hash of all that the snapshot depends on. */
static int make_name(char name[WARM_START_NAME_SIZE], const struct launcher *launcher,
                     const struct vat_runtime *runtime, struct error *error)
{
    struct iovec parts[VAT_RUNTIME_PROGRAMS_MAX + 1];
    char worker[FINGERPRINT_HEX_SIZE], all[FINGERPRINT_HEX_SIZE];

    if (launcher->worker[0] == '\0')
        return error_set(error, ERROR_SYSTEM, "%s", launcher->missing);
    if (fingerprint_hash(launcher->worker, worker, error) != 0)
        return -1;
    memcpy(parts, runtime->programs, sizeof runtime->programs);
    parts[runtime->program_count] = (struct iovec){worker, strlen(worker)};
    if (fingerprint_hash_parts(parts, runtime->program_count + 1, all, error) != 0)
        return -1;
    snprintf(name, WARM_START_NAME_SIZE, "warm-%s", all);
    return 0;
}

static int read_stored(const struct warm_start *start, bool *found, struct error *error)
{
    struct store *store = start->starts->store;
    struct store_snapshot snapshot;

    if (store_snapshot_named(store, start->name, &snapshot, found, error) != 0)
        return -1;
    return *found ? store_snapshot_read(store, snapshot.hash, start->new_fd, error) : 0;
}

/* ---- as the build has prepared it ---- */

/* Of SwingSet's runtime, with the parser's memory that workers have unless told otherwise. */
static bool may_be_prepared(const struct launcher *launcher, const struct vat_runtime *runtime)
{
    return runtime->kind == VAT_RUNTIME_LIVESLOTS && launcher->parser_kb == 0;
}

static int read_prepared(const struct warm_start *start, bool *found, struct error *error)
{
    struct store *store = start->starts->store;
    struct store_snapshot snapshot;
    struct buf compressed = {0};
    int result =
        prepared_start_read(start->name, start->new_fd, &compressed, &snapshot, found, error);

    if (result == 0 && *found && store != NULL)
        result =
            store_snapshot_put_packed(store, start->name, &snapshot,
                                      (struct iovec){compressed.data, compressed.length}, error);
    buf_free(&compressed);
    return result;
}

/* ---- making one ---- */

static void keep_new(struct warm_start *start)
{
    start->fd_plus_1 = start->new_fd + 1;
    start->result = WARM_START_READY;
}

static int drop_new(struct warm_start *start, enum warm_start_result result,
                    const struct error *error)
{
    close(start->new_fd);
    start->error = *error;
    start->result = result;
    return result;
}

static int put_in_store(const struct warm_start *start, struct error *error)
{
    struct store *store = start->starts->store;
    struct store_snapshot snapshot;

    if (store == NULL)
        return 0;
    if (lseek(start->new_fd, 0, SEEK_SET) != 0)
        return error_system(error, errno, "cannot read a snapshot");
    return store_snapshot_put_named(store, start->name, start->new_fd, &snapshot, error);
}

static void on_written(void *context, const struct error *lost)
{
    struct warm_start *start = context;
    struct warm_starts *starts = start->starts;
    struct error error;

    start->maker = NULL;
    if (lost != NULL)
        (void)drop_new(start, WARM_START_LOST, lost);
    else if (put_in_store(start, &error) != 0)
        (void)drop_new(start, WARM_START_FAILED, &error);
    else
        keep_new(start);
    if (starts->made != NULL)
        starts->made(starts->context, start->kind, start->result, &start->error);
}

static uint64_t making_limit(uint64_t timeout_ms)
{
    uint64_t limit = launcher_start_limit(timeout_ms);

    return limit > 0 && limit < LIMIT_MS ? limit : LIMIT_MS;
}

static int start_maker(struct warm_start *start, const struct vat_runtime *runtime,
                       struct error *error)
{
    const struct warm_starts *starts = start->starts;
    const struct launcher own = vat_runtime_launcher(runtime, starts->launcher);
    struct launcher native = launcher_native(&own);
    const struct runtime_worker_options options = {
        .loop = starts->loop,
        .launcher = &native,
        .runtime = runtime,
        .snapshot_fd = start->new_fd,
        .timeout_ms = making_limit(starts->timeout_ms),
        .context = start,
        .done = on_written,
    };

    native.compute_limit = 0; /* that is one for deliveries */
    start->maker = runtime_worker_start(&options, error);
    return start->maker == NULL ? WARM_START_LOST : WARM_START_MAKING;
}

/* ---- which one ---- */

static int find_or_make(struct warm_start *start, const struct vat_runtime *runtime,
                        struct error *error)
{
    const struct warm_starts *starts = start->starts;
    const struct launcher own = vat_runtime_launcher(runtime, starts->launcher);
    const bool may = may_be_prepared(&own, runtime);
    bool found = false;

    if ((starts->store != NULL || may) && make_name(start->name, &own, runtime, error) != 0)
        return WARM_START_FAILED;
    if (starts->store != NULL && read_stored(start, &found, error) != 0)
        return WARM_START_FAILED;
    if (!found && may && read_prepared(start, &found, error) != 0)
        return WARM_START_FAILED;
    return found ? WARM_START_READY : start_maker(start, runtime, error);
}

static int provide_warm_start(struct warm_start *start, const struct vat_runtime *runtime,
                              struct error *error)
{
    start->new_fd = heap_file_new(error);
    if (start->new_fd < 0)
        return WARM_START_FAILED;
    start->result = find_or_make(start, runtime, error);
    if (start->result == WARM_START_READY)
        keep_new(start);
    else if (start->result != WARM_START_MAKING)
        return drop_new(start, start->result, error);
    return start->result;
}

bool warm_starts_are_making(const struct warm_starts *starts)
{
    for (int i = 0; i < VAT_RUNTIME_KINDS; i++)
        if (starts->runtimes[i].maker != NULL)
            return true;
    return false;
}

/* It was put into the store within a crank, which may have been undone since. */
static int keep_stored(const struct warm_start *start, struct error *error)
{
    struct store_snapshot snapshot;
    bool found;

    if (start->starts->store == NULL)
        return 0;
    if (store_snapshot_named(start->starts->store, start->name, &snapshot, &found, error) != 0)
        return -1;
    return found ? 0 : put_in_store(start, error);
}

int warm_start_open(struct warm_starts *starts, const struct vat_runtime *runtime,
                    struct error *error)
{
    struct warm_start *start = &starts->runtimes[runtime->kind];
    int result = WARM_START_READY;

    start->starts = starts;
    start->kind = runtime->kind;
    if (start->fd_plus_1 == 0 && warm_starts_are_making(starts)) {
        start->result = start->maker != NULL ? WARM_START_MAKING : WARM_START_READY;
        return WARM_START_MAKING;
    }
    if (start->fd_plus_1 == 0)
        result = provide_warm_start(start, runtime, error);
    else if (keep_stored(start, error) != 0)
        result = WARM_START_FAILED;
    return result != WARM_START_READY ? result : heap_file_reopen(start->fd_plus_1 - 1, error);
}

int warm_start_wait(struct warm_starts *starts, const struct vat_runtime *runtime,
                    struct error *error)
{
    struct warm_start *start = &starts->runtimes[runtime->kind];
    int result;

    while ((result = warm_start_open(starts, runtime, error)) == WARM_START_MAKING) {
        while (warm_starts_are_making(starts))
            (void)uv_run(starts->loop, UV_RUN_ONCE);
        if (start->result != WARM_START_READY) {
            *error = start->error;
            return start->result;
        }
    }
    return result;
}

struct zygote_policy *warm_start_zygote_policy(struct warm_starts *starts,
                                               enum vat_runtime_kind kind)
{
    /* Other engines' workers start at once. */
    return kind == VAT_RUNTIME_PLAIN || kind == VAT_RUNTIME_LIVESLOTS
               ? &starts->runtimes[kind].zygote_policy
               : NULL;
}

void warm_starts_cancel(struct warm_starts *starts)
{
    for (int i = 0; i < VAT_RUNTIME_KINDS; i++)
        if (starts->runtimes[i].maker != NULL)
            runtime_worker_cancel(starts->runtimes[i].maker);
}

void warm_starts_free(struct warm_starts *starts)
{
    for (int i = 0; i < VAT_RUNTIME_KINDS; i++) {
        zygote_policy_free(&starts->runtimes[i].zygote_policy);
        if (starts->runtimes[i].fd_plus_1 != 0)
            close(starts->runtimes[i].fd_plus_1 - 1);
    }
    memset(starts->runtimes, 0, sizeof starts->runtimes);
}
