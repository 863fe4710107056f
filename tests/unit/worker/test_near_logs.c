/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares costs and refusals of NEAR contracts' logs with the expectations of nearcore's
 * runtime/near-vm-runner/src/logic/tests/logs.rs, commit 1cde7f22; each by its test's name there.
 */
#include "tests/unit/worker/near_logic.h"

static const char mixed[] = "j ñ r'ø qò$`5 y'5 øò{%÷ `Võ%";
static const char dollars[] = "$ qò$`"; /* each character one unit of UTF-16 */
enum { MIXED = sizeof mixed - 1, DOLLARS = sizeof dollars - 1, DOLLARS_16 = 12 };

#define BAD_UTF8  "String encoding is bad UTF-8 sequence."
#define BAD_UTF16 "String encoding is bad UTF-16 sequence."
#define BOUNDS    "Accessed memory outside the bounds."

/* Appends the UTF-16 of text below U+0800. */
static struct logic_slice append_utf16(struct logic *logic, const char *text)
{
    const uint64_t begin = logic->written;

    for (const unsigned char *at = (const unsigned char *)text; *at != 0; at++) {
        const bool is_pair = *at >= 0xc0;
        const unsigned unit = is_pair ? (*at & 0x1fu) << 6 | (at[1] & 0x3fu) : *at;
        const uint8_t bytes[] = {(uint8_t)unit, (uint8_t)(unit >> 8)};

        (void)logic_write(logic, bytes, sizeof bytes);
        at += is_pair;
    }
    return (struct logic_slice){logic->written - begin, begin};
}

static void logs_are(const struct logic *logic, const char *logs)
{
    assert_int_equal(logic->logs.length, strlen(logs));
    assert_memory_equal(logic->logs.length == 0 ? "" : logic->logs.data, logs, strlen(logs));
}

/* A call's limits on logs; 0: the usual one. */
static void logs_open(struct logic *logic, uint64_t most_bytes, uint64_t most_logs)
{
    logic_open(logic);
    if (most_bytes != 0)
        logic->parameters.max_total_log_length = most_bytes;
    if (most_logs != 0)
        logic->parameters.max_number_logs = most_logs;
    logic_begin(logic);
}

/* ---- UTF-8 ---- */

static void test_valid_utf8(void **state)
{
    struct logic logic;
    struct logic_slice bytes;

    (void)state;
    logs_open(&logic, 0, 0);
    bytes = logic_text(&logic, mixed);
    assert_int_equal(MIXED, 35);
    LOGIC_WORKS(&logic, log_utf8, bytes.length, bytes.at);
    logic_costs_are(&logic, "base 1 log_base 1 log_byte 35 read_memory_base 1 read_memory_byte 35 "
                            "utf8_decoding_base 1 utf8_decoding_byte 35");
    logs_are(&logic, "j ñ r'ø qò$`5 y'5 øò{%÷ `Võ%\n");
    logic_close(&logic);
}

static void test_invalid_utf8(void **state)
{
    struct logic logic;
    struct logic_slice bytes;

    (void)state;
    logs_open(&logic, 0, 0);
    bytes = logic_text(&logic, "\x80");
    LOGIC_FAILS(&logic, BAD_UTF8, log_utf8, bytes.length, bytes.at);
    logic_costs_are(&logic, "base 1 read_memory_base 1 read_memory_byte 1 utf8_decoding_base 1 "
                            "utf8_decoding_byte 1");
    logs_are(&logic, "");
    logic_close(&logic);
}

static void test_valid_null_terminated_utf8(void **state)
{
    struct logic logic;
    struct logic_slice bytes;

    (void)state;
    logs_open(&logic, MIXED, 0);
    bytes = logic_write(&logic, mixed, sizeof mixed);
    LOGIC_WORKS(&logic, log_utf8, UINT64_MAX, bytes.at);
    logic_costs_are(&logic, "base 1 log_base 1 log_byte 35 read_memory_base 36 read_memory_byte 36 "
                            "utf8_decoding_base 1 utf8_decoding_byte 35");
    logic_close(&logic);
}

static void test_log_max_limit(void **state)
{
    struct logic logic;
    struct logic_slice bytes;

    (void)state;
    logs_open(&logic, MIXED - 1, 0);
    bytes = logic_text(&logic, mixed);
    LOGIC_FAILS(&logic, "The length of a log message 35 exceeds the limit 34", log_utf8,
                bytes.length, bytes.at);
    logic_costs_are(&logic, "base 1 utf8_decoding_base 1");
    logic_close(&logic);
}

static void test_log_total_length_limit(void **state)
{
    enum { LOGS = 10 };
    struct logic logic;
    struct logic_slice bytes;

    (void)state;
    logs_open(&logic, MIXED * LOGS - 1, LOGS);
    bytes = logic_text(&logic, mixed);
    for (unsigned i = 0; i < LOGS - 1; i++)
        LOGIC_WORKS(&logic, log_utf8, bytes.length, bytes.at);
    LOGIC_FAILS(&logic, "The length of a log message 350 exceeds the limit 349", log_utf8,
                bytes.length, bytes.at);
    assert_int_equal(logic.call.log_count, LOGS - 1);
    logic_close(&logic);
}

static void test_log_number_limit(void **state)
{
    struct logic logic;
    struct logic_slice bytes;

    (void)state;
    logs_open(&logic, 28, 3);
    bytes = logic_text(&logic, "blabla");
    for (unsigned i = 0; i < 3; i++)
        LOGIC_WORKS(&logic, log_utf8, bytes.length, bytes.at);
    LOGIC_FAILS(&logic, "The number of logs will exceed the limit 3", log_utf8, bytes.length,
                bytes.at);
    logic_costs_are(&logic, "base 4 log_base 3 log_byte 18 read_memory_base 3 read_memory_byte 18 "
                            "utf8_decoding_base 3 utf8_decoding_byte 18");
    logs_are(&logic, "blabla\nblabla\nblabla\n");
    logic_close(&logic);
}

/* test_log_utf8_max_limit_null_terminated, .._fail */
static void terminated_texts_are_limited(void **state)
{
    struct logic logic;
    struct logic_slice bytes;

    (void)state;
    logs_open(&logic, MIXED - 1, 0);
    bytes = logic_write(&logic, mixed, sizeof mixed);
    LOGIC_FAILS(&logic, "The length of a log message 35 exceeds the limit 34", log_utf8, UINT64_MAX,
                bytes.at);
    logic_costs_are(&logic, "base 1 read_memory_base 35 read_memory_byte 35 utf8_decoding_base 1");
    logic_close(&logic);

    logs_open(&logic, 3, 0);
    bytes = logic_write(&logic, "abcdefgh", 9);
    LOGIC_FAILS(&logic, "The length of a log message 4 exceeds the limit 3", log_utf8, UINT64_MAX,
                bytes.at);
    logic_costs_are(&logic, "base 1 read_memory_base 4 read_memory_byte 4 utf8_decoding_base 1");
    logic_close(&logic);
}

/* utf8_mem_violation: test_good_read, test_read_past_end, test_nul_past_end */
static void utf8_at_the_end_of_the_memory(void **state)
{
    static const char text[] = "foo bar \xff baz qux";
    enum { LENGTH = sizeof text - 1 };
    const uint64_t at = WASM_PAGE - LENGTH;
    struct logic logic;

    (void)state;
    logs_open(&logic, 0, 0);
    (void)logic_write_at(&logic, at, text, LENGTH);
    LOGIC_FAILS(&logic, BAD_UTF8, log_utf8, LENGTH, at);
    logic_costs_are(&logic, "base 1 read_memory_base 1 read_memory_byte 17 utf8_decoding_base 1 "
                            "utf8_decoding_byte 17");
    LOGIC_FAILS(&logic, BOUNDS, log_utf8, LENGTH + 1, at);
    logic_costs_are(&logic, "base 1 read_memory_base 1 read_memory_byte 18 utf8_decoding_base 1");
    LOGIC_FAILS(&logic, BOUNDS, log_utf8, UINT64_MAX, at);
    logic_costs_are(&logic, "base 1 read_memory_base 18 read_memory_byte 18 utf8_decoding_base 1");
    logic_close(&logic);
}

/* ---- UTF-16 ---- */

static void test_valid_log_utf16(void **state)
{
    struct logic logic;
    struct logic_slice bytes;

    (void)state;
    logs_open(&logic, 0, 0);
    bytes = append_utf16(&logic, dollars);
    assert_int_equal(bytes.length, DOLLARS_16);
    LOGIC_WORKS(&logic, log_utf16, bytes.length, bytes.at);
    logic_costs_are(&logic, "base 1 read_memory_base 1 read_memory_byte 12 utf16_decoding_base 1 "
                            "utf16_decoding_byte 12 log_base 1 log_byte 7");
    logs_are(&logic, "$ qò$`\n");
    logic_close(&logic);
}

static void test_log_utf16_number_limit(void **state)
{
    struct logic logic;
    struct logic_slice bytes;

    (void)state;
    logs_open(&logic, (DOLLARS_16 + 1) * 4, 3);
    bytes = append_utf16(&logic, dollars);
    for (unsigned i = 0; i < 3; i++)
        LOGIC_WORKS(&logic, log_utf16, bytes.length, bytes.at);
    LOGIC_FAILS(&logic, "The number of logs will exceed the limit 3", log_utf16, bytes.length,
                bytes.at);
    logic_costs_are(&logic, "base 4 log_base 3 log_byte 21 read_memory_base 3 read_memory_byte 36 "
                            "utf16_decoding_base 3 utf16_decoding_byte 36");
    logic_close(&logic);
}

static void test_log_total_length_limit_mixed(void **state)
{
    enum { EACH = 10, LIMIT = 3 * (EACH * 2 + 1) - 1 };
    struct logic logic;
    struct logic_slice utf8, utf16;

    (void)state;
    logs_open(&logic, LIMIT, EACH * 2 + 1);
    utf8 = logic_text(&logic, "abc");
    utf16 = append_utf16(&logic, "abc");
    for (unsigned i = 0; i < EACH; i++) {
        LOGIC_WORKS(&logic, log_utf16, utf16.length, utf16.at);
        LOGIC_WORKS(&logic, log_utf8, utf8.length, utf8.at);
    }
    LOGIC_FAILS(&logic, "The length of a log message 63 exceeds the limit 62", log_utf8,
                utf8.length, utf8.at);
    assert_int_equal(logic.call.log_count, EACH * 2);
    logic_close(&logic);
}

static void test_valid_log_utf16_null_terminated(void **state)
{
    struct logic logic;
    struct logic_slice bytes;

    (void)state;
    logs_open(&logic, 0, 0);
    bytes = append_utf16(&logic, dollars);
    (void)logic_write(&logic, "\0", 2);
    LOGIC_WORKS(&logic, log_utf16, UINT64_MAX, bytes.at);
    logic_costs_are(&logic, "base 1 read_memory_base 7 read_memory_byte 14 utf16_decoding_base 1 "
                            "utf16_decoding_byte 12 log_base 1 log_byte 7");
    logs_are(&logic, "$ qò$`\n");
    logic_close(&logic);
}

static void test_valid_log_utf16_max_log_len_not_even(void **state)
{
    struct logic logic;
    struct logic_slice bytes;

    (void)state;
    logs_open(&logic, 5, 0);
    bytes = append_utf16(&logic, "ab");
    (void)logic_write(&logic, "\0", 2);
    LOGIC_WORKS(&logic, log_utf16, UINT64_MAX, bytes.at);
    logic_costs_are(&logic, "base 1 read_memory_base 3 read_memory_byte 6 utf16_decoding_base 1 "
                            "utf16_decoding_byte 4 log_base 1 log_byte 2");
    bytes = append_utf16(&logic, "abc");
    (void)logic_write(&logic, "\0", 2);
    LOGIC_FAILS(&logic, "The length of a log message 6 exceeds the limit 5", log_utf16, UINT64_MAX,
                bytes.at);
    logic_costs_are(&logic, "base 1 read_memory_base 2 read_memory_byte 4 utf16_decoding_base 1");
    logic_close(&logic);
}

/* test_invalid_log_utf16, test_valid_log_utf16_null_terminated_fail: an unpaired surrogate */
static void surrogates_come_in_pairs(void **state)
{
    static const uint8_t unpaired[] = {0x34, 0xd8, 0x1e, 0xdd, 0x6d, 0x00, 0x75,
                                       0x00, 0x00, 0xd8, 0x69, 0x00, 0x63, 0x00};
    struct logic logic;
    struct logic_slice bytes;

    (void)state;
    logs_open(&logic, 0, 0);
    bytes = logic_write(&logic, unpaired, sizeof unpaired);
    LOGIC_FAILS(&logic, BAD_UTF16, log_utf16, bytes.length, bytes.at);
    logic_costs_are(&logic, "base 1 read_memory_base 1 read_memory_byte 14 utf16_decoding_base 1 "
                            "utf16_decoding_byte 14");
    bytes = append_utf16(&logic, dollars);
    (void)logic_write(&logic, "\0\xd8", 2);
    (void)append_utf16(&logic, "foobarbaz");
    (void)logic_write(&logic, "\0", 2);
    LOGIC_FAILS(&logic, BAD_UTF16, log_utf16, UINT64_MAX, bytes.at);
    logic_costs_are(&logic, "base 1 read_memory_base 17 read_memory_byte 34 utf16_decoding_base 1 "
                            "utf16_decoding_byte 32");
    logs_are(&logic, "");
    /* The pair by itself is a character. */
    LOGIC_WORKS(&logic, log_utf16, 4, 0);
    logs_are(&logic, "\xf0\x9d\x84\x9e\n");
    logic_close(&logic);
}

/* utf16_mem_violation: test_good_read, test_read_past_end, test_nul_past_end */
static void utf16_at_the_end_of_the_memory(void **state)
{
    enum { LENGTH = 32 };
    const uint64_t at = WASM_PAGE - LENGTH;
    struct logic logic;

    (void)state;
    logs_open(&logic, 0, 0);
    logic.written = at;
    (void)append_utf16(&logic, dollars);
    (void)logic_write(&logic, "\0\xd8", 2);
    (void)append_utf16(&logic, "foobarbaz");
    assert_int_equal(logic.written, WASM_PAGE);
    LOGIC_FAILS(&logic, BAD_UTF16, log_utf16, LENGTH, at);
    logic_costs_are(&logic, "base 1 read_memory_base 1 read_memory_byte 32 utf16_decoding_base 1 "
                            "utf16_decoding_byte 32");
    LOGIC_FAILS(&logic, BOUNDS, log_utf16, LENGTH + 2, at);
    logic_costs_are(&logic, "base 1 read_memory_base 1 read_memory_byte 34 utf16_decoding_base 1");
    LOGIC_FAILS(&logic, BOUNDS, log_utf16, UINT64_MAX, at);
    logic_costs_are(&logic, "base 1 read_memory_base 17 read_memory_byte 34 utf16_decoding_base 1");
    logic_close(&logic);
}

/* ---- what ends a call; not of nearcore's tests ---- */

static void panics_say_why(void **state)
{
    struct logic logic;
    struct logic_slice text;

    (void)state;
    logs_open(&logic, 0, 0);
    text = logic_text(&logic, "no money");
    LOGIC_FAILS(&logic, "Smart contract panicked: explicit guest panic", panic, 0);
    logic_costs_are(&logic, "base 1");
    LOGIC_FAILS(&logic, "Smart contract panicked: no money", panic_utf8, text.length, text.at);
    logic_costs_are(&logic, "base 1 read_memory_base 1 read_memory_byte 8 utf8_decoding_base 1 "
                            "utf8_decoding_byte 8");
    logic_close(&logic);
}

/* AssemblyScript's: texts in UTF-16 with their length in front, which is logged as well. */
static void abort_of_assemblyscript(void **state)
{
    static const char log[] = "ABORT: no money, filename: \"ft.ts\" line: 7 col: 3\n";
    uint64_t message, file;
    struct logic logic;

    (void)state;
    logs_open(&logic, 0, 0);
    (void)logic_write(&logic, "\x10\0\0\0", 4);
    message = append_utf16(&logic, "no money").at;
    (void)logic_write(&logic, "\x0a\0\0\0", 4);
    file = append_utf16(&logic, "ft.ts").at;
    LOGIC_FAILS(&logic, "Smart contract panicked: no money, filename: \"ft.ts\" line: 7 col: 3",
                abort, message, file, 7, 3);
    logs_are(&logic, log);
    /* 42 bytes: the log without "ABORT: " and the line's end. */
    assert_int_equal(sizeof log - 1 - 8, 42);
    logic_costs_are(&logic, "base 1 read_memory_base 4 read_memory_byte 34 utf16_decoding_base 2 "
                            "utf16_decoding_byte 26 log_base 1 log_byte 42");
    LOGIC_FAILS(&logic, BAD_UTF16, abort, 3, file, 7, 3);
    logic_costs_are(&logic, "base 1");
    logic_close(&logic);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid_utf8),
        cmocka_unit_test(test_invalid_utf8),
        cmocka_unit_test(test_valid_null_terminated_utf8),
        cmocka_unit_test(test_log_max_limit),
        cmocka_unit_test(test_log_total_length_limit),
        cmocka_unit_test(test_log_number_limit),
        cmocka_unit_test(terminated_texts_are_limited),
        cmocka_unit_test(utf8_at_the_end_of_the_memory),
        cmocka_unit_test(test_valid_log_utf16),
        cmocka_unit_test(test_log_utf16_number_limit),
        cmocka_unit_test(test_log_total_length_limit_mixed),
        cmocka_unit_test(test_valid_log_utf16_null_terminated),
        cmocka_unit_test(test_valid_log_utf16_max_log_len_not_even),
        cmocka_unit_test(surrogates_come_in_pairs),
        cmocka_unit_test(utf16_at_the_end_of_the_memory),
        cmocka_unit_test(panics_say_why),
        cmocka_unit_test(abort_of_assemblyscript),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
