/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "supervisor/replay/transcript.h"
#include "tests/unit/store/store_check.h"

#define ITEM(number, syscalls)                                                                     \
    "{\"d\":[\"message\"," number "],\"sc\":[" syscalls "],\"r\":{\"status\":\"ok\","              \
    "\"metering\":{\"computrons\":7},\"instructions\":99,\"fingerprint\":\"ab\"}}"
#define SYSCALL "{\"s\":[\"vatstoreGet\",\"k\"],\"r\":[\"ok\",null]}"

static const struct stored_vat vat = {.id = 3,
                                      .name = "b\"ank",
                                      .bundle_id = "b1-0",
                                      .dynamic = true,
                                      .incarnation = 1,
                                      .first_num = 11};

/* Three deliveries of the second incarnation, and a snapshot behind the second one. */
static int make_store(void **state)
{
    static const char *const items[] = {ITEM("0", ""), ITEM("1", SYSCALL), ITEM("2", "")};
    struct store *store = store_open(NULL, &error);
    struct store_snapshot snapshot;
    int fd = memfd_create("snapshot", MFD_CLOEXEC), result = 0;

    if (store == NULL || fd < 0)
        return -1;
    result |= store_bundle_put(store, "b1-0", bytes("{\"moduleFormat\":\"x\"}"), &error);
    result |= store_transcript_add(store, vat.id, 0, 0, bytes("old"), &error);
    for (int i = 0; i < 3; i++)
        result |= store_transcript_add(store, vat.id, 1, i, bytes(items[i]), &error);
    result |= store_snapshot_put(store, vat.id, 1, 2, fd, &snapshot, &error);
    close(fd);
    *state = store;
    return result;
}

static int free_store(void **state)
{
    store_close(*state);
    return 0;
}

static void next_is(struct stored_transcript *stored, uint64_t number, const char *text)
{
    struct reader_line line;

    assert_int_equal(stored_transcript_next(stored, &line, &error), 1);
    assert_int_equal(line.number, number);
    assert_int_equal(line.length, strlen(text));
    assert_memory_equal(line.bytes, text, line.length);
}

static struct stored_transcript *open_stored(struct store *store, bool from_start)
{
    struct stored_transcript *stored = stored_transcript_open(store, &vat, from_start, &error);

    if (stored == NULL)
        fail_msg("%s", error.text);
    return stored;
}

static void lines_are_those_of_an_exported_transcript(void **state)
{
    struct stored_transcript *stored = open_stored(*state, true);
    struct reader_line line;

    next_is(stored, 1,
            "{\"type\":\"create-vat\",\"vatID\":\"v3\",\"dynamic\":true,\"name\":\"b\\\"ank\","
            "\"deliveryNum\":11,\"managerType\":\"xsnap\","
            "\"vatSourceBundle\":{\"moduleFormat\":\"x\"},\"time\":0}");
    next_is(stored, 2, ITEM("0", ""));
    next_is(stored, 3, ITEM("1", SYSCALL));
    next_is(stored, 4, ITEM("2", ""));
    assert_int_equal(stored_transcript_next(stored, &line, &error), 0);
    stored_transcript_close(stored);
}

static void expect(struct transcript *transcript, enum transcript_kind kind, uint64_t line,
                   int64_t delivery_num, struct transcript_step *step)
{
    if (transcript_next(transcript, step, &error) != 1)
        fail_msg("%s", error.text);
    assert_int_equal(step->kind, kind);
    assert_int_equal(step->line, line);
    assert_int_equal(step->delivery_num, delivery_num);
    assert_true(scan_is(step->vat_id, "v3"));
}

static void deliveries_have_the_numbers_of_the_run(void **state)
{
    struct stored_transcript *stored = open_stored(*state, true);
    struct transcript *transcript = transcript_open_stored(stored, "s: vat bank", &error);
    struct transcript_step step;

    assert_non_null(transcript);
    expect(transcript, TRANSCRIPT_CREATE, 1, 11, &step);
    assert_true(scan_is(step.json, "{\"moduleFormat\":\"x\"}"));
    expect(transcript, TRANSCRIPT_DELIVER, 2, 11, &step);
    expect(transcript, TRANSCRIPT_RESULT, 2, 11, &step);
    assert_int_equal(step.compute, 7);
    assert_int_equal(step.instructions, 99);
    assert_true(scan_is(step.fingerprint, "ab"));
    expect(transcript, TRANSCRIPT_DELIVER, 3, 12, &step);
    expect(transcript, TRANSCRIPT_SYSCALL, 3, 12, &step);
    expect(transcript, TRANSCRIPT_ANSWER, 3, 12, &step);
    expect(transcript, TRANSCRIPT_RESULT, 3, 12, &step);
    expect(transcript, TRANSCRIPT_DELIVER, 4, 13, &step);
    expect(transcript, TRANSCRIPT_RESULT, 4, 13, &step);
    assert_int_equal(transcript_next(transcript, &step, &error), 0);
    assert_string_equal(transcript_name(transcript), "s: vat bank");
    assert_false(transcript_is_torn(transcript));
    transcript_close(transcript);
    stored_transcript_close(stored);
}

static void a_transcript_begins_with_the_last_snapshot(void **state)
{
    struct stored_transcript *stored = open_stored(*state, false);
    struct transcript *transcript = transcript_open_stored(stored, "s: vat bank", &error);
    struct transcript_step step;

    assert_non_null(transcript);
    expect(transcript, TRANSCRIPT_CREATE, 1, 12, &step);
    expect(transcript, TRANSCRIPT_SNAPSHOT_LOADED, 3, 12, &step);
    /* sha256sum < /dev/null */
    assert_true(
        scan_is(step.hash, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"));
    expect(transcript, TRANSCRIPT_DELIVER, 4, 13, &step);
    expect(transcript, TRANSCRIPT_RESULT, 4, 13, &step);
    assert_int_equal(transcript_next(transcript, &step, &error), 0);
    transcript_close(transcript);
    stored_transcript_close(stored);
}

static void a_vat_without_deliveries_has_no_transcript(void **state)
{
    struct stored_vat other = vat;

    other.incarnation = 2;
    assert_null(stored_transcript_open(*state, &other, false, &error));
    assert_int_equal(error.kind, ERROR_INPUT);
    assert_non_null(strstr(error.text, "vat v3: no delivery is recorded"));
}

static void a_vat_without_deliveries_since_its_snapshot_is_told(void **state)
{
    struct store_snapshot snapshot;
    int fd = memfd_create("snapshot", MFD_CLOEXEC);

    assert_true(fd >= 0);
    OK(store_snapshot_put(*state, vat.id, 1, 3, fd, &snapshot, &error));
    close(fd);
    assert_null(stored_transcript_open(*state, &vat, false, &error));
    assert_int_equal(error.kind, ERROR_INPUT);
    assert_non_null(strstr(error.text, "no delivery since its last snapshot"));
    stored_transcript_close(open_stored(*state, true));
}

static void what_the_store_has_lost_is_told(void **state)
{
    struct stored_vat other = vat;
    struct stored_transcript *stored;
    struct reader_line line;

    other.bundle_id = "b1-1";
    stored = stored_transcript_open(*state, &other, true, &error);
    assert_non_null(stored);
    assert_int_equal(stored_transcript_next(stored, &line, &error), -1);
    assert_int_equal(error.kind, ERROR_SYSTEM);
    assert_non_null(strstr(error.text, "no bundle b1-1"));
    stored_transcript_close(stored);
    assert_int_equal(store_transcript_add(*state, vat.id, 1, 5, bytes("late"), &error), 0);
    stored = open_stored(*state, true);
    for (int i = 0; i < 4; i++)
        assert_int_equal(stored_transcript_next(stored, &line, &error), 1);
    assert_int_equal(stored_transcript_next(stored, &line, &error), -1);
    assert_non_null(strstr(error.text, "no item 3 of its transcript"));
    stored_transcript_close(stored);
}

#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, make_store, free_store)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STORE(lines_are_those_of_an_exported_transcript),
        WITH_STORE(deliveries_have_the_numbers_of_the_run),
        WITH_STORE(a_transcript_begins_with_the_last_snapshot),
        WITH_STORE(a_vat_without_deliveries_has_no_transcript),
        WITH_STORE(a_vat_without_deliveries_since_its_snapshot_is_told),
        WITH_STORE(what_the_store_has_lost_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
