/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay_vat.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"
#include "proto/command.h"
#include "proto/meter.h"
#include "proto/vat_message.h"
#include "slog/describe.h"
#include "supervisor/json_same.h"
#include "supervisor/worker_words.h"

struct replay_vat *replay_vat_new(struct scan_span id, struct error *error)
{
    struct replay_vat *vat = calloc(1, sizeof *vat);

    if (vat == NULL || (vat->id = strndup(id.at, id.length)) == NULL ||
        (vat->name = strdup("")) == NULL) {
        replay_vat_free(vat);
        error_memory(error, "a vat");
        return NULL;
    }
    return vat;
}

static void end_worker(struct replay_vat *vat)
{
    session_end(vat->session);
    vat->session = NULL;
}

void replay_vat_close(struct replay_vat *vat)
{
    end_worker(vat);
    if (vat->state != REPLAY_SKIPPED && vat->state != REPLAY_DIFFERS)
        vat->state = REPLAY_OVER;
}

void replay_vat_free(struct replay_vat *vat)
{
    if (vat == NULL)
        return;
    end_worker(vat);
    buf_free(&vat->bundle);
    buf_free(&vat->saved_hash);
    buf_free(&vat->description);
    buf_free(&vat->difference.recorded);
    buf_free(&vat->difference.replayed);
    free(vat->id);
    free(vat->name);
    free(vat);
}

static int __attribute__((format(printf, 2, 3)))
skip(struct replay_vat *vat, const char *format, ...)
{
    va_list args;

    end_worker(vat);
    vat->state = REPLAY_SKIPPED;
    va_start(args, format);
    vsnprintf(vat->why, sizeof vat->why, format, args);
    va_end(args);
    return 0;
}

/* ---- between deliveries ---- */

static int keep_name(struct replay_vat *vat, struct scan_span name, struct error *error)
{
    struct buf text = {0};

    if (name.at == NULL)
        return 0;
    describe_string(name, &text);
    free(vat->name);
    vat->name = buf_string(&text) != NULL ? text.data : NULL;
    return vat->name != NULL ? 0 : error_memory(error, "a vat's name");
}

static int keep_bundle(struct replay_vat *vat, struct scan_span bundle, struct error *error)
{
    if (bundle.at == NULL)
        return 0;
    buf_clear(&vat->bundle);
    buf_append(&vat->bundle, bundle.at, bundle.length);
    if (buf_reserve(&vat->bundle, SCAN_PADDING) != 0 || buf_failed(&vat->bundle))
        return error_memory(error, "a bundle");
    memset(vat->bundle.data + bundle.length, 0, SCAN_PADDING);
    return 0;
}

/* The recorded worker was started anew, without a snapshot. */
static int start_afresh(struct replay_vat *vat)
{
    end_worker(vat);
    vat->state = REPLAY_FRESH;
    vat->reloaded = false;
    return 0;
}

static int take_create(struct replay_vat *vat, const struct transcript_step *step,
                       struct error *error)
{
    struct scan_span manager = step->manager_type;

    if (keep_name(vat, step->name, error) != 0 || keep_bundle(vat, step->json, error) != 0)
        return -1;
    if (manager.at != NULL && !scan_is(manager, "xsnap") && !scan_is(manager, "xs-worker"))
        return skip(vat, "it ran in no worker process, but under the manager \"%.*s\"",
                    (int)(manager.length < 64 ? manager.length : 64), manager.at);
    return start_afresh(vat);
}

static int keep_hash(struct replay_vat *vat, struct scan_span hash, struct error *error)
{
    buf_clear(&vat->saved_hash);
    if (hash.at != NULL)
        buf_append(&vat->saved_hash, hash.at, hash.length);
    return buf_failed(&vat->saved_hash) ? error_memory(error, "a snapshot's hash") : 0;
}

/*
 * The recorded worker came from a snapshot. Ours can go on in its place if it
 * stands where the snapshot was made; it then counts otherwise than one whose
 * heap was read anew.
 */
static int take_loaded(struct replay_vat *vat, const struct transcript_step *step)
{
    const struct buf *saved = &vat->saved_hash;

    if (vat->state != REPLAY_LIVE || step->hash.at == NULL || step->hash.length != saved->length ||
        memcmp(step->hash.at, saved->data, saved->length) != 0)
        return skip(vat, "its worker was brought back from a snapshot");
    vat->reloaded = true;
    return 0;
}

int replay_vat_take(struct replay_vat *vat, const struct transcript_step *step, struct error *error)
{
    if (vat->state == REPLAY_DIFFERS)
        return 0;
    switch (step->kind) {
    case TRANSCRIPT_CREATE:
        return take_create(vat, step, error);
    case TRANSCRIPT_START:
        return vat->state == REPLAY_SKIPPED ? 0 : start_afresh(vat);
    case TRANSCRIPT_SNAPSHOT_SAVED:
        return keep_hash(vat, step->hash, error);
    case TRANSCRIPT_SNAPSHOT_LOADED:
        return vat->state == REPLAY_SKIPPED ? 0 : take_loaded(vat, step);
    case TRANSCRIPT_TERMINATE:
        replay_vat_close(vat);
        return 0;
    default:
        return 0; /* of a delivery that is not replayed */
    }
}

/* ---- differences ---- */

static int differ(struct replay_vat *vat, enum replay_aspect aspect,
                  const struct transcript_step *step, struct scan_span recorded,
                  struct scan_span replayed, struct error *error)
{
    struct replay_difference *difference = &vat->difference;

    end_worker(vat);
    vat->state = REPLAY_DIFFERS;
    difference->aspect = aspect;
    difference->line = step->line;
    difference->delivery_num = step->delivery_num;
    difference->syscall_num = step->syscall_num;
    if (recorded.at != NULL)
        buf_append(&difference->recorded, recorded.at, recorded.length);
    if (replayed.at != NULL)
        buf_append(&difference->replayed, replayed.at, replayed.length);
    if (buf_failed(&difference->recorded) || buf_failed(&difference->replayed))
        return error_memory(error, "a difference");
    return 0;
}

static int differ_in_number(struct replay_vat *vat, enum replay_aspect aspect,
                            const struct transcript_step *step, int64_t recorded, int64_t replayed,
                            struct error *error)
{
    char texts[2][24];

    snprintf(texts[0], sizeof texts[0], "%" PRId64, recorded);
    snprintf(texts[1], sizeof texts[1], "%" PRId64, replayed);
    return differ(vat, aspect, step, (struct scan_span){texts[0], strlen(texts[0])},
                  (struct scan_span){texts[1], strlen(texts[1])}, error);
}

/* ---- frames ---- */

static int send_frame(struct replay_vat *vat, char command, struct iovec payload,
                      struct error *error)
{
    const struct iovec parts[] = {{&command, 1}, payload};

    return session_send(vat->session, parts, 2, error);
}

static int send_answer(struct replay_vat *vat, const char *bytes, size_t length,
                       struct error *error)
{
    return send_frame(vat, COMMAND_ANSWER, (struct iovec){(char *)bytes, length}, error);
}

/* The word that a vat message begins with. */
static struct scan_span message_word(struct iovec frame)
{
    struct scan_span message = {(char *)frame.iov_base + 1, frame.iov_len - 1};

    return describe_kind(message);
}

static char command_of(const struct session_news *news)
{
    return news->event == SESSION_FRAME && news->frame.iov_len > 0 ? *(char *)news->frame.iov_base
                                                                   : '\0';
}

/* What a worker's end, or silence, comes to as words. */
static void put_end_words(const struct replay_host *host, const struct session_news *news,
                          struct buf *words)
{
    const char *said = worker_words_of_exit(news->exit_status);

    if (news->event == SESSION_TIMEOUT)
        buf_printf(words, "it took longer than %g s", (double)host->timeout_ms / 1000);
    else if (news->event == SESSION_BAD)
        buf_append_string(words, news->words);
    else if (news->event == SESSION_FRAME)
        buf_append_string(words, "its worker sent a frame out of turn");
    else if (news->signal_number != 0)
        buf_printf(words, "its worker was killed by signal %d (%s)", news->signal_number,
                   strsignal(news->signal_number));
    else if (said != NULL)
        buf_append_string(words, said);
    else
        buf_printf(words, "its worker ended with exit status %d: %s", news->exit_status,
                   news->words);
}

/* A console call or a test's log line: nothing to compare. False: another request. */
static bool is_words(struct scan_span word)
{
    return scan_is(word, "sourcedConsole") || scan_is(word, "testLog");
}

static int answer_words(struct replay_vat *vat, const struct vat_runtime *runtime,
                        struct scan_span word, struct error *error)
{
    const char *answer = scan_is(word, "testLog") ? "[\"OK\"]" : runtime->console_answer;

    return send_answer(vat, answer, strlen(answer), error);
}

/* ---- starting a worker ---- */

/* Waits for what ends a command, answering console calls. */
static int wait_for_end(struct replay_vat *vat, const struct replay_host *host,
                        const struct vat_runtime *runtime, struct session_news *news,
                        struct error *error)
{
    for (;;) {
        struct scan_span word;

        if (session_wait(vat->session, host->timeout_ms, news, error) != 0)
            return -1;
        if (command_of(news) != COMMAND_REQUEST)
            return 0;
        word = message_word(news->frame);
        if (!is_words(word))
            return 0;
        if (answer_words(vat, runtime, word, error) != 0)
            return -1;
    }
}

static int start_failed(struct replay_vat *vat, const struct replay_host *host,
                        const struct session_news *news, struct error *error)
{
    struct buf words = {0};

    if (command_of(news) == COMMAND_FAILED)
        buf_append(&words, (char *)news->frame.iov_base + 1, news->frame.iov_len - 1);
    else
        put_end_words(host, news, &words);
    error_set(error, ERROR_SYSTEM, "vat %s: its worker cannot be started: %s", vat->id,
              buf_string(&words));
    buf_free(&words);
    return -1;
}

static int evaluate(struct replay_vat *vat, const struct replay_host *host,
                    const struct vat_runtime *runtime, struct iovec program, struct error *error)
{
    struct session_news news;

    if (send_frame(vat, COMMAND_EVALUATE, program, error) != 0 ||
        wait_for_end(vat, host, runtime, &news, error) != 0)
        return -1;
    return command_of(&news) == COMMAND_DONE ? 0 : start_failed(vat, host, &news, error);
}

static int set_bundle(struct replay_vat *vat, const struct replay_host *host,
                      const struct vat_runtime *runtime, struct error *error)
{
    struct session_news news;
    struct buf message = {0};
    struct scan_span word = {0};
    int result;

    vat_message_set_bundle(&message, vat->id, buf_string(&vat->bundle), runtime->options);
    result = buf_failed(&message) ? error_memory(error, "a bundle")
                                  : send_frame(vat, COMMAND_DELIVER,
                                               (struct iovec){message.data, message.length}, error);
    buf_free(&message);
    if (result != 0 || wait_for_end(vat, host, runtime, &news, error) != 0)
        return -1;
    if (command_of(&news) == COMMAND_DONE) {
        const char *end = memchr(news.frame.iov_base, COMMAND_METER_END, news.frame.iov_len);

        if (end != NULL)
            word = message_word((struct iovec){
                (char *)end, news.frame.iov_len - (size_t)(end - (char *)news.frame.iov_base)});
    }
    return scan_is(word, "dispatchReady") ? 0 : start_failed(vat, host, &news, error);
}

static int start_worker(struct replay_vat *vat, const struct replay_host *host,
                        const struct vat_runtime *runtime, struct error *error)
{
    char title[64];

    snprintf(title, sizeof title, "gaspipe-worker:%.16s:%.24s", vat->id, vat->name);
    vat->session = session_start(host->launcher, host->loop, title, error);
    if (vat->session == NULL)
        return -1;
    for (int i = 0; i < runtime->program_count; i++)
        if (evaluate(vat, host, runtime, runtime->programs[i], error) != 0)
            return -1;
    if (set_bundle(vat, host, runtime, error) != 0)
        return -1;
    vat->state = REPLAY_LIVE;
    return 0;
}

/* ---- a delivery ---- */

struct exchange {
    struct replay_vat *vat;
    const struct replay_host *host;
    struct vat_runtime runtime;
    int64_t delivery_num;
    int64_t syscall_num; /* of the next one */
    uint64_t line;       /* of the file, where it stands */
};

/* The next step of this delivery; 0: the recording ends in mid-delivery. */
static int next_step(struct exchange *exchange, struct transcript_step *step, struct error *error)
{
    int result = transcript_next(exchange->host->transcript, step, error);

    if (result != 1)
        return result;
    if (scan_is(step->vat_id, exchange->vat->id) &&
        (step->kind == TRANSCRIPT_SYSCALL || step->kind == TRANSCRIPT_ANSWER ||
         step->kind == TRANSCRIPT_RESULT)) {
        exchange->line = step->line;
        return 1;
    }
    transcript_unread(exchange->host->transcript);
    return 0;
}

/* What was recorded of the delivery ends before its result, as when the kernel
 * was killed: our worker has nobody to ask on. */
static int cut(struct exchange *exchange)
{
    exchange->vat->cut++;
    return start_afresh(exchange->vat);
}

/* Where a line of this delivery stands that cannot follow the one before. */
static int out_of_order(const struct exchange *exchange, struct error *error)
{
    return error_set(error, ERROR_INPUT,
                     "%s:%" PRIu64 ": out of order: each syscall has one answer "
                     "behind it, and a delivery one result at its end",
                     transcript_name(exchange->host->transcript), exchange->line);
}

static int differ_in_syscall(struct exchange *exchange, struct scan_span recorded,
                             struct scan_span replayed, struct error *error)
{
    const struct transcript_step place = {
        .line = exchange->line,
        .delivery_num = exchange->delivery_num,
        .syscall_num = exchange->syscall_num,
    };

    return differ(exchange->vat, REPLAY_SYSCALL, &place, recorded, replayed, error);
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
    if (!scan_is(message_word(frame), "syscall") || made.at == NULL)
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
    return send_answer(exchange->vat, step.json.at, step.json.length, error);
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
        end_in_words(ending, worker_words_unsettled, strlen(worker_words_unsettled));
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

    if (command_of(news) == COMMAND_DONE) {
        if (meter_split(payload, &ending->meter, &reply, error) != 0)
            return -1;
        ending->metered = true;
        take_reply(ending, reply);
    } else if (command_of(news) == COMMAND_FAILED) {
        end_in_words(ending, payload.iov_base, payload.iov_len);
    } else {
        put_end_words(exchange->host, news, &words);
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
    result =
        differ(exchange->vat, REPLAY_RESULT, step, span_of(&recorded), span_of(&replayed), error);
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
    if (vat->reloaded) {
        vat->after_snapshots++;
        return 0;
    }
    if (step->compute != (int64_t)meter->compute)
        return differ_in_number(vat, REPLAY_COMPUTRONS, step, step->compute,
                                (int64_t)meter->compute, error);
    vat->computed++;
    vat->computrons += step->compute;
    return 0;
}

static int compare_instructions(struct exchange *exchange, const struct transcript_step *step,
                                const struct meter *meter, struct error *error)
{
    struct replay_vat *vat = exchange->vat;

    if (!exchange->host->compare_instructions || step->instructions == TRANSCRIPT_NONE ||
        !meter->counted || vat->reloaded || vat->state == REPLAY_DIFFERS)
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
    vat->deliveries++;
    vat->syscalls += exchange->syscall_num;
    if (!ending->metered) {
        end_worker(vat);
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

    return session_send(exchange->vat->session, parts, 3, error);
}

/* Answers what the worker asks until its delivery has ended, one way or other. */
static int run_exchange(struct exchange *exchange, struct error *error)
{
    struct replay_vat *vat = exchange->vat;

    for (;;) {
        struct session_news news;

        if (wait_for_end(vat, exchange->host, &exchange->runtime, &news, error) != 0)
            return -1;
        if (command_of(&news) != COMMAND_REQUEST)
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
        (void)skip(vat, "the file does not hold its bundle");
    else if (!scan_is(describe_kind(step->json), "startVat"))
        (void)skip(vat, "the file does not hold its beginning");
    return vat->state == REPLAY_FRESH;
}

int replay_vat_deliver(struct replay_vat *vat, const struct replay_host *host,
                       const struct transcript_step *step, struct error *error)
{
    struct exchange exchange = {
        .vat = vat,
        .host = host,
        .delivery_num = step->delivery_num,
        .line = step->line,
    };

    if (vat->state != REPLAY_LIVE && (vat->state != REPLAY_FRESH || !can_start(vat, step)))
        return 0;
    if (vat_runtime_choose(host->runtimes, span_of(&vat->bundle), &exchange.runtime, error) != 0)
        return error->kind == ERROR_INPUT ? skip(vat, "%s", error->text) : -1;
    if (vat->state == REPLAY_FRESH && start_worker(vat, host, &exchange.runtime, error) != 0)
        return -1;
    buf_clear(&vat->description);
    describe_delivery(step->json, &vat->description);
    if (send_delivery(&exchange, step->json, error) != 0)
        return -1;
    return run_exchange(&exchange, error);
}
