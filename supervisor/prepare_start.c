/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the snapshot of SwingSet's runtime when gaspipe is built; runtime_snapshot.h describes the
 * file. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json/scan.h"
#include "base/log.h"
#include "supervisor/runtime/runtime_snapshot.h"

static int make_runtime_snapshot(struct runtime_snapshots *starts, const char *path,
                                 struct error *error)
{
    static const char any[SCAN_PADDING * 2] = "{\"moduleFormat\":\"endoZipBase64\"}";
    const struct scan_span bundle = {any, strlen(any)};
    struct vat_runtimes runtimes = {0};
    struct vat_runtime runtime;
    int result = vat_runtime_choose(&runtimes, bundle, &runtime, error);
    int fd = -1;

    if (result == 0)
        fd = runtime_snapshot_wait(starts, &runtime, error);
    if (fd >= 0) {
        result = prepared_start_write(path, starts->runtimes[runtime.kind].name, fd, error);
        close(fd);
    }
    vat_runtimes_free(&runtimes);
    return fd >= 0 ? result : -1;
}

static int prepare_start(const char *path, struct error *error)
{
    struct launch_config launcher;
    uv_loop_t loop;
    struct runtime_snapshots starts = {.loop = &loop, .launcher = &launcher};
    int result;

    if (launcher_open(&launcher, (struct counters){0}, 0, error) != 0)
        return -1;
    if (uv_loop_init(&loop) != 0) {
        launcher_close(&launcher);
        return error_set(error, ERROR_SYSTEM, "no event loop can be opened");
    }
    result = make_runtime_snapshot(&starts, path, error);
    runtime_snapshots_free(&starts);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&loop); /* nothing is open in it */
    launcher_close(&launcher);
    return result;
}

int main(int argc, char **argv)
{
    struct error error;

    log_name("prepare-start");
    signal(SIGPIPE, SIG_IGN);
    if (argc != 2) {
        fprintf(stderr, "usage: prepare-start FILE\n");
        return ERROR_USAGE;
    }
    if (prepare_start(argv[1], &error) == 0)
        return 0;
    log_line("%s", error.text);
    return error.kind;
}
