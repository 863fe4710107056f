/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/loop.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "counter/gasmark.h"
#include "proto/meter.h"
#include "sandbox/contract_filter.h"
#include "worker/channel.h"
#include "worker/region.h"
#include "worker/xsnap_compat.h"
#include "worker/zygote.h"

struct worker {
    struct channel channel;
    struct stamps stamps;
    struct region region;
    struct cpu_usage cpu_usage;
    const struct engine_ops *ops;
    struct engine *engine;
    struct buf record; /* the meter record that goes before a result */
    int exit_status;   /* of the last command: what a clean end will be */
    bool parent_words; /* as in the options */
    bool xsnap;        /* likewise */
    bool report_stops; /* as in the options */
    bool confine;      /* as in the options */
    bool pipe_lost;    /* no answer comes in the middle of a command; the status says why */
};

static const char no_memory_for_stamps[] = "out of memory for stamps";

/* LOOP_NEXT continues with the next command. */
enum loop_step { LOOP_NEXT, LOOP_END };

static int exit_status_of(enum channel_result result)
{
    switch (result) {
    case CHANNEL_CUT:
        return WORKER_EXIT_CUT_FRAME;
    case CHANNEL_BAD:
        return WORKER_EXIT_BAD_FRAME;
    case CHANNEL_IO:
        return WORKER_EXIT_IO;
    case CHANNEL_FRAME:
    case CHANNEL_END:
        break;
    }
    return WORKER_EXIT_OK;
}

static void say_in_dialect(const struct worker *worker, const char *words)
{
    if (worker->xsnap)
        xsnap_compat_say(words);
    else
        log_line("%s", words);
}

static enum loop_step end_with(struct worker *worker, int exit_status, const char *words)
{
    say_in_dialect(worker, words);
    worker->exit_status = exit_status;
    return LOOP_END;
}

/* Like end_with(), for failures of the pipe; xsnap-worker has one status and text for these. */
static enum loop_step end_with_pipe(struct worker *worker, int exit_status, const char *words,
                                    const char *xsnap_words)
{
    if (!worker->xsnap && (!worker->parent_words || exit_status != WORKER_EXIT_IO))
        return end_with(worker, exit_status, words);
    xsnap_compat_say(xsnap_words);
    worker->exit_status = WORKER_EXIT_IO;
    return LOOP_END;
}

/* A result of this size takes so long to write that the time must not count for the next
 * delivery. */
enum { LARGE_RESULT = 16 * 1024 };

static enum loop_step send_parts(struct worker *worker, const struct iovec *parts, int count)
{
    struct error error;

    if (channel_send(&worker->channel, parts, count, &error) != 0)
        return end_with_pipe(worker, WORKER_EXIT_IO, error.text, xsnap_compat_no_parent_to_write);
    return LOOP_NEXT;
}

/* Upper bounds: a meter record without stamps, and one stamp in its two lists. */
enum { RECORD_BYTES = 4096, STAMP_BYTES = 64 };

static const char too_long[] = "a message is too long for a frame";

/* ---- the engine's requests during a delivery ---- */

/* Notes the exit status if the pipe fails or cannot carry a request. Returns no answer. */
static struct iovec lose_pipe(struct worker *worker, int exit_status, const char *words,
                              const char *xsnap_words)
{
    (void)end_with_pipe(worker, exit_status, words, xsnap_words);
    worker->pipe_lost = true;
    return (struct iovec){0};
}

static bool is_stop(const struct worker *worker, struct iovec frame)
{
    return worker->report_stops && frame.iov_len == 1 && *(char *)frame.iov_base == COMMAND_STOP;
}

/* Ends the delivery at a request that the supervisor refuses. Keeps the request's first stamp,
 * because the delivery ended when it was sent. */
static struct iovec stop_at_request(struct worker *worker)
{
    stamps_drop_last(&worker->stamps);
    worker->exit_status = WORKER_EXIT_REFUSED;
    worker->pipe_lost = true;
    return (struct iovec){0};
}

static struct iovec receive_answer(struct worker *worker)
{
    struct iovec answer;
    struct error error;
    enum channel_result result = channel_receive(&worker->channel, &answer, &error);

    if (stamps_take(&worker->stamps) != 0)
        return lose_pipe(worker, WORKER_EXIT_HOST_MEMORY, no_memory_for_stamps,
                         no_memory_for_stamps);
    if (result == CHANNEL_END)
        return lose_pipe(worker, WORKER_EXIT_IO, "end of file before the answer to a request",
                         xsnap_compat_no_parent_to_read);
    if (result != CHANNEL_FRAME)
        return lose_pipe(worker, exit_status_of(result), error.text,
                         result == CHANNEL_CUT ? xsnap_compat_no_parent_to_read
                                               : xsnap_compat_bad_frame(&worker->channel.decoder));
    if (is_stop(worker, answer))
        return stop_at_request(worker);
    if (answer.iov_len == 0 || *(char *)answer.iov_base != COMMAND_ANSWER)
        return lose_pipe(worker, WORKER_EXIT_BAD_FRAME,
                         "a request was answered by a frame that does not begin with '/'",
                         xsnap_compat_bad_answer);
    return (struct iovec){(char *)answer.iov_base + 1, answer.iov_len - 1};
}

/*
 * Returns true if `bytes` fit into one frame after a meter record with `stamps` stamps. The
 * record's bound depends only on the number of stamps, so that every machine gives the same
 * answer.
 */
static bool fits_frame(const struct worker *worker, size_t bytes, size_t stamps)
{
    const size_t needed = RECORD_BYTES + stamps * STAMP_BYTES;
    const size_t most = worker->xsnap ? XSNAP_FRAME_MOST : NETSTRING_CAP_UP;

    return needed <= most && bytes <= most - needed;
}

static struct iovec send_request(struct worker *worker, const struct iovec *parts, int count)
{
    struct error error;

    if (stamps_take(&worker->stamps) != 0)
        return lose_pipe(worker, WORKER_EXIT_HOST_MEMORY, no_memory_for_stamps,
                         no_memory_for_stamps);
    if (channel_send(&worker->channel, parts, count, &error) != 0)
        return lose_pipe(worker, WORKER_EXIT_IO, error.text, xsnap_compat_no_parent_to_write);
    return receive_answer(worker);
}

static struct iovec request(void *context, struct iovec message)
{
    struct worker *worker = context;
    char prefix = COMMAND_REQUEST;
    struct iovec parts[] = {{&prefix, 1}, message};
    struct iovec answer;

    region_pause(&worker->region);
    if (!fits_frame(worker, message.iov_len, 0))
        return lose_pipe(worker, WORKER_EXIT_MESSAGE, too_long, too_long);
    answer = send_request(worker, parts, 2);
    region_resume(&worker->region);
    return answer;
}

/* ---- commands ---- */

/* Writes the last command's record; -1 if out of memory. */
static int make_meter_record(struct worker *worker, struct meter *meter)
{
    const struct engine_usage usage = worker->ops->usage(worker->engine);

    meter->compute = usage.compute;
    meter->allocate = usage.allocate;
    meter->heap_count = usage.heap_count;
    if (usage.profile != NULL)
        meter->profile = (struct iovec){usage.profile->data, usage.profile->length};
    meter->gas_known = usage.gas_known;
    meter->gas_burnt = usage.gas_burnt;
    meter->refund_known = usage.gas_known;
    meter->gas_refunded = usage.gas_refunded;
    if (usage.cost_known) {
        meter->cost_known = true;
        meter->block_cost = usage.block_cost;
    }
    if (usage.gas_known)
        meter->gas_profile = (struct iovec){usage.gas_profile->data, usage.gas_profile->length};
    meter->stamps = worker->stamps.items;
    meter->stamp_count = worker->stamps.count;
    cpu_usage_take(&worker->cpu_usage, stamps_last(&worker->stamps).mono, meter);
    if (worker->xsnap)
        xsnap_compat_meter(meter);
    buf_clear(&worker->record);
    meter_encode(&worker->record, meter);
    return buf_failed(&worker->record) ? -1 : 0;
}

/* Reports the delivery's use up to its last stamp. Omits the report if it cannot be sent, since
 * the exit status follows. */
static void send_used(struct worker *worker, struct meter *meter)
{
    char prefix = COMMAND_STOPPED;
    struct iovec parts[] = {{&prefix, 1}, {0}};
    struct error ignored;

    if (!fits_frame(worker, 0, worker->stamps.count) || make_meter_record(worker, meter) != 0)
        return;
    parts[1] = (struct iovec){worker->record.data, worker->record.length};
    (void)channel_send(&worker->channel, parts, 2, &ignored);
}

/* Reports the delivery's use up to now, at the stop. */
static void send_stopped(struct worker *worker, struct meter *meter)
{
    if (worker->report_stops && stamps_take(&worker->stamps) == 0)
        send_used(worker, meter);
}

static enum loop_step send_done(struct worker *worker, struct meter *meter, struct iovec text)
{
    char prefix = COMMAND_DONE;
    char end = COMMAND_METER_END;
    struct iovec parts[] = {{&prefix, 1}, {0}, {&end, 1}, text};
    enum loop_step step;

    if (!fits_frame(worker, text.iov_len, worker->stamps.count + 1)) {
        send_stopped(worker, meter);
        return end_with(worker, WORKER_EXIT_MESSAGE, too_long);
    }
    if (stamps_take(&worker->stamps) != 0)
        return end_with(worker, WORKER_EXIT_HOST_MEMORY, no_memory_for_stamps);
    if (make_meter_record(worker, meter) != 0)
        return end_with(worker, WORKER_EXIT_HOST_MEMORY, "out of memory for a meter record");
    parts[1] = (struct iovec){worker->record.data, worker->record.length};
    step = send_parts(worker, parts, 4);
    if (text.iov_len >= LARGE_RESULT)
        cpu_usage_rebase(&worker->cpu_usage, stamp_now().mono);
    return step;
}

static enum loop_step send_failed(struct worker *worker, struct iovec text)
{
    char prefix = COMMAND_FAILED;
    struct iovec parts[] = {{&prefix, 1}, text};

    worker->exit_status = WORKER_EXIT_EXCEPTION;
    return send_parts(worker, parts, 2);
}

/* xsnap-worker reports exceptions of scripts and modules on stderr, not to its client. */
static enum loop_step send_file_failed(struct worker *worker, struct iovec text)
{
    fprintf(stderr, "%.*s\n", (int)text.iov_len, (const char *)text.iov_base);
    return send_failed(worker, (struct iovec){0});
}

/* Runs the engine with a path from a frame, terminated here. */
static struct engine_result run_path(struct worker *worker, char command, const char *path)
{
    switch (command) {
    case COMMAND_SCRIPT:
        return worker->ops->run_script(worker->engine, path);
    case COMMAND_MODULE:
        return worker->ops->run_module(worker->engine, path);
    default:
        return worker->ops->write_snapshot(worker->engine, path);
    }
}

static struct engine_result run_named_file(struct worker *worker, char command,
                                           struct iovec argument)
{
    static char no_path[] = "a path is not empty and has no zero byte";
    struct engine_result result = {.outcome = ENGINE_THREW, .text = {no_path, sizeof no_path - 1}};
    char *path = strndup(argument.iov_base, argument.iov_len);

    if (path != NULL && path[0] != '\0' && strlen(path) == argument.iov_len)
        result = run_path(worker, command, path);
    free(path);
    return result;
}

static struct engine_result run_command(struct worker *worker, char command, struct iovec argument)
{
    switch (command) {
    case COMMAND_DELIVER:
        return worker->ops->deliver(worker->engine, argument);
    case COMMAND_EVALUATE:
        return worker->ops->evaluate(worker->engine, argument);
    default:
        return run_named_file(worker, command, argument);
    }
}

/* xsnap-worker reports an exceeded limit by its exit status only. */
static enum loop_step end_stopped(struct worker *worker, const struct engine_result *result)
{
    if (!worker->xsnap || result->exit_status == WORKER_EXIT_IO)
        return end_with(worker, result->exit_status, result->text.iov_base);
    worker->exit_status = result->exit_status;
    return LOOP_END;
}

/* Runs a metered command. */
static enum loop_step run_metered(struct worker *worker, char command, struct iovec argument)
{
    struct meter meter = {0};
    struct engine_result result;

    /* Other commands keep the status that an earlier exception set, as xsnap-worker does. */
    if (command == COMMAND_DELIVER || command == COMMAND_EVALUATE)
        worker->exit_status = WORKER_EXIT_OK;
    /* Only deliveries are limited; loading a runtime is not. */
    region_start(&worker->region, command == COMMAND_DELIVER);
    result = run_command(worker, command, argument);
    region_stop(&worker->region, &meter);
    if (worker->pipe_lost) {
        if (worker->exit_status == WORKER_EXIT_MESSAGE)
            send_stopped(worker, &meter);
        else if (worker->exit_status == WORKER_EXIT_REFUSED)
            send_used(worker, &meter);
        return LOOP_END;
    }
    if (result.outcome != ENGINE_STOPPED && region_passed_cost(&worker->region, &meter)) {
        send_stopped(worker, &meter);
        return end_with(worker, WORKER_EXIT_COST, "cost limit exceeded");
    }
    switch (result.outcome) {
    case ENGINE_OK:
        return send_done(worker, &meter, result.text);
    case ENGINE_THREW:
        return worker->xsnap && (command == COMMAND_SCRIPT || command == COMMAND_MODULE)
                   ? send_file_failed(worker, result.text)
                   : send_failed(worker, result.text);
    case ENGINE_STOPPED:
        break;
    }
    if (command == COMMAND_DELIVER && result.exit_status != WORKER_EXIT_IO)
        send_stopped(worker, &meter);
    return end_stopped(worker, &result);
}

static enum loop_step unknown_command(struct worker *worker, struct iovec frame)
{
    char words[64], command = frame.iov_len > 0 ? *(char *)frame.iov_base : '\0';

    if (worker->xsnap) {
        xsnap_compat_unknown_command(frame.iov_base, frame.iov_len);
        worker->exit_status = WORKER_EXIT_IO;
        return LOOP_END;
    }
    if (command > ' ' && command < 0x7f)
        snprintf(words, sizeof words, "unknown command '%c'", command);
    else
        snprintf(words, sizeof words, "unknown command, byte 0x%02x", (unsigned char)command);
    return end_with(worker, WORKER_EXIT_BAD_FRAME, words);
}

static enum loop_step handle_command(struct worker *worker, struct iovec frame)
{
    static char ready = COMMAND_DONE;
    const struct iovec done = {&ready, 1};
    struct iovec argument;
    char command;

    if (frame.iov_len == 0 && !worker->xsnap)
        return end_with(worker, WORKER_EXIT_BAD_FRAME, "an empty frame has no command");
    if (frame.iov_len == 0)
        return unknown_command(worker, frame);
    command = *(char *)frame.iov_base;
    argument = (struct iovec){(char *)frame.iov_base + 1, frame.iov_len - 1};
    switch (command) {
    case COMMAND_READY:
        return send_parts(worker, &done, 1);
    case COMMAND_DELIVER:
    case COMMAND_EVALUATE:
    case COMMAND_SCRIPT:
    case COMMAND_MODULE:
        return run_metered(worker, command, argument);
    case COMMAND_SNAPSHOT:
        if (worker->ops->write_snapshot == NULL)
            return end_with(worker, WORKER_EXIT_BAD_FRAME, "w: this engine has no snapshots");
        return run_metered(worker, command, argument);
    case COMMAND_QUIT:
        return LOOP_END;
    default:
        return unknown_command(worker, frame);
    }
}

static void handle_all(struct worker *worker)
{
    enum loop_step step = LOOP_NEXT;

    while (step == LOOP_NEXT) {
        struct iovec frame;
        struct error error;
        enum channel_result result = channel_receive(&worker->channel, &frame, &error);

        stamps_clear(&worker->stamps);
        if (stamps_take(&worker->stamps) != 0) {
            (void)end_with(worker, WORKER_EXIT_HOST_MEMORY, no_memory_for_stamps);
            return;
        }
        if (result == CHANNEL_END || (result == CHANNEL_CUT && worker->xsnap))
            return;
        if (result == CHANNEL_FRAME)
            step = handle_command(worker, frame);
        else
            step = end_with_pipe(worker, exit_status_of(result), error.text,
                                 xsnap_compat_bad_frame(&worker->channel.decoder));
    }
}

/* Under QEMU the plugin filters system calls, because the guest cannot install a filter for
 * itself. Sanitizer builds run without a filter, and so does a Linux without any, of which the
 * supervisor has told. */
static int confine(void *context)
{
    const struct worker *worker = context;
    uint64_t answer;
    int errnum;

    if (!worker->confine)
        return 0;
    answer = gasmark_confine();
    errnum = answer == GASMARK_NONE ? sandbox_enter_contract_filter(false) : (int)answer;
    if (errnum == 0 || errnum == EOPNOTSUPP || errnum == ENOSYS)
        return 0;
    log_line("--confine: %s", strerror(errnum));
    return -1;
}

/* Returns NULL with the error filled. */
static struct engine *open_snapshot(struct worker *worker, const struct engine_options *engine,
                                    const char *place, struct error *error)
{
    if (worker->ops->open_snapshot == NULL) {
        error_set(error, ERROR_USAGE, "-r: this engine has no snapshots");
        return NULL;
    }
    return worker->ops->open_snapshot(engine, place, error);
}

static int open_engine(struct worker *worker, const struct loop_options *options)
{
    struct engine_options engine = options->engine;
    struct error error = {0};

    engine.host = (struct engine_host){.context = worker, .request = request, .confine = confine};
    if (worker->ops->limits_cost)
        engine.cost_limit = options->cost_limit;
    /* Opening an engine costs a varying number of instructions, so count from here. */
    if (options->snapshot == NULL)
        worker->engine = worker->ops->open(&engine, &error);
    else
        worker->engine = open_snapshot(worker, &engine, options->snapshot, &error);
    if (worker->engine != NULL)
        return 0;
    say_in_dialect(worker, error.text);
    worker->exit_status = error.kind == ERROR_USAGE ? WORKER_EXIT_USAGE : WORKER_EXIT_IO;
    return -1;
}

/* Reports an unhandled exception on stderr at the end, since no client has received it. */
static void report_unhandled_exception(struct worker *worker)
{
    const char *words = worker->ops->exception_left(worker->engine);

    if (words == NULL)
        return;
    say_in_dialect(worker, words);
    worker->exit_status = WORKER_EXIT_EXCEPTION;
}

/* ---- startup ---- */

static void run_opened(struct worker *worker, const struct loop_options *options)
{
    if (!region_open(&worker->region, options->instruction_limit)) {
        end_with(worker, WORKER_EXIT_USAGE, "--max-instructions: no counter is there");
        return;
    }
    if (!worker->ops->limits_cost && !region_limit_cost(&worker->region, options->cost_limit)) {
        end_with(worker, WORKER_EXIT_USAGE, "--max-cost: this worker has no meter compiled in");
        return;
    }
    /* Fork here: all of a worker's own startup is done, and no contract has run. */
    if (options->forks && zygote_serve(options->in, options->name) == ZYGOTE_OVER)
        return;
    if (!worker->ops->confines_itself && confine(worker) != 0) {
        worker->exit_status = WORKER_EXIT_USAGE;
        return;
    }
    cpu_usage_rebase(&worker->cpu_usage, stamp_now().mono);
    handle_all(worker);
    if (worker->exit_status == WORKER_EXIT_OK)
        report_unhandled_exception(worker);
}

int loop_run(const struct loop_options *options)
{
    struct worker worker = {
        .ops = options->ops,
        .parent_words = options->parent_words,
        .xsnap = options->xsnap,
        .report_stops = options->report_stops,
        .confine = options->confine,
    };
    struct error error;

    if (channel_open(&worker.channel, options->in, options->out, options->frame_cap, &error) != 0) {
        log_line("%s", error.text);
        worker.exit_status = WORKER_EXIT_HOST_MEMORY;
    } else if (open_engine(&worker, options) == 0) {
        run_opened(&worker, options);
        worker.ops->close(worker.engine);
    }
    buf_free(&worker.record);
    stamps_free(&worker.stamps);
    channel_close(&worker.channel);
    return worker.exit_status;
}
