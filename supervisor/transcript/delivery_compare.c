/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/transcript/delivery_compare.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/json/json_same.h"
#include "base/json/json_text.h"
#include "base/json/scan.h"
#include "supervisor/process/worker_exit.h"

/* ---- reads that depend on garbage collection ---- */

/* Liveslots reads records of a virtual collection (keys vc.N.*, mostly vc.N.|schemata and
 * vc.N.|label) again when it creates an object for a collection without one in memory. That depends
 * on garbage collection (agoric-sdk issues 6360 and 6784). Such a read can be simulated: its answer
 * follows from the vat's earlier reads and writes. */

enum access { ACCESS_NONE, ACCESS_GET, ACCESS_NEXT, ACCESS_SET, ACCESS_DELETE };

/* A syscall on a record of a collection. */
struct record_access {
    enum access access;
    struct scan_span key;        /* without quotes, escapes as they are */
    struct scan_span collection; /* its beginning, "vc.N." */
    struct scan_span value;      /* of ACCESS_SET, JSON */
};

/* "vc.N." of the key; none: it is no collection's. */
static struct scan_span collection_of(struct scan_span key)
{
    const char *dot = NULL;

    if (key.at != NULL && key.length > 3 && memcmp(key.at, "vc.", 3) == 0)
        dot = memchr(key.at + 3, '.', key.length - 3);
    if (dot == NULL)
        return (struct scan_span){0};
    return (struct scan_span){key.at, (size_t)(dot + 1 - key.at)};
}

static enum access access_named(struct scan_span word)
{
    static const struct {
        const char *name;
        enum access access;
    } names[] = {{"\"vatstoreGet\"", ACCESS_GET},
                 {"\"vatstoreGetNextKey\"", ACCESS_NEXT},
                 {"\"vatstoreSet\"", ACCESS_SET},
                 {"\"vatstoreDelete\"", ACCESS_DELETE}};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (scan_is(word, names[i].name))
            return names[i].access;
    return ACCESS_NONE;
}

static struct record_access access_of(struct scan_span syscall)
{
    static const struct record_access none;
    struct record_access access = {0};
    struct scan_cursor cursor;
    struct scan_span word, key;

    if (!scan_open(syscall, '[', &cursor) || scan_element(&cursor, &word) != SCAN_FOUND ||
        scan_element(&cursor, &key) != SCAN_FOUND)
        return none;
    access.access = access_named(word);
    access.key = scan_string(key);
    access.collection = collection_of(access.key);
    if (access.collection.at == NULL ||
        (access.access == ACCESS_SET && scan_element(&cursor, &access.value) != SCAN_FOUND))
        return none;
    return access;
}

/* True for a vatstoreGet or vatstoreGetNextKey of a collection (VatSyscallObject). */
static bool gc_reads_is_one(struct scan_span syscall)
{
    const enum access access = access_of(syscall).access;

    return access == ACCESS_GET || access == ACCESS_NEXT;
}

/* ---- what is known: {KEY: answer}, and under each collection {KEY: the next key} ---- */

static json_t *following_keys(const json_t *known, struct scan_span collection)
{
    return json_object_getn(known, collection.at, collection.length);
}

/* If out of memory, the key is not remembered, and reported as a difference later. */
static void gc_reads_keep(json_t *object, struct scan_span key, const char *answer, size_t length)
{
    (void)json_object_setn_new(object, key.at, key.length, json_stringn(answer, length));
}

static void keep_following(json_t *known, const struct record_access *access,
                           struct scan_span answer)
{
    json_t *keys = following_keys(known, access->collection);

    if (keys == NULL) {
        keys = json_object();
        if (json_object_setn_new(known, access->collection.at, access->collection.length, keys) !=
            0)
            return;
    }
    gc_reads_keep(keys, access->key, answer.at, answer.length);
}

static void keep_written(json_t *known, const struct record_access *access)
{
    struct buf answer = {0};

    buf_append_string(&answer, "[\"ok\",");
    if (access->access == ACCESS_SET)
        buf_append(&answer, access->value.at, access->value.length);
    else
        buf_append_string(&answer, "null");
    buf_append_byte(&answer, ']');
    if (buf_failed(&answer))
        (void)json_object_deln(known, access->key.at, access->key.length); /* nor is it stale */
    else
        gc_reads_keep(known, access->key, answer.data, answer.length);
    buf_free(&answer);
    /* The order of keys may have changed. */
    (void)json_object_deln(known, access->collection.at, access->collection.length);
}

/* Keeps what follows from a syscall and its answer, ["ok",VALUE]: a read's answer, or a write's
 * value as the answer of later reads. Ignores other syscalls. */
static void gc_reads_remember(json_t *known, struct scan_span syscall, struct scan_span answer)
{
    const struct record_access access = access_of(syscall);

    if (access.access == ACCESS_GET)
        gc_reads_keep(known, access.key, answer.at, answer.length);
    else if (access.access == ACCESS_NEXT)
        keep_following(known, &access, answer);
    else if (access.access != ACCESS_NONE)
        keep_written(known, &access);
}

/* The answer to a read, borrowed until the next call; no span if not known. */
static struct scan_span gc_reads_recall(const json_t *known, struct scan_span syscall)
{
    const struct record_access access = access_of(syscall);
    const json_t *answers = known, *answer = NULL;

    if (access.access == ACCESS_NEXT)
        answers = following_keys(known, access.collection);
    if (access.access == ACCESS_GET || access.access == ACCESS_NEXT)
        answer = json_object_getn(answers, access.key.at, access.key.length);
    return (struct scan_span){json_string_value(answer), json_string_length(answer)};
}

/* ---- comparison ---- */

const char *const compare_aspect_names[] = {
    [COMPARE_SYSCALL] = "syscall",       [COMPARE_RESULT] = "result",
    [COMPARE_COMPUTRONS] = "computrons", [COMPARE_INSTRUCTIONS] = "instructions",
    [COMPARE_SNAPSHOT] = "snapshot",     [COMPARE_ALLOCATION] = "allocation",
};

static struct scan_span json_string_span(const struct buf *buf)
{
    return (struct scan_span){buf->data, buf->length};
}

/* ---- differences ---- */

enum compare_result difference_set(struct difference *difference, enum compare_aspect aspect,
                                   struct scan_span recorded, struct scan_span replayed)
{
    difference->aspect = aspect;
    buf_clear(&difference->recorded);
    buf_clear(&difference->replayed);
    if (recorded.at != NULL)
        buf_append(&difference->recorded, recorded.at, recorded.length);
    if (replayed.at != NULL)
        buf_append(&difference->replayed, replayed.at, replayed.length);
    return COMPARE_DIFFERS;
}

void difference_free(struct difference *difference)
{
    buf_free(&difference->recorded);
    buf_free(&difference->replayed);
}

static enum compare_result differ_in_number(struct delivery_compare *compare,
                                            enum compare_aspect aspect, int64_t recorded,
                                            uint64_t replayed)
{
    char texts[2][24];

    compare->difference.line = compare->recorded->result.line;
    snprintf(texts[0], sizeof texts[0], "%" PRId64, recorded);
    snprintf(texts[1], sizeof texts[1], "%" PRIu64, replayed);
    return difference_set(&compare->difference, aspect,
                          (struct scan_span){texts[0], strlen(texts[0])},
                          (struct scan_span){texts[1], strlen(texts[1])});
}

static enum compare_result differ_in_syscall(struct delivery_compare *compare, uint64_t line,
                                             struct scan_span recorded, struct scan_span replayed)
{
    compare->difference.line = line;
    compare->difference.syscall_num = (int64_t)compare->made;
    return difference_set(&compare->difference, COMPARE_SYSCALL, recorded, replayed);
}

/* ---- syscalls ---- */

struct scan_span delivery_compare_syscall_of(struct scan_span message)
{
    struct scan_span word, syscall;
    struct scan_cursor cursor;

    if (scan_open(message, '[', &cursor) && scan_element(&cursor, &word) == SCAN_FOUND &&
        scan_is(word, "\"syscall\"") && scan_element(&cursor, &syscall) == SCAN_FOUND)
        return syscall;
    return message;
}

/* Returns true if the last difference is tolerated. */
static bool tolerate_last(struct delivery_compare *compare, bool tolerated)
{
    if (tolerated && compare->tolerate != NULL)
        compare->tolerate(compare->context, &compare->difference);
    return tolerated;
}

/* Passes over recorded reads that were not made this time. */
static void skip_gc_reads(struct delivery_compare *compare)
{
    const struct recorded_delivery *recorded = compare->recorded;

    while (compare->rules->tolerates_gc && compare->made < recorded->syscall_count) {
        const struct recorded_syscall *syscall = &recorded->syscalls[compare->made];

        if (!gc_reads_is_one(syscall->made) || syscall->answer.at == NULL)
            return;
        gc_reads_remember(compare->known, syscall->made, syscall->answer);
        differ_in_syscall(compare, syscall->line, syscall->made, (struct scan_span){0});
        (void)tolerate_last(compare, true);
        compare->made++;
    }
}

/* A read that was not recorded here, and is answered as it was before. */
static bool recall_gc_read(struct delivery_compare *compare, struct scan_span made,
                           struct scan_span *answer)
{
    if (!compare->rules->tolerates_gc || !gc_reads_is_one(made))
        return false;
    *answer = gc_reads_recall(compare->known, made);
    if (answer->at == NULL)
        return false;
    differ_in_syscall(compare, compare->recorded->result.line, (struct scan_span){0}, made);
    return tolerate_last(compare, true);
}

/* For a syscall without an answer. */
static enum compare_result compare_beyond(struct delivery_compare *compare, struct scan_span made)
{
    const struct recorded_result *result = &compare->recorded->result;

    if (!compare->recorded->finished)
        return COMPARE_CUT;
    if (result->refused.at != NULL && json_same(result->refused, made))
        return COMPARE_REFUSED;
    return differ_in_syscall(compare, result->line, result->refused, made);
}

enum compare_result delivery_compare_syscall(struct delivery_compare *compare,
                                             struct scan_span message, struct scan_span *answer)
{
    const struct recorded_delivery *recorded = compare->recorded;
    const struct recorded_syscall *syscall;
    struct scan_span made = delivery_compare_syscall_of(message);

    if ((compare->made >= recorded->syscall_count ||
         !json_same(recorded->syscalls[compare->made].made, made)) &&
        recall_gc_read(compare, made, answer))
        return COMPARE_SAME;
    if (compare->made < recorded->syscall_count &&
        !json_same(recorded->syscalls[compare->made].made, made))
        skip_gc_reads(compare);
    if (compare->made >= recorded->syscall_count)
        return compare_beyond(compare, made);
    syscall = &recorded->syscalls[compare->made];
    if (!json_same(syscall->made, made))
        return differ_in_syscall(compare, syscall->line, syscall->made, made);
    if (syscall->answer.at == NULL)
        return COMPARE_CUT;
    if (compare->rules->tolerates_gc)
        gc_reads_remember(compare->known, syscall->made, syscall->answer);
    compare->made++;
    *answer = syscall->answer;
    return COMPARE_SAME;
}

/* ---- the result ---- */

static void put_compared_result(struct buf *text, struct scan_span status, struct scan_span problem)
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

static enum compare_result differ_in_result(struct delivery_compare *compare,
                                            const struct delivery_outcome *outcome)
{
    const struct recorded_result *result = &compare->recorded->result;
    struct buf recorded = {0}, replayed = {0};

    put_compared_result(&recorded, result->status, result->problem);
    put_compared_result(&replayed, json_string_span(&outcome->status),
                        json_string_span(&outcome->problem));
    compare->difference.line = result->line;
    difference_set(&compare->difference, COMPARE_RESULT, json_string_span(&recorded),
                   json_string_span(&replayed));
    buf_free(&recorded);
    buf_free(&replayed);
    return COMPARE_DIFFERS;
}

/* A run puts the place of a syntax error before the worker's words: "contract.js:LINE: ". Its
 * length with the quote before it; 0 if there is no place. */
static size_t place_length(struct scan_span problem)
{
    static const char before[] = "\"contract.js:";
    const size_t name = sizeof before - 1;
    size_t at = name;

    if (problem.length < name || memcmp(problem.at, before, name) != 0)
        return 0;
    while (at < problem.length && problem.at[at] >= '0' && problem.at[at] <= '9')
        at++;
    return at > name && problem.length - at >= 2 && memcmp(problem.at + at, ": ", 2) == 0 ? at + 2
                                                                                          : 0;
}

/* The recorded words are the worker's, but for that place. */
static bool same_after_place(struct scan_span recorded, struct scan_span worker)
{
    const size_t place = place_length(recorded);

    return place > 0 && worker.length > 1 && recorded.length - place == worker.length - 1 &&
           memcmp(recorded.at + place, worker.at + 1, worker.length - 1) == 0;
}

static bool same_result(const struct recorded_result *result,
                        const struct delivery_outcome *outcome)
{
    const struct buf *status = &outcome->status;

    if (result->status.at == NULL)
        return true;
    if (result->status.length != status->length ||
        memcmp(result->status.at, status->data, status->length) != 0)
        return false;
    return result->problem.at == NULL ||
           json_same(result->problem, json_string_span(&outcome->problem)) ||
           same_after_place(result->problem, json_string_span(&outcome->problem));
}

bool delivery_compare_counts(const struct compare_rules *rules,
                             const struct recorded_result *recorded, const struct meter *meter)
{
    if (recorded->instructions == RECORDED_NONE || !meter->counted)
        return false;
    if (recorded->fingerprint.at == NULL)
        return rules->session_counts_alike;
    return rules->fingerprint != NULL && scan_is(recorded->fingerprint, rules->fingerprint);
}

static enum compare_result compare_number(struct delivery_compare *compare,
                                          enum compare_aspect aspect, int64_t recorded,
                                          uint64_t replayed)
{
    if (recorded == RECORDED_NONE || recorded == (int64_t)replayed)
        return COMPARE_SAME;
    differ_in_number(compare, aspect, recorded, replayed);
    return tolerate_last(compare, compare->rules->tolerated & 1U << aspect) ? COMPARE_SAME
                                                                            : COMPARE_DIFFERS;
}

static enum compare_result compare_meter(struct delivery_compare *compare,
                                         const struct meter *meter)
{
    const struct recorded_result *result = &compare->recorded->result;
    enum compare_result compared =
        compare_number(compare, COMPARE_COMPUTRONS, result->compute, meter->compute);

    if (compared == COMPARE_SAME && delivery_compare_counts(compare->rules, result, meter))
        compared = compare_number(compare, COMPARE_INSTRUCTIONS, result->instructions,
                                  meter->instructions);
    if (compared == COMPARE_SAME && compare->rules->compares_allocation)
        compared = compare_number(compare, COMPARE_ALLOCATION, result->allocate, meter->allocate);
    return compared;
}

enum compare_result delivery_compare_outcome(struct delivery_compare *compare,
                                             const struct delivery_outcome *outcome)
{
    const struct recorded_delivery *recorded = compare->recorded;
    const struct recorded_result *result = &recorded->result;

    skip_gc_reads(compare);
    if (compare->made < recorded->syscall_count)
        return differ_in_syscall(compare, recorded->syscalls[compare->made].line,
                                 recorded->syscalls[compare->made].made, (struct scan_span){0});
    if (!recorded->finished)
        return COMPARE_CUT;
    if (result->refused.at != NULL)
        return differ_in_syscall(compare, result->line, result->refused, (struct scan_span){0});
    if (!same_result(result, outcome))
        return differ_in_result(compare, outcome);
    return outcome->metered && !result->limited ? compare_meter(compare, &outcome->meter)
                                                : COMPARE_SAME;
}

/* ---- the outcome ---- */

/* The scanner reads whole blocks, beyond the text's end. */
static int check_outcome(struct delivery_outcome *outcome, struct error *error)
{
    struct buf *problem = &outcome->problem;

    if (buf_reserve(problem, SCAN_PADDING) != 0 || buf_failed(&outcome->status))
        return error_memory(error, "a result");
    memset(problem->data + problem->length, 0, SCAN_PADDING);
    return 0;
}

static void put_problem_words(struct delivery_outcome *outcome, const char *words, size_t length)
{
    buf_append_string(&outcome->status, "error");
    json_text_string(&outcome->problem, words, length);
}

int delivery_outcome_fail(struct delivery_outcome *outcome, const char *words, size_t length,
                          struct error *error)
{
    put_problem_words(outcome, words, length);
    return check_outcome(outcome, error);
}

/* SwingSet takes what JavaScript takes for false as null. */
static bool is_nothing(struct scan_span value)
{
    return value.at == NULL || scan_is(value, "false") || scan_is(value, "0") ||
           scan_is(value, "\"\"");
}

/* The RESULT of a `.` frame. */
static void take_replayed_reply(struct delivery_outcome *outcome, struct iovec reply)
{
    struct scan_span status = {0}, problem = {0};
    struct scan_cursor cursor;

    if (reply.iov_len == 0) {
        put_problem_words(outcome, worker_unsettled, strlen(worker_unsettled));
        return;
    }
    if (scan_open((struct scan_span){reply.iov_base, reply.iov_len}, '[', &cursor) &&
        scan_element(&cursor, &status) == SCAN_FOUND)
        (void)scan_element(&cursor, &problem);
    status = scan_string(status);
    if (status.at == NULL) {
        put_problem_words(outcome, reply.iov_base, reply.iov_len);
        return;
    }
    buf_append(&outcome->status, status.at, status.length);
    if (is_nothing(problem))
        buf_append_string(&outcome->problem, "null");
    else
        buf_append(&outcome->problem, problem.at, problem.length);
}

int delivery_outcome_read(struct delivery_outcome *outcome, struct iovec payload,
                          struct error *error)
{
    struct iovec reply;

    if (meter_split(payload, &outcome->meter, &reply, error) != 0)
        return -1;
    outcome->metered = true;
    take_replayed_reply(outcome, reply);
    return check_outcome(outcome, error);
}

void delivery_outcome_free(struct delivery_outcome *outcome)
{
    buf_free(&outcome->status);
    buf_free(&outcome->problem);
    meter_free(&outcome->meter);
}
