/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text/format.h"
#include "supervisor/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/io.h"
#include "base/json/json_value.h"
#include "base/log.h"
#include "base/stamp.h"
#include "kernel/kernel.h"
#include "store/integrity/check.h"
#include "store/integrity/lost_rows.h"
#include "store/store.h"
#include "supervisor/common_options.h"
#include "supervisor/process/confinement.h"
#include "supervisor/process/launcher.h"
#include "supervisor/replay/replay_run.h"
#include "supervisor/replay/replay_worker.h"
#include "supervisor/runtime/heap_file.h"
#include "supervisor/runtime/vat_runtime.h"

/* ---- restoring vats ---- */

/* Starts a worker from a vat's last snapshot, to see that one does. All zeros: not open. */
struct restore {
    bool open;
    uv_loop_t loop;
    struct confinement confinement;
    struct launch_config launcher;
    struct vat_runtimes runtimes;
};

/* -1 with ERROR_SYSTEM: no worker can be started at all. */
static int restore_open(struct restore *restore, struct error *error)
{
    if (restore->open)
        return 0;
    restore->open = true;
    if (uv_loop_init(&restore->loop) != 0)
        return error_memory(error, "an event loop");
    if (confinement_open(&restore->confinement, CONFINEMENT_BASIC, error) != 0 ||
        launcher_open(&restore->launcher, (struct counters){0}, 0, error) != 0)
        return -1;
    restore->launcher.confinement = &restore->confinement;
    return 0;
}

static void restore_close(struct restore *restore)
{
    if (!restore->open)
        return;
    vat_runtimes_free(&restore->runtimes);
    launcher_close(&restore->launcher);
    confinement_close(&restore->confinement);
    (void)uv_run(&restore->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&restore->loop); /* nothing is open on it */
    restore->open = false;
}

/* Chooses the worker for the vat's runtime. */
static int choose_runtime(struct restore *restore, struct store *store,
                          const struct kernel_vat *vat, struct vat_runtime *runtime,
                          struct buf *bundle, struct error *error)
{
    bool found = false;

    if (store_bundle_get(store, vat->bundle_id, bundle, &found, error) != 0)
        return -1;
    if (!found)
        return error_set(error, ERROR_SYSTEM, "the store has no bundle %.200s", vat->bundle_id);
    if (buf_reserve(bundle, SCAN_PADDING) != 0)
        return error_memory(error, "a bundle");
    memset(bundle->data + bundle->length, 0, SCAN_PADDING);
    return vat_runtime_choose(&restore->runtimes, (struct scan_span){bundle->data, bundle->length},
                              runtime, error);
}

static int start_from(struct restore *restore, const struct kernel_vat *vat,
                      const struct vat_runtime *runtime, int heap, struct error *error)
{
    const struct replay_host host = {
        .loop = &restore->loop,
        .launcher = &restore->launcher,
        .runtimes = &restore->runtimes,
        .timeout_ms = COMMON_OPTIONS_TIMEOUT_MS,
    };
    struct replay_worker worker = {.host = &host, .runtime = *runtime};
    char id[32];
    const struct replay_owner owner = {.id = id, .name = vat->name};
    int result;

    snprintf(id, sizeof id, "v%" PRId64, vat->id);
    result = replay_worker_restore(&worker, &owner, heap, error);
    replay_worker_end(&worker);
    return result;
}

static int restore_from(struct restore *restore, struct store *store, const struct kernel_vat *vat,
                        const char *hash, struct error *error)
{
    struct vat_runtime runtime;
    struct buf bundle = {0};
    int heap = -1, result = choose_runtime(restore, store, vat, &runtime, &bundle, error);

    if (result == 0)
        result = (heap = heap_file_new(error)) >= 0 ? 0 : -1;
    if (result == 0)
        result = store_snapshot_read(store, hash, heap, error);
    if (result == 0)
        result = start_from(restore, vat, &runtime, heap, error);
    if (heap >= 0)
        close(heap);
    buf_free(&bundle);
    return result;
}

/*
 * -1 with ERROR_DELIVERY if the vat cannot be restored, and why; with ERROR_SYSTEM if no worker can
 * be started at all. *found: it has a snapshot. Within a transaction.
 */
static int restore_vat(struct restore *restore, struct store *store, const struct kernel_vat *vat,
                       bool *found, struct error *error)
{
    struct store_snapshot snapshot;
    int64_t position;
    int result =
        store_snapshot_last(store, vat->id, vat->incarnation, &position, &snapshot, found, error);

    if (result == 0 && !*found)
        return 0;
    if (result == 0 && restore_open(restore, error) != 0)
        return -1;
    if (result == 0)
        result = restore_from(restore, store, vat, snapshot.hash, error);
    if (result != 0)
        error->kind = ERROR_DELIVERY;
    return result;
}

/* ---- the command ---- */

struct verify_options {
    const char *store; /* directory; borrowed from argv */
    bool replay;
    bool quick; /* no worker is started */
    bool json;
};

struct verify {
    const struct verify_options *options;
    struct store_check check;
    struct restore restore;
    int64_t items;          /* of transcripts */
    int64_t restored;       /* vats whose last snapshot a worker has started from */
    int64_t unrestored;     /* and those where none did */
    int64_t replayed;       /* vats */
    bool differs;           /* one of these */
    int64_t next_report_ns; /* when the progress is said again, CLOCK_MONOTONIC */
    struct buf out;
};

enum { PROGRESS_NS = 5000000 * 1000LL };

static const struct option_row rows[] = {
    {"store", "DIR", "the same as the operand DIR", OPTION_IS_TEXT(struct verify_options, store)},
    {"replay", .help = "replay also each vat from its last snapshot",
     OPTION_IS_FLAG(struct verify_options, replay)},
    {"quick", .help = "check only rows and hashes; start no worker",
     OPTION_IS_FLAG(struct verify_options, quick)},
    {COMMON_OPTION_JSON(struct verify_options, json)},
};

const struct option_table verify_options_table = {
    .program = "gaspipe",
    .command = "verify",
    .usage = "usage: gaspipe verify [options] DIR\n"
             "\n"
             "Reads all of a store of gaspipe run and says whether it is whole: the structure of "
             "its file, the checksum of each row, the running hash of each vat, snapshots, and "
             "transcripts. Restores each vat from its last snapshot in a worker. It also works "
             "while a run is using the store, and changes nothing.\n",
    .ending = "Exit status: 0 the store is whole, 1 a vat cannot be restored or a replay differs, "
              "2 usage, 3 bad input, 4 the store is damaged, or cannot be read.",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
};

/* ---- what is found ---- */

static void put_verify_line(struct verify *verify, const char *kind, const char *line)
{
    if (!verify->options->json) {
        buf_printf(&verify->out, "%s\n", line);
        return;
    }
    buf_printf(&verify->out, "{\"kind\":\"%s\",\"text\":", kind);
    json_value_write_string(&verify->out, line, strlen(line));
    buf_append_string(&verify->out, "}\n");
}

static void put_damage(void *context, const char *line)
{
    put_verify_line(context, "damage", line);
}

static void add_problem(struct verify *verify, const struct error *error)
{
    verify->check.problems++;
    put_damage(verify, error->text);
}

static void show_verify_progress(void *context, int64_t count)
{
    struct verify *verify = context;
    const int64_t now = stamp_now().mono;

    if (verify->next_report_ns != 0 && now >= verify->next_report_ns)
        log_line("%" PRId64 " rows are checked", count);
    if (verify->next_report_ns == 0 || now >= verify->next_report_ns)
        verify->next_report_ns = now + PROGRESS_NS;
}

/* ---- vats ---- */

/* A run does not start the vat without the end of its transcript, even from a later snapshot. */
static void check_end(struct verify *verify, const struct kernel_vat *vat, int64_t end)
{
    struct error problem;

    if (end >= vat->deliveries)
        return;
    error_set(&problem, ERROR_SYSTEM,
              "%s: the store is damaged: the transcript of vat v%" PRId64
              " ends after delivery %" PRId64 " of %" PRId64,
              verify->options->store, vat->id, end, vat->deliveries);
    add_problem(verify, &problem);
}

/* Every item is there: what a vat is restored from has no gap. */
static int check_transcript(struct verify *verify, struct store *store,
                            const struct kernel_vat *vat, struct error *error)
{
    struct buf item = {0};
    struct error problem;
    int64_t first, end;
    bool found;
    int result = store_transcript_bounds(store, vat->id, vat->incarnation, &first, &end, error);

    if (result == 0)
        check_end(verify, vat, end);
    for (int64_t at = first; result == 0 && at < end; at++) {
        buf_clear(&item);
        result = store_transcript_get(store, vat->id, vat->incarnation, at, &item, &found, error);
        verify->items++;
        if (result == 0 && !found) {
            error_set(&problem, ERROR_SYSTEM,
                      "%s: the store is damaged: vat v%" PRId64 ", item %" PRId64
                      " of its transcript is missing",
                      verify->options->store, vat->id, at);
            add_problem(verify, &problem);
        }
    }
    buf_free(&item);
    return result;
}

static void take_replay(struct verify *verify, struct replay_result *const *results, size_t count)
{
    struct error problem;

    for (size_t i = 0; i < count; i++) {
        verify->replayed++;
        if (results[i]->status != REPLAY_DIFFERS)
            continue;
        verify->differs = true;
        error_set(&problem, ERROR_DELIVERY,
                  "%s: vat %s: its replay differs; gaspipe replay --store %s %s says where",
                  verify->options->store, results[i]->id, verify->options->store, results[i]->id);
        put_damage(verify, problem.text);
    }
}

static int replay_vat(struct verify *verify, int64_t vat, struct error *error)
{
    char command[] = "replay", option[] = "--store", id[32];
    char *arguments[] = {command, option, (char *)(uintptr_t)verify->options->store, id, NULL};
    struct replay_result *const *results;
    struct replay_options options = {0};
    struct replay_run *run = NULL;
    size_t count;
    int result = -1;

    snprintf(id, sizeof id, "v%" PRId64, vat);
    if (replay_options_parse(&options, 4, arguments, error) == OPTION_TAKEN)
        run = replay_run_new(&options, error);
    if (run != NULL)
        result = replay_run(run, error);
    if (result == 0) {
        results = replay_run_results(run, &count);
        take_replay(verify, results, count);
    }
    replay_run_free(run);
    replay_options_free(&options);
    return result;
}

/* Checks that a run could resume the vat from its last snapshot. */
static int try_to_restore(struct verify *verify, struct store *store, const struct kernel_vat *vat,
                          struct error *error)
{
    struct error problem;
    bool found = false;

    if (restore_vat(&verify->restore, store, vat, &found, error) == 0) {
        verify->restored += found;
        return 0;
    }
    if (error->kind != ERROR_DELIVERY)
        return -1;
    verify->unrestored++;
    error_set(&problem, ERROR_DELIVERY,
              "%s: vat v%" PRId64 " (%s) cannot be resumed from its last snapshot: %s",
              verify->options->store, vat->id, vat->name, error->text);
    put_verify_line(verify, "unrestored", problem.text);
    return 0;
}

/* *any: there are deliveries since the vat's last snapshot. */
static int look_for_deliveries(struct store *store, const struct kernel_vat *vat, bool *any,
                               struct error *error)
{
    struct store_snapshot snapshot;
    int64_t position = 0;
    bool found;

    if (store_snapshot_last(store, vat->id, vat->incarnation, &position, &snapshot, &found,
                            error) != 0)
        return -1;
    *any = vat->deliveries > (found ? position : 0);
    return 0;
}

/* The other rows are whole, and a worker starts, but what the vat reads may be lost. */
static int check_losses(struct verify *verify, struct store *store, const struct kernel_vat *vat,
                        struct error *error)
{
    char mark[LOST_ROWS_NAME_SIZE];
    struct error problem;
    bool marked;

    if (lost_rows_look(store, error) != 0 ||
        lost_rows_find(store, vat->id, mark, &marked, error) != 0)
        return -1;
    if (!marked)
        return 0;
    error_set(&problem, ERROR_SYSTEM,
              "%s: the store is damaged: rows of the vatstore of vat v%" PRId64 " were lost",
              verify->options->store, vat->id);
    add_problem(verify, &problem);
    return 0;
}

static int check_vat(struct verify *verify, struct store *store, struct kernel *kernel, int64_t id,
                     struct error *error)
{
    struct kernel_vat vat;
    bool found, any = false;
    int result;

    if (kernel_vat_get(kernel, id, &vat, &found, error) != 0)
        return -1;
    /* A damaged record was reported with the rows. */
    if (!found || vat.damage != NULL) {
        kernel_vat_free(&vat);
        return 0;
    }
    result = check_transcript(verify, store, &vat, error);
    if (result == 0)
        result = check_losses(verify, store, &vat, error);
    if (result == 0 && !verify->options->quick)
        result = try_to_restore(verify, store, &vat, error);
    if (result == 0 && verify->options->replay && verify->check.problems == 0 &&
        verify->unrestored == 0)
        result = look_for_deliveries(store, &vat, &any, error);
    if (result == 0 && any)
        result = replay_vat(verify, id, error);
    kernel_vat_free(&vat);
    return result;
}

static void check_whole_state(struct verify *verify, struct kernel *kernel)
{
    struct error problem;

    if (kernel_require_state(kernel, &problem) != 0)
        add_problem(verify, &problem);
}

static int check_stored_vats(struct verify *verify, struct store *store, struct error *error)
{
    const struct kernel_options options = {0};
    struct kernel *kernel = kernel_open(store, &options, error);
    int64_t id = 0;
    bool found = true;
    int result = kernel != NULL ? 0 : -1;

    if (kernel != NULL)
        check_whole_state(verify, kernel);
    while (result == 0 && found) {
        result = kernel_vat_next(kernel, id, &id, &found, error);
        if (result == 0 && found)
            result = check_vat(verify, store, kernel, id, error);
    }
    kernel_close(kernel);
    return result;
}

/* ---- all of it ---- */

static int check_all(struct verify *verify, struct store *store, struct error *error)
{
    if (store_transaction_begin(store, error) != 0 ||
        store_check_rows(store, &verify->check, error) != 0 ||
        store_check_file(store, &verify->check, error) != 0 ||
        store_check_snapshots(store, &verify->check, error) != 0)
        return -1;
    return check_stored_vats(verify, store, error);
}

/* Covers only what was checked. */
static const char *describe_result(const struct verify *verify)
{
    if (verify->unrestored > 0)
        return "a vat cannot be resumed";
    if (verify->differs)
        return "a replay differs";
    return verify->options->quick ? "its rows are whole; no worker was started" : "whole";
}

static void put_summary(struct verify *verify)
{
    const struct store_check *check = &verify->check;
    struct buf *out = &verify->out;

    if (!verify->options->json) {
        buf_printf(out,
                   "%s: %" PRId64 " %s, %" PRId64 " %s, %" PRId64 " %s of transcripts, %" PRId64
                   " %s restored, %" PRId64 " %s replayed: ",
                   verify->options->store, check->rows,
                   format_plural((uint64_t)check->rows, "row", "rows"), check->snapshots,
                   format_plural((uint64_t)check->snapshots, "snapshot", "snapshots"),
                   verify->items, format_plural((uint64_t)verify->items, "item", "items"),
                   verify->restored, format_plural((uint64_t)verify->restored, "vat", "vats"),
                   verify->replayed, format_plural((uint64_t)verify->replayed, "vat", "vats"));
        if (check->problems > 0)
            buf_printf(out, "damaged in %" PRId64 " %s\n", check->problems,
                       format_plural((uint64_t)check->problems, "place", "places"));
        else
            buf_printf(out, "%s\n", describe_result(verify));
        return;
    }
    buf_append_string(out, "{\"kind\":\"summary\",\"store\":");
    json_value_write_string(out, verify->options->store, strlen(verify->options->store));
    buf_printf(out,
               ",\"rows\":%" PRId64 ",\"snapshots\":%" PRId64 ",\"transcriptItems\":%" PRId64
               ",\"restored\":%" PRId64 ",\"unrestored\":%" PRId64 ",\"replayed\":%" PRId64
               ",\"damaged\":%" PRId64 ",\"differs\":%s}\n",
               check->rows, check->snapshots, verify->items, verify->restored, verify->unrestored,
               verify->replayed, check->problems, verify->differs ? "true" : "false");
}

static int verify_store(const struct verify_options *options, struct error *error)
{
    struct verify verify = {.options = options};
    struct store *store = store_open_reader(options->store, error);
    int status = 0;

    if (store == NULL)
        return (int)error->kind;
    verify.check = (struct store_check){
        .context = &verify, .damaged = put_damage, .progress = show_verify_progress};
    /* An unreadable part is damage, too, in addition to what was found before. */
    if (check_all(&verify, store, error) != 0)
        add_problem(&verify, error);
    restore_close(&verify.restore);
    store_close(store);
    put_summary(&verify);
    if (verify.check.problems > 0)
        status = ERROR_SYSTEM;
    else if (verify.differs || verify.unrestored > 0)
        status = ERROR_DELIVERY;
    error->kind = ERROR_NONE;
    if (io_write_all(STDOUT_FILENO, verify.out.data, verify.out.length) != 0) {
        io_fail_stdout("cannot write to stdout", error);
        status = ERROR_SYSTEM;
    }
    buf_free(&verify.out);
    return status;
}

int verify_command(int argc, char **argv)
{
    struct verify_options options = {0};
    struct error error = {0};
    char **operands;
    enum option_result parsed =
        option_parse(&verify_options_table, argc, argv, &options, &operands, &error);
    int status;

    if (parsed == OPTION_TAKEN)
        parsed = common_options_take_store(&options.store, operands, &error);
    if (parsed != OPTION_TAKEN)
        return option_end(&verify_options_table, parsed, &error);
    status = verify_store(&options, &error);
    if (error.kind != ERROR_NONE)
        log_line("%s", error.text);
    return status;
}
