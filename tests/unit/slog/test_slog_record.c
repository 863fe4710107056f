/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "slog/read/record.h"

/*
 * Members in SwingSet's order and layout are read by other code than
 * all others: what is found must be the same, whatever the values are.
 */

static void append_span(struct buf *text, struct scan_span span)
{
    buf_printf(text, "[%.*s]", span.at == NULL ? 1 : (int)span.length,
               span.at == NULL ? "-" : span.at);
}

/* All that a record says, or why it says nothing. */
static void read_line(const struct buf *line, struct buf *found)
{
    char *padded = malloc(line->length + SCAN_PADDING);
    struct record record;
    const char *why;

    assert_non_null(padded);
    memcpy(padded, line->data, line->length);
    /* Text that would continue the line as expected, if it were a part of it. */
    snprintf(padded + line->length, SCAN_PADDING, ",\"time\":1,\"monotime\":1}");
    buf_clear(found);
    if (record_read(padded, line->length, &record, &why)) {
        buf_printf(found, "%d %d %lld %lld %lld %lld %lld", record.type, record.replay,
                   (long long)record.time, (long long)record.monotime, (long long)record.crank_num,
                   (long long)record.delivery_num, (long long)record.syscall_num);
        append_span(found, record.vat_id);
        append_span(found, record.dispatch);
        append_span(found, record.syscall);
        append_span(found, record.kd);
        append_span(found, record.vd);
        append_span(found, record.ksc);
        append_span(found, record.vsc);
        append_span(found, record.ksr);
        append_span(found, record.vsr);
        append_span(found, record.dr);
    } else {
        buf_append_string(found, why);
    }
    assert_non_null(buf_string(found));
    free(padded);
}

/* An object of these members, as SwingSet writes it or with a blank before each. */
static void make_line(const char *const *members, size_t count, bool blanks, struct buf *line)
{
    buf_clear(line);
    for (size_t i = 0; i < count; i++)
        buf_printf(line, "%s%s%s", i == 0 ? "{" : ",", blanks ? " " : "", members[i]);
    buf_append_byte(line, '}');
    assert_non_null(buf_string(line));
}

static void expect_same(const char *const *members, size_t count)
{
    struct buf line = {0}, expected = {0}, found = {0};

    make_line(members, count, true, &line);
    read_line(&line, &found);
    make_line(members, count, false, &line);
    read_line(&line, &expected);
    if (strcmp(found.data, expected.data) != 0)
        fail_msg("%s: %s, and with blanks: %s", line.data, expected.data, found.data);
    buf_free(&line);
    buf_free(&expected);
    buf_free(&found);
}

enum { MOST_MEMBERS = 13 };

/* A line of each kind that has a way of its own. */
static const char *const lines[][MOST_MEMBERS] = {
    {"\"type\":\"syscall\"", "\"crankNum\":12", "\"vatID\":\"v1\"", "\"deliveryNum\":3",
     "\"syscallNum\":0", "\"replay\":false", "\"syscall\":\"vatstoreGet\"",
     "\"ksc\":[\"vatstoreGet\",\"v1\",\"a\\\"]\"]", "\"vsc\":[\"vatstoreGet\",\"a\\\"]\"]",
     "\"time\":1795219415.997025", "\"monotime\":21.56113504"},
    {"\"type\":\"syscall-result\"", "\"vatID\":\"v1\"", "\"deliveryNum\":3", "\"syscallNum\":0",
     "\"replay\":true", "\"ksr\":[\"ok\",null]", "\"vsr\":[\"ok\",null]",
     "\"time\":1795219415.997025", "\"monotime\":21.56113504", "\"seconds\":0.00004"},
    {"\"type\":\"deliver-result\"", "\"crankNum\":12", "\"vatID\":\"v1\"", "\"deliveryNum\":3",
     "\"replay\":false", "\"dispatch\":\"startVat\"",
     "\"dr\":[\"ok\",null,{\"compute\":1,\"timestamps\":[1.5]}]", "\"time\":1795219415.997025"},
    {"\"type\":\"crank-start\"", "\"crankType\":\"routing\"", "\"crankNum\":12",
     "\"messageType\":\"startVat\"", "\"message\":{\"type\":\"startVat\",\"vatID\":\"v3\"}",
     "\"time\":1795219415.997025", "\"monotime\":21.56113504"},
    {"\"type\":\"crank-finish\"", "\"crankType\":\"routing\"", "\"messageType\":\"startVat\"",
     "\"crankNum\":12", "\"crankhash\":\"fe7d\"", "\"activityhash\":\"d24c\"",
     "\"time\":1795219415.997025", "\"monotime\":21.56113504", "\"seconds\":0.0001"},
    {"\"type\":\"clist\"", "\"crankNum\":12", "\"mode\":\"import\"", "\"vatID\":\"v1\"",
     "\"kobj\":\"ko24\"", "\"vobj\":\"o-52\"", "\"time\":1795219415.997025"},
};

enum { LINES = sizeof lines / sizeof lines[0] };

/* A line with one of its members said in this way instead. */
static void expect_same_with(const char *const *line, size_t place, const char *instead)
{
    const char *members[MOST_MEMBERS];
    size_t count = 0;

    for (; count < MOST_MEMBERS && line[count] != NULL; count++)
        members[count] = line[count];
    if (place >= count)
        return;
    members[place] = instead;
    expect_same(members, count);
}

static void takes_any_value(void **state)
{
    static const char *const values[] = {"0",
                                         "1",
                                         "-1",
                                         "123456789012",
                                         "12345678901234567",
                                         "1.5",
                                         "1e3",
                                         "1795219415.997025",
                                         "1795219415.9970255",
                                         "99999999999999999999",
                                         "null",
                                         "true",
                                         "false",
                                         "truely",
                                         "\"\"",
                                         "\"v1\"",
                                         "\"syscall\"",
                                         "\"clist\"",
                                         "\"a string of more than sixteen characters\"",
                                         "\"\\\"\\u0000\"",
                                         "[]",
                                         "{}",
                                         "[[1],{}]",
                                         "[\"ok\",null]",
                                         "[\"ok\",null,1]",
                                         "[\"ok\",null}",
                                         "[\"ok\",null]]",
                                         "{\"time\":5}",
                                         "12x",
                                         "\"",
                                         "[",
                                         "",
                                         "-",
                                         ".5",
                                         "9.",
                                         "[\"]"};
    static const char *const keys[] = {
        "type",    "crankNum",  "vatID",    "deliveryNum", "syscallNum", "replay",
        "syscall", "ksc",       "vsc",      "ksr",         "vsr",        "dr",
        "kd",      "crankType", "mode",     "message",     "crankhash",  "time",
        "kobj",    "dispatch",  "monotime", "seconds",     "messageType"};
    char member[128];

    (void)state;
    for (size_t key = 0; key < sizeof keys / sizeof keys[0]; key++) {
        for (size_t value = 0; value < sizeof values / sizeof values[0]; value++) {
            snprintf(member, sizeof member, "\"%s\":%s", keys[key], values[value]);
            for (size_t place = 0; place < LINES * MOST_MEMBERS; place++)
                expect_same_with(lines[place / MOST_MEMBERS], place % MOST_MEMBERS, member);
        }
    }
}

static void takes_members_in_any_order(void **state)
{
    static const char *const twice[] = {"\"type\":\"deliver\"", "\"time\":1.5",
                                        "\"vatID\":\"v1\"",     "\"time\":2.5",
                                        "\"vatID\":\"v2\"",     "\"crankNum\":1"};
    struct buf line = {0}, found = {0};

    (void)state;
    expect_same(twice, sizeof twice / sizeof twice[0]);
    make_line(twice, sizeof twice / sizeof twice[0], false, &line);
    read_line(&line, &found);
    assert_non_null(strstr(found.data, " 2500000000 "));
    assert_non_null(strstr(found.data, "[v2]"));
    buf_free(&line);
    buf_free(&found);
}

/* The rest of a killed writer's line, with another process's line right after it. */
static void refuses_two_lines_in_one(void **state)
{
    struct buf line = {0}, found = {0};

    (void)state;
    buf_append_string(&line, "{\"type\":\"syscall\",\"crankNum\":1,\"ksc\":[\"vatst"
                             "{\"type\":\"deliver\",\"vatID\":\"v1\",\"time\":1,\"monotime\":2}");
    read_line(&line, &found);
    assert_string_equal(found.data, "JSON that does not end as it should");
    buf_free(&line);
    buf_free(&found);
}

/* The line ends at each of its bytes, with more text after it. */
static void refuses_every_beginning(void **state)
{
    struct buf line = {0}, found = {0};
    static const char whole[] =
        "{\"type\":\"syscall-result\",\"crankNum\":12,\"vatID\":\"v1\",\"deliveryNum\":3,"
        "\"syscallNum\":0,\"replay\":true,\"ksr\":[\"ok\",null],\"vsr\":[\"ok\",null],"
        "\"time\":1795219415.997025,\"monotime\":21.56113504,\"seconds\":0.00004}";

    (void)state;
    for (size_t length = 0; length < strlen(whole); length++) {
        buf_clear(&line);
        buf_append(&line, whole, length);
        if (length == 0)
            buf_reserve(&line, 1);
        read_line(&line, &found);
        if (strstr(found.data, "JSON") == NULL)
            fail_msg("taken: %.*s: %s", (int)length, whole, found.data);
    }
    buf_free(&line);
    buf_free(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_any_value),
        cmocka_unit_test(takes_members_in_any_order),
        cmocka_unit_test(refuses_two_lines_in_one),
        cmocka_unit_test(refuses_every_beginning),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
