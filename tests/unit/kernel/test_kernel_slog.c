/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel against slogfiles of SwingSet's own kernel: the vats of the slogfile
 * make the syscalls that they made there, the host queues the messages that it
 * queued there, and each crank must come out as it did there, reference by
 * reference: what work was next, c-lists, deliveries, answers, ends of vats.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/kernel.h"
#include "proto/vat_message.h"
#include "slog/read/source.h"
#include "store/store.h"

struct play {
    struct store *store;
    struct kernel *kernel;
    json_t *lines; /* of the slogfile, those that count */
    size_t at;     /* the next line to compare */
    int64_t clock; /* where the host sets it when it does */
    bool running;  /* the slogfile does not show what was before the first crank */
    bool restless; /* each delivery runs twice, the first time dropped; see play_crank() */
    struct kernel_options options;
    char activityhash[KERNEL_HASH_SIZE];
};

static void check_ok(int result, const struct error *error)
{
    if (result != 0)
        fail_msg("%s", error->text);
}

/* ---- reading ---- */

static struct buf read_all(const char *path)
{
    struct buf bytes = {0};
    struct error error;
    struct source *source = source_open(path, &error);
    ssize_t count;

    if (source == NULL)
        fail_msg("%s", error.text);
    do {
        assert_int_equal(buf_reserve(&bytes, 1 << 16), 0);
        count = source_read(source, bytes.data + bytes.length, 1 << 16, &error);
        assert_true(count >= 0);
        bytes.length += (size_t)count;
    } while (count > 0);
    source_close(source);
    return bytes;
}

static const char *text_of(const json_t *line, const char *name)
{
    return json_string_value(json_object_get(line, name));
}

static bool has_type(const json_t *line, const char *type)
{
    return strcmp(text_of(line, "type"), type) == 0;
}

/* True for lines that show what the kernel did; false for times of a replay. */
static bool counts(const json_t *line)
{
    static const char *const types[] = {"crank-start",    "clist",        "deliver",
                                        "syscall",        "terminate",    "syscall-result",
                                        "deliver-result", "crank-finish", "create-vat"};

    if (json_is_true(json_object_get(line, "replay")))
        return false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (has_type(line, types[i]))
            return true;
    }
    return false;
}

static json_t *read_lines(const char *path)
{
    struct buf bytes = read_all(path);
    json_t *lines = json_array();
    const char *end = bytes.data + bytes.length;

    for (const char *at = bytes.data; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        json_t *line = json_loadb(at, (size_t)(newline - at), JSON_ALLOW_NUL, NULL);

        assert_non_null(line);
        if (counts(line))
            assert_int_equal(json_array_append(lines, line), 0);
        json_decref(line);
        at = newline + 1;
    }
    buf_free(&bytes);
    return lines;
}

/* ---- comparing ---- */

static const json_t *next_line(struct play *play)
{
    return json_array_get(play->lines, play->at);
}

static void fail_difference(const json_t *theirs, const json_t *ours, size_t at)
{
    char *theirs_text = json_dumps(theirs, JSON_COMPACT | JSON_ENCODE_ANY);
    char *ours_text = json_dumps(ours, JSON_COMPACT | JSON_ENCODE_ANY);

    fail_msg("line %zu, theirs: %s\n  ours: %s", at, theirs_text != NULL ? theirs_text : "(none)",
             ours_text);
}

/* Takes `ours` over: each of its fields must be in the next line, with the same value. */
static const json_t *expect(struct play *play, json_t *ours)
{
    const json_t *theirs = next_line(play);
    const char *name;
    json_t *value;

    assert_non_null(ours);
    json_object_foreach(ours, name, value)
    {
        if (!json_equal(json_object_get(theirs, name), value))
            fail_difference(theirs, ours, play->at);
    }
    json_decref(ours);
    play->at++;
    return theirs;
}

static json_t *parse(const char *text)
{
    json_t *value = json_loads(text, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);

    assert_non_null(value);
    return value;
}

static void crank_started(void *context, const struct kernel_crank *crank)
{
    expect(context, json_pack("{s:s,s:I,s:s,s:s,s:o}", "type", "crank-start", "crankNum",
                              (json_int_t)crank->number, "crankType", crank->type, "messageType",
                              crank->message_type, "message", parse(crank->message)));
}

static json_t *vat_id(int64_t vat)
{
    return json_sprintf("v%" PRId64, vat);
}

static void clist_changed(void *context, const struct kernel_clist_change *change)
{
    const struct play *play = context;

    if (!play->running)
        return;
    expect(context,
           json_pack("{s:s,s:s,s:o,s:s,s:s}", "type", "clist", "mode", change->mode, "vatID",
                     vat_id(change->vat), "kobj", change->kobj, "vobj", change->vobj));
}

static void syscall_translated(void *context, const struct kernel_syscall_texts *texts)
{
    expect(context, json_pack("{s:s,s:o}", "type", "syscall", "ksc", parse(texts->ksc)));
}

static void vat_terminated(void *context, const struct kernel_termination *termination)
{
    expect(context,
           json_pack("{s:s,s:o,s:b,s:o}", "type", "terminate", "vatID", vat_id(termination->vat),
                     "shouldReject", termination->reject, "info", parse(termination->info)));
}

/* ---- playing the vats ---- */

static void expect_delivery(struct play *play, const struct kernel_delivery *delivery)
{
    if (has_type(next_line(play), "create-vat"))
        play->at++;
    expect(play,
           json_pack("{s:s,s:I,s:o,s:I,s:s,s:o,s:o}", "type", "deliver", "crankNum",
                     (json_int_t)delivery->crank_num, "vatID", vat_id(delivery->vat), "deliveryNum",
                     (json_int_t)delivery->delivery_num, "dispatch", delivery->dispatch, "kd",
                     parse(delivery->kd), "vd", parse(delivery->vd)));
}

/* The next syscall of the vat in the slogfile: its line, after lines of its c-list. */
static const json_t *find_syscall(const struct play *play)
{
    for (size_t i = play->at; i < json_array_size(play->lines); i++) {
        const json_t *line = json_array_get(play->lines, i);

        if (has_type(line, "syscall"))
            return line;
        if (has_type(line, "deliver-result"))
            break;
    }
    return NULL;
}

static void play_syscall(struct play *play, const json_t *line)
{
    json_t *message = json_pack("[s,O]", "syscall", json_object_get(line, "vsc"));
    char *text = json_dumps(message, JSON_COMPACT);
    struct kernel_syscall_texts texts;
    struct vat_request request;
    struct error error;

    check_ok(vat_request_parse(&request, text, strlen(text), &error), &error);
    if (kernel_syscall(play->kernel, &request.syscall, &texts, &error) != KERNEL_OK)
        fail_msg("line %zu: %s: %s", play->at, text, error.text);
    expect(play, json_pack("{s:s,s:o,s:o}", "type", "syscall-result", "ksr", parse(texts.ksr),
                           "vsr", parse(texts.vsr)));
    vat_request_free(&request);
    free(text);
    json_decref(message);
}

/* Returns true if this crank has another delivery: of an upgrade, or for a snapshot. */
static bool delivery_follows(const struct play *play)
{
    for (size_t i = play->at; i < json_array_size(play->lines); i++) {
        const json_t *line = json_array_get(play->lines, i);

        if (has_type(line, "deliver"))
            return true;
        if (has_type(line, "crank-finish"))
            break;
    }
    return false;
}

static void play_syscalls(struct play *play, const struct kernel_delivery *delivery)
{
    const json_t *line;

    expect_delivery(play, delivery);
    while ((line = find_syscall(play)) != NULL)
        play_syscall(play, line);
}

static void play_result(struct play *play, struct kernel_delivery_end *end)
{
    struct kernel_outcome outcome = {.compute = -1, .instructions = -1};
    const json_t *line = expect(play, json_pack("{s:s}", "type", "deliver-result"));
    const json_t *result = json_object_get(line, "dr"), *meter = json_array_get(result, 2);
    struct error error;

    if (strcmp(json_string_value(json_array_get(result, 0)), "ok") != 0) {
        outcome.came = json_is_object(meter) ? KERNEL_CAME_ERROR : KERNEL_CAME_DEAD;
        outcome.problem = json_string_value(json_array_get(result, 1));
    }
    if (json_is_object(meter))
        outcome.compute = json_integer_value(json_object_get(meter, "compute"));
    outcome.snapshot_follows = delivery_follows(play);
    check_ok(kernel_end_delivery(play->kernel, &outcome, end, &error), &error);
}

/* ---- playing the host ---- */

static bool is_routed_send(const json_t *line)
{
    return has_type(line, "crank-start") && strcmp(text_of(line, "crankType"), "routing") == 0 &&
           strcmp(text_of(line, "messageType"), "send") == 0;
}

static void queue_send(struct play *play, const json_t *send)
{
    const json_t *message = json_object_get(send, "msg");
    const char *expected = text_of(message, "result");
    char result[KERNEL_REF_SIZE];
    struct error error;

    check_ok(kernel_queue_message(play->kernel, text_of(send, "target"),
                                  json_object_get(message, "methargs"),
                                  expected != NULL ? result : NULL, &error),
             &error);
    if (expected != NULL)
        assert_string_equal(result, expected);
}

/* A message without a result is a device's: the clock's, or that of the echo. */
static void act_as_device(struct play *play, const json_t *send)
{
    const char *body = text_of(json_object_get(json_object_get(send, "msg"), "methargs"), "body");
    json_t *call = parse(body + 1), *arguments = json_array_get(call, 1);
    struct error error;
    bool done;

    if (strcmp(json_string_value(json_array_get(call, 0)), "wake") == 0) {
        check_ok(kernel_set_clock(play->kernel, play->clock, &done, &error), &error);
    } else {
        const char *words = json_string_value(json_array_get(arguments, 1));

        check_ok(kernel_trigger(play->kernel, words, &done, &error), &error);
    }
    assert_true(done);
    json_decref(call);
}

/* All that the host queued before it ran the kernel again: routed in a row. */
static void act_as_host(struct play *play)
{
    struct error error;

    if (!is_routed_send(next_line(play))) {
        check_ok(kernel_reap_all(play->kernel, &error), &error);
        return;
    }
    for (size_t i = play->at; is_routed_send(json_array_get(play->lines, i)); i += 2) {
        const json_t *send = json_object_get(json_array_get(play->lines, i), "message");

        if (json_is_null(json_object_get(json_object_get(send, "msg"), "result"))) {
            act_as_device(play, send);
            return;
        }
        queue_send(play, send);
    }
}

static void open_kernel(struct play *play)
{
    struct error error;

    play->kernel = kernel_open(play->store, &play->options, &error);
    if (play->kernel == NULL)
        fail_msg("%s", error.text);
}

/* As when the program ends, at any moment, and is started again. */
static void reopen_kernel(struct play *play)
{
    kernel_close(play->kernel);
    open_kernel(play);
}

static void next_crank(struct play *play, struct kernel_step *step)
{
    struct error error;

    check_ok(kernel_next(play->kernel, step, &error), &error);
    if (step->work != KERNEL_IDLE)
        return;
    act_as_host(play);
    if (play->restless)
        reopen_kernel(play);
    check_ok(kernel_next(play->kernel, step, &error), &error);
    assert_int_not_equal(step->work, KERNEL_IDLE);
}

static void drop_and_begin_again(struct play *play, struct kernel_step *step, size_t start)
{
    struct error error;

    kernel_abandon_crank(play->kernel);
    reopen_kernel(play);
    play->at = start;
    check_ok(kernel_next(play->kernel, step, &error), &error);
    assert_int_equal(step->work, KERNEL_DELIVERY);
}

/* A crank dropped in its middle must leave no trace, in the store or in the kernel's memory. */
static void drop_crank(struct play *play, struct kernel_step *step, size_t start)
{
    struct kernel_delivery_end end = {0};
    bool has_second;

    play_syscalls(play, &step->delivery);
    play->at++;
    has_second = delivery_follows(play);
    drop_and_begin_again(play, step, start);
    if (!has_second)
        return;
    play_syscalls(play, &step->delivery);
    play_result(play, &end);
    assert_true(end.again);
    play_syscalls(play, &end.delivery);
    drop_and_begin_again(play, step, start);
}

static void play_crank(struct play *play)
{
    struct kernel_delivery_end end = {0};
    struct kernel_step step;
    size_t start = play->at;

    next_crank(play, &step);
    if (step.work == KERNEL_DELIVERY && play->restless)
        drop_crank(play, &step, start);
    for (end.again = step.work == KERNEL_DELIVERY; end.again; step.delivery = end.delivery) {
        play_syscalls(play, &step.delivery);
        play_result(play, &end);
    }
    expect(play, json_pack("{s:s}", "type", "crank-finish"));
    memcpy(play->activityhash,
           step.work == KERNEL_ROUTED ? step.end.activityhash : end.end.activityhash,
           KERNEL_HASH_SIZE);
}

/* ---- the beginning: static vats, bundles, devices ---- */

/* The slogfile's static vat of that number. */
static const json_t *find_static(const json_t *lines, int64_t number)
{
    json_t *id = vat_id(number);
    const json_t *line, *found = NULL;
    size_t i;

    json_array_foreach(lines, i, line)
    {
        if (has_type(line, "create-vat") && !json_is_true(json_object_get(line, "dynamic")) &&
            json_equal(json_object_get(line, "vatID"), id))
            found = line;
    }
    json_decref(id);
    return found;
}

/* Returns the parameters of its startVat delivery. */
static const char *parameters_of(const json_t *lines, const char *vat)
{
    const json_t *line;
    size_t i;

    json_array_foreach(lines, i, line)
    {
        const json_t *message = json_object_get(line, "message");

        if (has_type(line, "crank-start") &&
            strcmp(text_of(line, "messageType"), "startVat") == 0 &&
            strcmp(text_of(message, "vatID"), vat) == 0)
            return text_of(json_object_get(message, "vatParameters"), "body") + 1;
    }
    return NULL;
}

static void make_static_vats(struct play *play)
{
    const json_t *line;
    struct error error;
    int64_t vat;

    for (int64_t number = 1; (line = find_static(play->lines, number)) != NULL; number++) {
        struct kernel_vat_setup setup = {
            .name = text_of(line, "name"),
            .bundle_id = "b1-any",
            .runtime = KERNEL_VAT_LIVESLOTS,
            .parameters = parameters_of(play->lines, text_of(line, "vatID")),
        };

        check_ok(kernel_provide_vat(play->kernel, &setup, &vat, &error), &error);
        assert_int_equal(vat, number);
    }
}

/* Bundles by name, as vats ask for them: "widget" is that of the vat "widgets", "dyn" all others'.
 */
static void name_bundles(struct play *play)
{
    const json_t *line;
    struct error error;
    size_t i;

    json_array_foreach(play->lines, i, line)
    {
        const json_t *message = json_object_get(line, "message");
        const json_t *options = json_object_get(message, "dynamicOptions");
        const char *id = text_of(json_object_get(message, "source"), "bundleID");
        bool widget = options != NULL && strcmp(text_of(options, "name"), "widgets") == 0;

        if (!has_type(line, "crank-start") || id == NULL)
            continue;
        check_ok(store_bundle_put(play->store, id, (struct iovec){"{}", 2}, &error), &error);
        check_ok(kernel_name_bundle(play->kernel, widget ? "widget" : "dyn", id, &error), &error);
    }
}

static void find_root(struct play *play, const char *name)
{
    char kref[KERNEL_REF_SIZE];
    struct error error;
    bool found;

    check_ok(kernel_root(play->kernel, name, kref, &found, &error), &error);
    assert_true(found);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* References in the order in which SwingSet's first message names them. */
static void make_references(struct play *play, const char *const *devices)
{
    const char *names[8] = {0};
    const json_t *line;
    char kref[KERNEL_REF_SIZE];
    struct error error;
    size_t count = 0;
    bool found;

    while (count < 8 && (line = find_static(play->lines, (int64_t)count + 1)) != NULL)
        names[count++] = text_of(line, "name");
    qsort(names, count, sizeof *names, compare_names);
    for (size_t i = 0; i < count; i++)
        find_root(play, names[i]);
    for (; *devices != NULL; devices++)
        check_ok(kernel_device(play->kernel, *devices, kref, &found, &error), &error);
}

/* The first message is queued before anything runs. */
static void queue_first(struct play *play)
{
    size_t i = play->at;

    while (!is_routed_send(json_array_get(play->lines, i)))
        i++;
    queue_send(play, json_object_get(json_array_get(play->lines, i), "message"));
}

static void open_play(struct play *play, const char *path, int64_t reap_interval)
{
    struct error error;

    play->clock = 10;
    play->options = (struct kernel_options){
        .reap_interval = reap_interval,
        .reap_gc_references = KERNEL_REAP_GC_REFERENCES,
        .listener = {play, crank_started, clist_changed, syscall_translated, vat_terminated, NULL,
                     NULL},
    };
    play->lines = read_lines(path);
    play->store = store_open(NULL, &error);
    assert_non_null(play->store);
    check_ok(store_transaction_begin(play->store, &error), &error);
    open_kernel(play);
}

static void play_slog(const char *path, int64_t reap_interval, const char *const *devices,
                      bool restless, char activityhash[KERNEL_HASH_SIZE])
{
    struct play play = {.restless = restless};

    open_play(&play, path, reap_interval);
    make_static_vats(&play);
    name_bundles(&play);
    make_references(&play, devices);
    while (has_type(next_line(&play), "create-vat"))
        play.at++;
    queue_first(&play);
    play.running = true;
    while (play.at < json_array_size(play.lines))
        play_crank(&play);
    memcpy(activityhash, play.activityhash, KERNEL_HASH_SIZE);
    kernel_close(play.kernel);
    json_decref(play.lines);
    store_close(play.store);
}

/* Twice: as it comes, and with every crank dropped and done again by another kernel. */
static void comes_out_the_same(const char *path, int64_t reap_interval, const char *const *devices)
{
    char calm[KERNEL_HASH_SIZE], restless[KERNEL_HASH_SIZE];

    play_slog(path, reap_interval, devices, false, calm);
    play_slog(path, reap_interval, devices, true, restless);
    assert_int_equal(strlen(calm), KERNEL_HASH_SIZE - 1);
    assert_string_equal(calm, restless);
}

static void small_comes_out_the_same(void **state)
{
    static const char *const devices[] = {"echo", "vatAdmin", NULL};

    (void)state;
    comes_out_the_same("tests/data/small.slog.gz", 1000, devices);
}

static void variety_comes_out_the_same(void **state)
{
    static const char *const devices[] = {"echo", "clock", "vatAdmin", NULL};

    (void)state;
    comes_out_the_same("tests/data/variety.slog.gz", 12, devices);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_comes_out_the_same),
        cmocka_unit_test(variety_comes_out_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
