/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/span/fleet_fingerprint.h"

#include <string.h>

#include "supervisor/process/fingerprint.h"
#include "supervisor/process/locate.h"
#include "supervisor/runtime/plain_runtime.h"

/* Of what is executed; "-": the launcher has no such worker. */
static int hash_launcher(const struct launcher *launcher, struct counters counters,
                         char hash[FLEET_HASH_SIZE], struct error *error)
{
    struct fingerprint fingerprint = {0};
    int result;

    memcpy(hash, "-", sizeof "-");
    if (launcher->worker[0] == '\0')
        return 0;
    if (!counters.qemu)
        return fingerprint_hash(launcher->worker, hash, error);
    result = fingerprint_take_launcher(&fingerprint, launcher, error);
    memcpy(hash, fingerprint.hash, FLEET_HASH_SIZE);
    fingerprint_free(&fingerprint);
    return result;
}

/* At SwingSet's limit of computrons: a limit is an argument of the job. */
static int hash_worker(const char *worker, struct counters counters, char hash[FLEET_HASH_SIZE],
                       struct error *error)
{
    struct launcher launcher;
    int result;

    if (worker != NULL)
        return fingerprint_hash(worker, hash, error);
    if (launcher_open(&launcher, counters, LAUNCHER_COMPUTE_LIMIT_DEFAULT, error) != 0)
        return -1;
    result = hash_launcher(&launcher, counters, hash, error);
    launcher_close(&launcher);
    return result;
}

/* "-": it was not built; only vats of SwingSet's need it. */
static int hash_bundle(const char *name, char hash[FLEET_HASH_SIZE], struct error *error)
{
    char path[PATH_MAX];

    if (locate(name, path, error) != 0) {
        memcpy(hash, "-", sizeof "-");
        return 0;
    }
    return fingerprint_hash(path, hash, error);
}

int fleet_fingerprint(const char *worker, struct counters counters, char hash[FLEET_HASH_SIZE],
                      struct error *error)
{
    char parts[3][FLEET_HASH_SIZE];
    struct iovec pieces[4] = {[3] = plain_runtime()};

    if (hash_worker(worker, counters, parts[0], error) != 0 ||
        hash_bundle("swingset-lockdown.bundle", parts[1], error) != 0 ||
        hash_bundle("swingset-supervisor.bundle", parts[2], error) != 0)
        return -1;
    for (size_t i = 0; i < 3; i++)
        pieces[i] = (struct iovec){parts[i], strlen(parts[i])};
    return fingerprint_hash_parts(pieces, 4, hash, error);
}

int fleet_fingerprint_estimate(const char *worker, struct counters counters,
                               char hash[FLEET_HASH_SIZE], struct error *error)
{
    char parts[2][FLEET_HASH_SIZE];
    struct iovec pieces[3] = {[2] = plain_runtime()};
    struct launcher launcher, wasm;
    int result;

    (void)worker;
    if (launcher_open(&launcher, counters, LAUNCHER_COMPUTE_LIMIT_DEFAULT, error) != 0)
        return -1;
    wasm = launcher_for(&launcher, LAUNCHER_WASM);
    result = hash_launcher(&launcher, counters, parts[0], error);
    if (result == 0)
        result = hash_launcher(&wasm, counters, parts[1], error);
    launcher_close(&launcher);
    for (size_t i = 0; i < 2; i++)
        pieces[i] = (struct iovec){parts[i], strlen(parts[i])};
    return result == 0 ? fingerprint_hash_parts(pieces, 3, hash, error) : -1;
}

int fleet_fingerprint_slogreport(const char *worker, struct counters counters,
                                 char hash[FLEET_HASH_SIZE], struct error *error)
{
    char path[PATH_MAX];

    (void)worker;
    (void)counters;
    return locate("slogreport", path, error) == 0 ? fingerprint_hash(path, hash, error) : -1;
}
