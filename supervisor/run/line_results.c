/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/run/line_results.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json/json_text.h"
#include "base/json/json_value.h"
#include "base/number.h"
#include "base/text/format.h"

static const char result_prefix[] = "input.result.", id_prefix[] = "input.id.",
                  outcome_prefix[] = "input.reported.";
static const char *const state_words[] = {
    [KERNEL_PROMISE_UNRESOLVED] = "unresolved",
    [KERNEL_PROMISE_FULFILLED] = "fulfilled",
    [KERNEL_PROMISE_REJECTED] = "rejected",
};

enum { RESULT_KEY_SIZE = 48 };

/* A prefix and twelve digits: zeros make the keys' order that of the lines. */
static void make_line_key(char key[RESULT_KEY_SIZE], const char *prefix, int64_t line)
{
    static const char zeros[] = "00000000000";
    char digits[JSON_TEXT_NUMBER_MAX + 1];
    const char *end = json_text_put_integer(digits, line);
    const size_t length = (size_t)(end - digits);

    digits[length] = '\0';
    format_text(key, RESULT_KEY_SIZE, "%s%s%s", prefix,
                length < sizeof zeros ? zeros + length - 1 : "", digits);
}

/* After the promise, `+` marks a named one, and `-` one that was reported as unresolved. */
static void make_result_key(char key[RESULT_KEY_SIZE], int64_t line)
{
    make_line_key(key, result_prefix, line);
}

static void make_outcome_key(char key[RESULT_KEY_SIZE], int64_t line)
{
    make_line_key(key, outcome_prefix, line);
}

static int read_result_key(struct line_results *results, const char *key,
                           char value[KERNEL_REF_SIZE], bool *found, struct error *error)
{
    struct buf bytes = {0};
    int result = store_key_get(results->store, key, &bytes, found, error);

    format_text(value, KERNEL_REF_SIZE, "%.*s", (int)bytes.length,
                bytes.length > 0 ? bytes.data : "");
    buf_free(&bytes);
    return result;
}

static void note_line(struct line_results *results, int64_t line)
{
    if (line > results->highest)
        results->highest = line;
}

static int append_waiting(struct line_results *results, const struct line_result *added,
                          struct error *error)
{
    struct line_result *waiting =
        array_reserve(results->waiting, &results->capacity, results->count + 1, sizeof *waiting);

    if (waiting == NULL)
        return error_memory(error, "a result");
    results->waiting = waiting;
    waiting[results->count++] = *added;
    note_line(results, added->line);
    return 0;
}

static int append_outcome(struct line_results *results, int64_t line, struct error *error)
{
    int64_t *reported = array_reserve(results->reported, &results->reported_capacity,
                                      results->reported_count + 1, sizeof *reported);

    if (reported == NULL)
        return error_memory(error, "a result");
    results->reported = reported;
    reported[results->reported_count++] = line;
    note_line(results, line);
    return 0;
}

/* ---- from the store ---- */

/* The line's number, which follows the prefix of its key. */
static int read_line_number(const char *key, const char *prefix, int64_t *line, struct error *error)
{
    uint64_t number;

    if (!number_read(key + strlen(prefix), INT64_MAX, &number))
        return error_set(error, ERROR_SYSTEM, "the store is damaged: %s is not a line", key);
    *line = (int64_t)number;
    return 0;
}

static int load_waiting(struct line_results *results, const char *key, struct error *error)
{
    struct line_result loaded = {0};
    bool found;

    if (read_line_number(key, result_prefix, &loaded.line, error) != 0 ||
        read_result_key(results, key, loaded.promise, &found, error) != 0)
        return -1;
    loaded.named = strchr(loaded.promise, '+') != NULL;
    loaded.open = strchr(loaded.promise, '-') != NULL;
    loaded.promise[strcspn(loaded.promise, "+-")] = '\0';
    return append_waiting(results, &loaded, error);
}

static int load_outcome(struct line_results *results, const char *key, struct error *error)
{
    int64_t line;

    if (read_line_number(key, outcome_prefix, &line, error) != 0)
        return -1;
    return append_outcome(results, line, error);
}

/* Calls `visit` with each key that has the prefix. */
static int for_each_key(struct line_results *results, const char *prefix,
                        int (*visit)(struct line_results *, const char *, struct error *),
                        struct error *error)
{
    struct buf key = {0};
    bool found = false;
    int result;

    buf_append_string(&key, "");
    do {
        const char *after = buf_string(&key);

        if (after == NULL)
            result = error_memory(error, "a key");
        else
            result = store_key_next(results->store, prefix, after, &key, &found, error);
        if (result == 0 && found)
            result = buf_string(&key) != NULL ? visit(results, key.data, error)
                                              : error_memory(error, "a key");
    } while (result == 0 && found);
    buf_free(&key);
    return result;
}

int line_results_open(struct line_results *results, struct error *error)
{
    if (for_each_key(results, result_prefix, load_waiting, error) != 0)
        return -1;
    return for_each_key(results, outcome_prefix, load_outcome, error);
}

void line_results_free(struct line_results *results)
{
    free(results->waiting);
    results->waiting = NULL;
    results->count = results->capacity = 0;
    free(results->reported);
    results->reported = NULL;
    results->reported_count = results->reported_capacity = 0;
    memset(results->reached, 0, sizeof results->reached);
}

/* ---- names ---- */

int line_results_find(struct line_results *results, const char *id, char promise[KERNEL_REF_SIZE],
                      bool *found, struct error *error)
{
    struct buf key = {0};
    int result;

    buf_printf(&key, "%s%s", id_prefix, id);
    result = buf_string(&key) != NULL ? read_result_key(results, key.data, promise, found, error)
                                      : error_memory(error, "a key");
    buf_free(&key);
    return result;
}

static int add_result_name(struct line_results *results, const char *id, const char *promise,
                           struct error *error)
{
    char taken[KERNEL_REF_SIZE];
    struct buf key = {0};
    bool found = false;
    int result = line_results_find(results, id, taken, &found, error);

    if (result == 0 && found)
        return error_set(error, ERROR_INPUT, "the \"id\" \"%.64s\" is used already", id);
    buf_printf(&key, "%s%s", id_prefix, id);
    if (result == 0)
        result = buf_string(&key) != NULL
                     ? store_key_set(results->store, key.data,
                                     (struct iovec){(char *)promise, strlen(promise)}, error)
                     : error_memory(error, "a key");
    buf_free(&key);
    return result;
}

static int write_waiting(struct line_results *results, const struct line_result *waiting,
                         struct error *error)
{
    char key[RESULT_KEY_SIZE], value[KERNEL_REF_SIZE + 2];

    format_text(value, sizeof value, "%s%s%s", waiting->promise, waiting->named ? "+" : "",
                waiting->open ? "-" : "");
    make_result_key(key, waiting->line);
    return store_key_set(results->store, key, (struct iovec){value, strlen(value)}, error);
}

/* All keys have been read: the store need not look for those of a later line. */
static int note_new_line(struct line_results *results, int64_t line, struct error *error)
{
    char key[RESULT_KEY_SIZE];

    if (line <= results->highest)
        return 0;
    make_result_key(key, line);
    if (store_name_note_new(results->store, key, error) != 0)
        return -1;
    make_outcome_key(key, line);
    return store_name_note_new(results->store, key, error);
}

int line_results_add(struct line_results *results, int64_t line, const char *id,
                     const char promise[KERNEL_REF_SIZE], struct error *error)
{
    struct line_result added = {.line = line, .named = id != NULL};

    format_text(added.promise, sizeof added.promise, "%s", promise);
    if (note_new_line(results, line, error) != 0)
        return -1;
    if (id != NULL && add_result_name(results, id, promise, error) != 0)
        return -1;
    return write_waiting(results, &added, error) == 0 ? append_waiting(results, &added, error) : -1;
}

/* ---- settling ---- */

void line_results_shown(struct line_results *results, const char *promise)
{
    for (size_t i = 0; i < results->count; i++)
        if (strcmp(results->waiting[i].promise, promise) == 0)
            results->waiting[i].shown = true;
}

int line_results_is_rejected(struct line_results *results, const char *promise, bool *rejected,
                             struct error *error)
{
    enum kernel_promise state = KERNEL_PROMISE_UNRESOLVED;
    struct buf data = {0};
    int result = 0;

    for (size_t i = 0; i < results->count; i++)
        if (strcmp(results->waiting[i].promise, promise) == 0) {
            result = kernel_promise_state(results->kernel, promise, &state, &data, error);
            break;
        }
    buf_free(&data);
    *rejected = state == KERNEL_PROMISE_REJECTED;
    return result;
}

static int end_waiting(struct line_results *results, const struct line_result *settled,
                       struct error *error)
{
    char key[RESULT_KEY_SIZE];

    make_result_key(key, settled->line);
    if (!settled->named &&
        kernel_forget_result(results->kernel, settled->promise, !results->release, error) != 0)
        return -1;
    return store_key_delete(results->store, key, error);
}

static int keep_outcome(struct line_results *results, const struct line_outcome *outcome,
                        struct error *error)
{
    char key[RESULT_KEY_SIZE];
    struct buf value = {0};
    int result = -1;

    buf_printf(&value, "%s ", state_words[outcome->state]);
    json_value_write_string(&value, outcome->input, strlen(outcome->input));
    buf_printf(&value, " %s", outcome->capdata);
    make_outcome_key(key, outcome->line);
    if (buf_failed(&value))
        error_memory(error, "a result");
    else if (store_key_set(results->store, key, (struct iovec){value.data, value.length}, error) ==
             0)
        result = append_outcome(results, outcome->line, error);
    buf_free(&value);
    return result;
}

int line_results_settle(struct line_results *results, struct error *error)
{
    struct buf capdata = {0};
    size_t left = 0;
    int result = 0;

    for (size_t i = 0; i < results->count; i++) {
        const struct line_result waiting = results->waiting[i];
        struct line_outcome outcome = {
            .input = results->input, .line = waiting.line, .shown = waiting.shown};

        buf_clear(&capdata);
        if (result == 0)
            result = kernel_promise_state(results->kernel, waiting.promise, &outcome.state,
                                          &capdata, error);
        if (outcome.state == KERNEL_PROMISE_UNRESOLVED || result != 0) {
            results->waiting[left++] = waiting;
            continue;
        }
        outcome.capdata = buf_string(&capdata);
        if (outcome.capdata == NULL)
            result = error_memory(error, "a result");
        else
            results->report(results->context, &outcome);
        if (result == 0)
            result = keep_outcome(results, &outcome, error);
        if (result == 0)
            result = end_waiting(results, &waiting, error);
    }
    results->count = left;
    buf_free(&capdata);
    return result;
}

int line_results_leave_open(struct line_results *results, struct error *error)
{
    for (size_t i = 0; i < results->count; i++) {
        struct line_result *waiting = &results->waiting[i];
        const struct line_outcome outcome = {
            .input = results->input,
            .line = waiting->line,
            .state = KERNEL_PROMISE_UNRESOLVED,
            .capdata = "null",
        };

        if (waiting->open)
            continue;
        waiting->open = true;
        results->report(results->context, &outcome);
        if (write_waiting(results, waiting, error) != 0 ||
            keep_outcome(results, &outcome, error) != 0)
            return -1;
    }
    return 0;
}

int line_results_refuse(struct line_results *results, int64_t line, const char *capdata,
                        struct error *error)
{
    const struct line_outcome outcome = {
        .input = results->input,
        .line = line,
        .state = KERNEL_PROMISE_REJECTED,
        .capdata = capdata,
    };

    results->report(results->context, &outcome);
    return keep_outcome(results, &outcome, error);
}

/* ---- outcomes in the store ---- */

/* WORD "INPUT" CAPDATA; the name is kept in *input. False: it is not that. */
static bool read_stored_outcome(const struct buf *value, struct line_outcome *outcome,
                                json_t **input)
{
    const char *name = strchr(value->data, ' ');
    json_error_t end;

    *input = NULL;
    if (name == NULL)
        return false;
    outcome->state = value->data[0] == 'f'   ? KERNEL_PROMISE_FULFILLED
                     : value->data[0] == 'r' ? KERNEL_PROMISE_REJECTED
                                             : KERNEL_PROMISE_UNRESOLVED;
    *input = json_loadb(name, value->length - (size_t)(name - value->data),
                        JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, &end);
    if (!json_is_string(*input))
        return false;
    outcome->input = json_string_value(*input);
    outcome->capdata = name + end.position;
    return true;
}

static int report_again(struct line_results *results, int64_t line, struct error *error)
{
    struct line_outcome outcome = {.line = line, .again = true};
    struct buf value = {0};
    json_t *input = NULL;
    char key[RESULT_KEY_SIZE];
    bool found;
    int result;

    make_outcome_key(key, line);
    result = store_key_get(results->store, key, &value, &found, error);
    if (result == 0 && buf_string(&value) == NULL)
        result = error_memory(error, "a result");
    else if (result == 0 && !read_stored_outcome(&value, &outcome, &input))
        result = error_set(error, ERROR_SYSTEM, "the store is damaged: %s", key);
    else if (result == 0)
        results->report(results->context, &outcome);
    json_decref(input);
    buf_free(&value);
    return result;
}

int line_results_report_again(struct line_results *results, struct error *error)
{
    for (size_t i = results->reached[RESULTS_PRINTED]; i < results->reported_count; i++)
        if (report_again(results, results->reported[i], error) != 0)
            return -1;
    return 0;
}

void line_results_advance(struct line_results *results, enum results_stage stage)
{
    results->reached[stage] =
        stage == RESULTS_COMMITTED ? results->reported_count : results->reached[stage - 1];
}

void line_results_add_published(struct line_results *results, size_t count)
{
    results->reached[RESULTS_PUBLISHED] += count;
}

static void advance_all(struct line_results *results)
{
    for (int stage = 0; stage < RESULTS_STAGES; stage++)
        line_results_advance(results, stage);
}

int line_results_forget_printed(struct line_results *results, struct error *error)
{
    const size_t printed = results->reached[RESULTS_PUBLISHED];
    char key[RESULT_KEY_SIZE];

    for (size_t i = 0; i < printed; i++) {
        make_outcome_key(key, results->reported[i]);
        if (store_key_delete(results->store, key, error) != 0)
            return -1;
    }
    for (size_t i = printed; i < results->reported_count; i++)
        results->reported[i - printed] = results->reported[i];
    results->reported_count -= printed;
    for (int stage = 0; stage < RESULTS_STAGES; stage++)
        results->reached[stage] -= printed;
    return 0;
}

static int forget_result_name(struct line_results *results, const char *key, struct error *error)
{
    char promise[KERNEL_REF_SIZE];
    bool found;

    if (read_result_key(results, key, promise, &found, error) != 0 ||
        kernel_forget_result(results->kernel, promise, false, error) != 0)
        return -1;
    return store_key_delete(results->store, key, error);
}

int line_results_clear(struct line_results *results, struct error *error)
{
    for (size_t i = 0; i < results->count; i++)
        if (end_waiting(results, &results->waiting[i], error) != 0)
            return -1;
    results->count = 0;
    advance_all(results);
    if (line_results_forget_printed(results, error) != 0)
        return -1;
    return for_each_key(results, id_prefix, forget_result_name, error);
}
