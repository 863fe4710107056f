/* SPDX-License-Identifier: Apache-2.0 */
/* Warm snapshots with real processes: their worker is this program itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/io.h"
#include "base/json/scan.h"
#include "proto/command.h"
#include "proto/netstring.h"
#include "supervisor/runtime/runtime_snapshot.h"

/* ---- the worker ---- */

#define METER "{\"currentHeapCount\":1,\"compute\":1,\"allocate\":1,\"timestamps\":[1,2]}\1"

static const char heap[] = "a heap";

static void answer(const char *frame)
{
    char text[256];

    snprintf(text, sizeof text, "%zu:%s,", strlen(frame), frame);
    if (io_write_all(4, text, strlen(text)) != 0)
        _exit(0);
}

static void obey(char command)
{
    if (command == COMMAND_SNAPSHOT) {
        if (io_write_all(WORKER_SAVE_FD, heap, strlen(heap)) != 0)
            _exit(2);
        answer("." METER "6");
    } else {
        answer(command == COMMAND_READY ? "." : "." METER);
    }
}

static int be_worker(void)
{
    struct netstring_decoder decoder;
    char bytes[4096];
    struct iovec frame;
    struct error error;
    ssize_t length;

    netstring_decoder_init(&decoder, NETSTRING_CAP_DEFAULT);
    while ((length = read(3, bytes, sizeof bytes)) > 0) {
        for (size_t done = 0, used; done < (size_t)length; done += used) {
            if (netstring_decode(&decoder, bytes + done, (size_t)length - done, &used, &frame,
                                 &error) == NETSTRING_FRAME)
                obey(*(char *)frame.iov_base);
        }
    }
    netstring_decoder_free(&decoder);
    return 0;
}

/* ---- the snapshots ---- */

struct place {
    uv_loop_t loop;
    struct launch_config launcher;
    struct store *store;
    struct vat_runtimes runtimes;
    struct vat_runtime runtime;
    struct runtime_snapshots starts;
};

static void open_place(struct place *place)
{
    static const char bundle[SCAN_PADDING * 2] = "{\"moduleFormat\":\"gaspipePlain\"}";
    struct error error;

    *place = (struct place){0};
    assert_int_equal(uv_loop_init(&place->loop), 0);
    assert_int_equal(launcher_open_xsnap(&place->launcher, "/proc/self/exe", 0, &error), 0);
    assert_int_equal(vat_runtime_choose(&place->runtimes,
                                        (struct scan_span){bundle, strlen(bundle)}, &place->runtime,
                                        &error),
                     0);
    place->store = store_open(NULL, &error);
    assert_non_null(place->store);
    assert_int_equal(store_transaction_begin(place->store, &error), 0);
    place->starts = (struct runtime_snapshots){
        .loop = &place->loop,
        .launcher = &place->launcher,
        .store = place->store,
        .timeout_ms = 60000,
    };
}

static void close_place(struct place *place)
{
    runtime_snapshots_free(&place->starts);
    vat_runtimes_free(&place->runtimes);
    launcher_close(&place->launcher);
    store_close(place->store);
    (void)uv_run(&place->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&place->loop), 0);
}

static void start(struct place *place)
{
    struct error error;
    char bytes[32];
    int fd = runtime_snapshot_wait(&place->starts, &place->runtime, &error);

    assert_true(fd >= 0);
    assert_int_equal(read(fd, bytes, sizeof bytes), strlen(heap));
    assert_memory_equal(bytes, heap, strlen(heap));
    close(fd);
}

static bool is_stored(const struct place *place)
{
    struct store_snapshot snapshot;
    struct error error;
    bool found;

    assert_int_equal(store_snapshot_named(place->store,
                                          place->starts.runtimes[place->runtime.kind].name,
                                          &snapshot, &found, &error),
                     0);
    return found;
}

static void snapshot_undone_with_its_crank_is_stored_again(void **state)
{
    struct place place;
    struct error error;

    (void)state;
    open_place(&place);
    assert_int_equal(store_savepoint_set(place.store, &error), 0);
    start(&place);
    assert_true(is_stored(&place));
    assert_int_equal(store_savepoint_undo(place.store, &error), 0);
    assert_false(is_stored(&place));
    start(&place);
    assert_true(is_stored(&place));
    close_place(&place);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(snapshot_undone_with_its_crank_is_stored_again),
    };

    (void)argc;
    if (strcmp(argv[0], "gaspipe-worker") == 0)
        return be_worker();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
