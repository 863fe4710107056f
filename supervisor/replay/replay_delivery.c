/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json/json_same.h"
#include "base/json/json_text.h"
#include "proto/command.h"
#include "proto/meter.h"
#include "slog/model/describe.h"
#include "supervisor/process/worker_exit.h"
#include "supervisor/replay/replay_upgrade.h"
#include "supervisor/replay/replay_vat.h"

/* ---- differences ---- */

static int differ_in_number(struct replay_vat *vat, enum replay_aspect aspect,
                            const struct transcript_step *step, int64_t recorded, int64_t replayed,
                            struct error *error)
{
    char texts[2][24];

    snprintf(texts[0], sizeof texts[0], "%" PRId64, recorded);
    snprintf(texts[1], sizeof texts[1], "%" PRId64, replayed);
    return replay_vat_differ(vat, aspect, step, (struct scan_span){texts[0], strlen(texts[0])},
                             (struct scan_span){texts[1], strlen(texts[1])}, error);
}

/* ---- a delivery ---- */

struct exchange {
    struct replay_vat *vat;
    int64_t delivery_num;
    int64_t syscall_num; /* of the next one */
    uint64_t line;       /* of the file, where it stands */
};

/* The next step of this delivery; 0: the recording ends in mid-delivery. */
static int next_step(struct exchange *exchange, struct transcript_step *step, struct error *error)
{
    int result = transcript_next(exchange->vat->worker.host->transcript, step, error);

    if (result != 1)
        return result;
    if (scan_is(step->vat_id, exchange->vat->id) &&
        (step->kind == TRANSCRIPT_SYSCALL || step->kind == TRANSCRIPT_ANSWER ||
         step->kind == TRANSCRIPT_RESULT)) {
        exchange->line = step->line;
        return 1;
    }
    transcript_unread(exchange->vat->worker.host->transcript);
    return 0;
}

/* What was recorded of the delivery ends before its result, as when the kernel
 * was killed: our worker has nobody to ask on. */
static int cut(struct exchange *exchange)
{
    exchange->vat->cut++;
    return replay_vat_start_afresh(exchange->vat);
}

/* Where a line of this delivery stands that cannot follow the one before. */
static int out_of_order(const struct exchange *exchange, struct error *error)
{
    return error_set(error, ERROR_INPUT,
                     "%s:%" PRIu64 ": out of order: each syscall has one answer "
                     "behind it, and a delivery one result at its end",
                     transcript_name(exchange->vat->worker.host->transcript), exchange->line);
}

static int differ_in_syscall(struct exchange *exchange, struct scan_span recorded,
                             struct scan_span replayed, struct error *error)
{
    const struct transcript_step place = {
        .line = exchange->line,
        .delivery_num = exchange->delivery_num,
        .syscall_num = exchange->syscall_num,
    };

    return replay_vat_differ(exchange->vat, REPLAY_SYSCALL, &place, recorded, replayed, error);
}

/* Compares a syscall, and answers it as it was answered. */
static int take_syscall(struct exchange *exchange, struct iovec frame, struct error *error)
{
    const struct scan_span message = {(char *)frame.iov_base + 1, frame.iov_len - 1};
    struct scan_span word, made = {0};
    struct transcript_step step;
    struct scan_cursor cursor;
    int result = next_step(exchange, &step, error);

    if (scan_open(message, '[', &cursor) && scan_element(&cursor, &word) == SCAN_FOUND)
        (void)scan_element(&cursor, &made);
    if (!scan_is(replay_worker_word(frame), "syscall") || made.at == NULL)
        made = message;
    if (result != 1)
        return result < 0 ? -1 : cut(exchange);
    if (step.kind == TRANSCRIPT_RESULT)
        return differ_in_syscall(exchange, (struct scan_span){0}, made, error);
    if (step.kind != TRANSCRIPT_SYSCALL)
        return out_of_order(exchange, error);
    if (!json_same(step.json, made))
        return differ_in_syscall(exchange, step.json, made, error);
    result = next_step(exchange, &step, error);
    if (result != 1)
        return result < 0 ? -1 : cut(exchange);
    if (step.kind != TRANSCRIPT_ANSWER)
        return out_of_order(exchange, error);
    exchange->syscall_num++;
    return replay_worker_answer(&exchange->vat->worker, step.json, error);
}

/* How a delivery ended in our worker. */
struct ending {
    struct buf status;  /* "ok", "error" */
    struct buf problem; /* JSON; "null" when there is none */
    struct meter meter;
    bool metered; /* else the worker died */
};

static void ending_free(struct ending *ending)
{
    buf_free(&ending->status);
    buf_free(&ending->problem);
    meter_free(&ending->meter);
}

/* ["error", WORDS] */
static void end_in_words(struct ending *ending, const char *bytes, size_t length)
{
    buf_append_string(&ending->status, "error");
    json_text_string(&ending->problem, bytes, length);
}

/* SwingSet takes what JavaScript takes for false as null. */
static bool is_nothing(struct scan_span value)
{
    return value.at == NULL || scan_is(value, "false") || scan_is(value, "0") ||
           scan_is(value, "\"\"");
}

/* The RESULT of a `.` frame. */
static void take_reply(struct ending *ending, struct iovec reply)
{
    struct scan_span status = {0}, problem = {0};
    struct scan_cursor cursor;

    if (reply.iov_len == 0) {
        end_in_words(ending, worker_unsettled, strlen(worker_unsettled));
        return;
    }
    if (scan_open((struct scan_span){reply.iov_base, reply.iov_len}, '[', &cursor) &&
        scan_element(&cursor, &status) == SCAN_FOUND)
        (void)scan_element(&cursor, &problem);
    status = scan_string(status);
    if (status.at == NULL) {
        end_in_words(ending, reply.iov_base, reply.iov_len);
        return;
    }
    buf_append(&ending->status, status.at, status.length);
    if (is_nothing(problem))
        buf_append_string(&ending->problem, "null");
    else
        buf_append(&ending->problem, problem.at, problem.length);
}

static int take_ending(struct exchange *exchange, const struct session_news *news,
                       struct ending *ending, struct error *error)
{
    struct iovec payload = {(char *)news->frame.iov_base + 1, news->frame.iov_len - 1};
    struct buf words = {0};
    struct iovec reply;

    if (replay_worker_command(news) == COMMAND_DONE) {
        if (meter_split(payload, &ending->meter, &reply, error) != 0)
            return -1;
        ending->metered = true;
        take_reply(ending, reply);
    } else if (replay_worker_command(news) == COMMAND_FAILED) {
        end_in_words(ending, payload.iov_base, payload.iov_len);
    } else {
        replay_worker_put_end(&exchange->vat->worker, news, &words);
        end_in_words(ending, words.data, words.length);
        buf_free(&words);
    }
    if (buf_reserve(&ending->problem, SCAN_PADDING) != 0 || buf_failed(&ending->status))
        return error_memory(error, "a result");
    memset(ending->problem.data + ending->problem.length, 0, SCAN_PADDING);
    return 0;
}

static void put_result(struct buf *text, struct scan_span status, struct scan_span problem)
{
    buf_append_string(text, "[\"");
    buf_append(text, status.at, status.length);
    buf_append_string(text, "\",");
    if (problem.at != NULL)
        buf_append(text, problem.at, problem.length);
    else
        buf_append_string(text, "null");
    buf_append_byte(text, ']');
}

static struct scan_span span_of(const struct buf *buf)
{
    return (struct scan_span){buf->data, buf->length};
}

static int differ_in_result(struct exchange *exchange, const struct transcript_step *step,
                            const struct ending *ending, struct error *error)
{
    struct buf recorded = {0}, replayed = {0};
    int result;

    put_result(&recorded, step->status, step->problem);
    put_result(&replayed, span_of(&ending->status), span_of(&ending->problem));
    result = replay_vat_differ(exchange->vat, REPLAY_RESULT, step, span_of(&recorded),
                               span_of(&replayed), error);
    buf_free(&recorded);
    buf_free(&replayed);
    return result;
}

static bool same_result(const struct transcript_step *step, const struct ending *ending)
{
    const struct scan_span status = span_of(&ending->status);

    if (step->status.length != status.length ||
        memcmp(step->status.at, status.at, status.length) != 0)
        return false;
    return step->problem.at == NULL || json_same(step->problem, span_of(&ending->problem));
}

static int compare_computrons(struct exchange *exchange, const struct transcript_step *step,
                              const struct meter *meter, struct error *error)
{
    struct replay_vat *vat = exchange->vat;

    if (step->compute == TRANSCRIPT_NONE)
        return 0;
    if (step->compute != (int64_t)meter->compute)
        return differ_in_number(vat, REPLAY_COMPUTRONS, step, step->compute,
                                (int64_t)meter->compute, error);
    vat->computed++;
    vat->computrons += step->compute;
    return 0;
}

/* Whether both sides are counted, under the same fingerprint. */
static bool counts_compare(const struct replay_host *host, const struct transcript_step *step)
{
    if (step->fingerprint.at == NULL)
        return host->compare_instructions;
    return host->fingerprint != NULL && scan_is(step->fingerprint, host->fingerprint);
}

static int compare_instructions(struct exchange *exchange, const struct transcript_step *step,
                                const struct meter *meter, struct error *error)
{
    struct replay_vat *vat = exchange->vat;

    if (!counts_compare(vat->worker.host, step) || step->instructions == TRANSCRIPT_NONE ||
        !meter->counted || vat->state == REPLAY_DIFFERS)
        return 0;
    if (step->instructions != (int64_t)meter->instructions)
        return differ_in_number(vat, REPLAY_INSTRUCTIONS, step, step->instructions,
                                (int64_t)meter->instructions, error);
    vat->counted++;
    vat->instructions += step->instructions;
    return 0;
}

static int compare_ending(struct exchange *exchange, const struct transcript_step *step,
                          const struct ending *ending, struct error *error)
{
    struct replay_vat *vat = exchange->vat;

    if (step->kind == TRANSCRIPT_SYSCALL)
        return differ_in_syscall(exchange, step->json, (struct scan_span){0}, error);
    if (step->kind != TRANSCRIPT_RESULT)
        return out_of_order(exchange, error);
    if (!same_result(step, ending))
        return differ_in_result(exchange, step, ending, error);
    if (compare_computrons(exchange, step, &ending->meter, error) != 0 ||
        compare_instructions(exchange, step, &ending->meter, error) != 0)
        return -1;
    if (vat->state == REPLAY_DIFFERS)
        return 0;
    replay_upgrade_end(vat, scan_is(step->status, "ok"));
    vat->deliveries++;
    vat->syscalls += exchange->syscall_num;
    if (!ending->metered) {
        replay_worker_end(&vat->worker);
        vat->state = REPLAY_OVER;
    }
    return 0;
}

static int finish(struct exchange *exchange, const struct session_news *news, struct error *error)
{
    struct ending ending = {0};
    struct transcript_step step;
    int result = take_ending(exchange, news, &ending, error);

    if (result == 0)
        result = next_step(exchange, &step, error);
    if (result == 1)
        result = compare_ending(exchange, &step, &ending, error);
    else if (result == 0)
        result = cut(exchange);
    ending_free(&ending);
    return result;
}

static int send_delivery(struct exchange *exchange, struct scan_span vd, struct error *error)
{
    static char head[] = "?[\"deliver\",", tail[] = "]";
    const struct iovec parts[] = {
        {head, sizeof head - 1},
        {(char *)vd.at, vd.length},
        {tail, sizeof tail - 1},
    };

    return session_send(exchange->vat->worker.session, parts, 3, error);
}

/* Answers what the worker asks until its delivery has ended, one way or other. */
static int run_exchange(struct exchange *exchange, struct error *error)
{
    struct replay_vat *vat = exchange->vat;

    for (;;) {
        struct session_news news;

        if (replay_worker_wait(&vat->worker, &news, error) != 0)
            return -1;
        if (replay_worker_command(&news) != COMMAND_REQUEST)
            return finish(exchange, &news, error);
        if (take_syscall(exchange, news.frame, error) != 0)
            return -1;
        if (vat->state != REPLAY_LIVE)
            return 0;
    }
}

/* Whether a worker can be started for a vat's first delivery. */
static bool can_start(struct replay_vat *vat, const struct transcript_step *step)
{
    if (vat->bundle.length == 0)
        (void)replay_vat_skip(vat, "the file does not hold its bundle");
    else if (!scan_is(describe_kind(step->json), "startVat"))
        (void)replay_vat_skip(vat, "the file does not hold its beginning");
    return vat->state == REPLAY_FRESH;
}

/* A worker that can be sent the delivery, started now if none runs. */
static int provide_worker(struct replay_vat *vat, const struct transcript_step *step,
                          struct error *error)
{
    const struct replay_owner owner = replay_vat_owner(vat);
    struct replay_worker *worker = &vat->worker;
    int result = 0;

    if (vat->state == REPLAY_FRESH && !step->replay && replay_upgrade_begin(vat, error) != 0)
        return -1;
    if (vat->state == REPLAY_LIVE || vat->state == REPLAY_SKIPPED ||
        (vat->state == REPLAY_FRESH && !can_start(vat, step)))
        return 0;
    if (vat_runtime_choose(worker->host->runtimes, span_of(&vat->bundle), &worker->runtime,
                           error) != 0)
        return error->kind == ERROR_INPUT ? replay_vat_skip(vat, "%s", error->text) : -1;
    if (vat->state == REPLAY_FRESH)
        result = replay_worker_start(worker, &owner, error);
    else
        result = replay_worker_restore(worker, &owner, vat->snapshot_fd, error);
    if (result == 0)
        vat->state = REPLAY_LIVE;
    return result;
}

int replay_vat_deliver(struct replay_vat *vat, const struct transcript_step *step,
                       struct error *error)
{
    struct exchange exchange = {
        .vat = vat,
        .delivery_num = step->delivery_num,
        .line = step->line,
    };

    if (vat->state != REPLAY_LIVE && vat->state != REPLAY_FRESH && vat->state != REPLAY_STORED)
        return 0;
    if (provide_worker(vat, step, error) != 0)
        return -1;
    if (vat->state != REPLAY_LIVE)
        return 0;
    vat->delivery_num = step->delivery_num;
    buf_clear(&vat->description);
    describe_delivery(step->json, &vat->description);
    if (send_delivery(&exchange, step->json, error) != 0)
        return -1;
    return run_exchange(&exchange, error);
}
