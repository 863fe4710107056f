/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/runtime/warm_start.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <uv.h>

#include "supervisor/process/fingerprint.h"
#include "supervisor/replay/replay_worker.h"

enum { NAME_SIZE = sizeof "warm-" + FINGERPRINT_HEX_SIZE, FD_PATH_SIZE = 48, LIMIT_MS = 300000 };

/* "warm-" and the hash of all that the snapshot depends on. */
static int make_name(char name[NAME_SIZE], const struct launcher *launcher,
                     const struct vat_runtime *runtime, struct error *error)
{
    struct iovec parts[VAT_RUNTIME_PROGRAMS_MAX + 1];
    char worker[FINGERPRINT_HEX_SIZE], all[FINGERPRINT_HEX_SIZE];

    if (fingerprint_hash(launcher->worker, worker, error) != 0)
        return -1;
    memcpy(parts, runtime->programs, sizeof runtime->programs);
    parts[runtime->program_count] = (struct iovec){worker, strlen(worker)};
    if (fingerprint_hash_parts(parts, runtime->program_count + 1, all, error) != 0)
        return -1;
    snprintf(name, NAME_SIZE, "warm-%s", all);
    return 0;
}

static int evaluate_and_save(struct replay_worker *worker, int fd, struct error *error)
{
    static const struct buf no_bundle = {0};
    const struct replay_owner owner = {.id = "", .name = "", .bundle = &no_bundle};
    int result = replay_worker_evaluate(worker, &owner, error);

    if (result == 0)
        result = replay_worker_save(worker, &owner, fd, error);
    replay_worker_end(worker);
    return result;
}

static uint64_t limit_of(uint64_t timeout_ms)
{
    uint64_t limit = launcher_start_limit(timeout_ms);

    return limit > 0 && limit < LIMIT_MS ? limit : LIMIT_MS;
}

/* On a loop of its own: the caller's may be in the middle of a callback. */
static int make(const struct launcher *launcher, uint64_t timeout_ms,
                const struct vat_runtime *runtime, int fd, struct error *error)
{
    struct launcher native = launcher_native(launcher);
    uv_loop_t loop;
    struct replay_host host = {
        .loop = &loop, .launcher = &native, .timeout_ms = limit_of(timeout_ms)};
    struct replay_worker worker = {.host = &host, .runtime = *runtime};
    int result = uv_loop_init(&loop);

    native.compute_limit = 0; /* that is one for deliveries */
    if (result != 0)
        return error_set(error, ERROR_SYSTEM, "cannot start a loop: %s", uv_strerror(result));
    result = evaluate_and_save(&worker, fd, error);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&loop); /* nothing is open on it any more */
    return result == 0 ? 0 : WARM_START_LOST;
}

static int provide(const struct launcher *launcher, uint64_t timeout_ms, struct store *store,
                   const struct vat_runtime *runtime, int fd, struct error *error)
{
    int result;

    struct store_snapshot snapshot;
    char name[NAME_SIZE];
    bool found;

    if (store == NULL)
        return make(launcher, timeout_ms, runtime, fd, error);
    if (make_name(name, launcher, runtime, error) != 0 ||
        store_snapshot_named(store, name, &snapshot, &found, error) != 0)
        return -1;
    if (found)
        return store_snapshot_read(store, snapshot.hash, fd, error);
    result = make(launcher, timeout_ms, runtime, fd, error);
    if (result != 0)
        return result;
    if (lseek(fd, 0, SEEK_SET) != 0)
        return error_system(error, errno, "cannot read a snapshot");
    return store_snapshot_put_named(store, name, fd, &snapshot, error);
}

/* Another description of the same file: each reader has its own place in it. */
static int reopen(int fd, struct error *error)
{
    char path[FD_PATH_SIZE];
    int other;

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    other = open(path, O_RDONLY | O_CLOEXEC);
    if (other < 0)
        return error_system(error, errno, "cannot open a snapshot");
    return other;
}

int warm_start_open(struct warm_starts *starts, const struct launcher *launcher,
                    uint64_t timeout_ms, struct store *store, const struct vat_runtime *runtime,
                    struct error *error)
{
    const struct launcher own = vat_runtime_launcher(runtime, launcher);
    int *kept = &starts->fds[runtime->kind];
    int fd, result;

    if (*kept != 0)
        return reopen(*kept - 1, error);
    fd = memfd_create("gaspipe-warm", MFD_CLOEXEC);
    if (fd < 0)
        return error_system(error, errno, "cannot make a file for a snapshot");
    result = provide(&own, timeout_ms, store, runtime, fd, error);
    if (result != 0) {
        close(fd);
        return result;
    }
    *kept = fd + 1;
    return reopen(fd, error);
}

void warm_starts_free(struct warm_starts *starts)
{
    for (int i = 0; i < VAT_RUNTIME_KINDS; i++)
        if (starts->fds[i] != 0)
            close(starts->fds[i] - 1);
    *starts = (struct warm_starts){0};
}
