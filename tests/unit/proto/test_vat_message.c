/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/vat_message.h"

static void assert_text(struct vat_text text, const char *expected, size_t length)
{
    assert_int_equal(text.length, length);
    assert_memory_equal(text.bytes, expected, length);
}

static int parse(struct vat_request *request, const char *json, struct error *error)
{
    return vat_request_parse(request, json, strlen(json), error);
}

static void each_syscall_is_read(void **state)
{
    static const struct {
        const char *json, *name;
        enum vat_syscall_kind kind;
    } cases[] = {
        {"[\"syscall\",[\"vatstoreGet\",\"k\"]]", "vatstoreGet", VAT_SYSCALL_STORE_GET},
        {"[\"syscall\",[\"vatstoreSet\",\"k\",\"v\"]]", "vatstoreSet", VAT_SYSCALL_STORE_SET},
        {"[\"syscall\",[\"vatstoreDelete\",\"k\"]]", "vatstoreDelete", VAT_SYSCALL_STORE_DELETE},
        {"[\"syscall\",[\"vatstoreGetNextKey\",\"\"]]", "vatstoreGetNextKey",
         VAT_SYSCALL_STORE_NEXT_KEY},
        {"[\"syscall\",[\"resolve\",[[\"p-60\",false,{\"body\":\"#1\",\"slots\":[\"o+1\"]}]]]]",
         "resolve", VAT_SYSCALL_RESOLVE},
        {"[\"syscall\",[\"send\",\"o-50\",{\"methargs\":{\"body\":\"\",\"slots\":[]},"
         "\"result\":\"p+5\"}]]",
         "send", VAT_SYSCALL_SEND},
        {"[\"syscall\",[\"send\",\"p-60\",{\"methargs\":{\"body\":\"\",\"slots\":[]}}]]", "send",
         VAT_SYSCALL_SEND},
        {"[\"syscall\",[\"subscribe\",\"p-60\"]]", "subscribe", VAT_SYSCALL_SUBSCRIBE},
        {"[\"syscall\",[\"callNow\",\"d-70\",\"add\",{\"body\":\"#[1,2]\",\"slots\":[]}]]",
         "callNow", VAT_SYSCALL_CALL_NOW},
        {"[\"syscall\",[\"exit\",true,{\"body\":\"#1\",\"slots\":[]}]]", "exit", VAT_SYSCALL_EXIT},
        {"[\"syscall\",[\"dropImports\",[\"o-50\"]]]", "dropImports", VAT_SYSCALL_DROP_IMPORTS},
        {"[\"syscall\",[\"retireImports\",[]]]", "retireImports", VAT_SYSCALL_RETIRE_IMPORTS},
        {"[\"syscall\",[\"retireExports\",[\"o+1\",\"o+2\"]]]", "retireExports",
         VAT_SYSCALL_RETIRE_EXPORTS},
        {"[\"syscall\",[\"abandonExports\",[\"o+1\"]]]", "abandonExports",
         VAT_SYSCALL_ABANDON_EXPORTS},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vat_request request;
        struct error error;

        assert_int_equal(parse(&request, cases[i].json, &error), 0);
        assert_int_equal(request.kind, VAT_REQUEST_SYSCALL);
        assert_int_equal(request.syscall.kind, cases[i].kind);
        assert_string_equal(request.syscall.name, cases[i].name);
        vat_request_free(&request);
    }
}

static void keys_and_values_are_bytes_also_zero(void **state)
{
    struct vat_request request;
    struct error error;

    (void)state;
    assert_int_equal(
        parse(&request, "[\"syscall\",[\"vatstoreSet\",\"a\\u0000b\",\"\\u00e9\"]]", &error), 0);
    assert_text(request.syscall.key, "a\0b", 3);
    assert_text(request.syscall.value, "\xc3\xa9", 2);
    vat_request_free(&request);
}

/* Neither is read as the other way would not read it. */
static void plain_syscalls_of_the_store_are_read_where_they_stand(void **state)
{
    static const char plain[] = "[\"syscall\",[\"vatstoreSet\",\"a~ b\",\"#{}\"]]";
    static const char *const others[] = {
        "[\"syscall\",[\"vatstoreSet\",\"a\",\"\\\"\"]]",  "[\"syscall\", [\"vatstoreGet\",\"a\"]]",
        "[\"syscall\",[\"vatstoreGet\",\"\xc3\xa9\"]]",    "[\"syscall\",[\"vatstoreGet\",\"a\"]] ",
        "[\"syscall\",[\"vatstoreDelete\",\"a\\u0041\"]]",
    };
    struct vat_request request;
    struct error error;

    (void)state;
    assert_int_equal(parse(&request, plain, &error), 0);
    assert_int_equal(request.syscall.kind, VAT_SYSCALL_STORE_SET);
    assert_text(request.syscall.text, "[\"vatstoreSet\",\"a~ b\",\"#{}\"]", 28);
    assert_text(request.syscall.key, "a~ b", 4);
    assert_text(request.syscall.value, "#{}", 3);
    assert_true(request.syscall.text.bytes > plain &&
                request.syscall.text.bytes < plain + sizeof plain);
    vat_request_free(&request);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_int_equal(parse(&request, others[i], &error), 0);
        assert_null(request.syscall.text.bytes);
        assert_non_null(request.syscall.object);
        vat_request_free(&request);
    }
}

static void a_kept_request_needs_nothing_of_what_was_parsed(void **state)
{
    static const char *const cases[] = {
        "[\"syscall\",[\"vatstoreSet\",\"key\",\"value\"]]",
        "[\"syscall\",[\"vatstoreSet\",\"key\",\"\\u0076alue\"]]",
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vat_request request, kept, again;
        char *json = strdup(cases[i]);
        struct error error;

        assert_non_null(json);
        assert_int_equal(parse(&request, json, &error), 0);
        assert_int_equal(vat_request_keep(&kept, &request), 0);
        assert_int_equal(vat_request_keep(&again, &kept), 0);
        assert_true(vat_request_same(&request, &again));
        assert_true(vat_request_size(&again) > strlen("keyvalue"));
        vat_request_free(&request);
        memset(json, 'x', strlen(json));
        free(json);
        vat_request_free(&kept);
        assert_text(again.syscall.key, "key", 3);
        assert_text(again.syscall.value, "value", 5);
        assert_int_equal(
            parse(&request, "[\"syscall\",[\"vatstoreSet\",\"key\",\"valuf\"]]", &error), 0);
        assert_false(vat_request_same(&request, &again));
        vat_request_free(&request);
        vat_request_free(&again);
    }
}

static void the_parts_of_a_send_are_taken(void **state)
{
    struct vat_request request;
    struct error error;

    (void)state;
    assert_int_equal(parse(&request,
                           "[\"syscall\",[\"send\",\"o-50\",{\"methargs\":{\"body\":\"#1\","
                           "\"slots\":[\"o+3\"]},\"result\":\"p+5\"}]]",
                           &error),
                     0);
    assert_text(request.syscall.target, "o-50", 4);
    assert_text(request.syscall.result, "p+5", 3);
    assert_true(vat_message_is_capdata(request.syscall.capdata));
    vat_request_free(&request);
}

static void a_console_line_keeps_its_arguments(void **state)
{
    struct vat_request request;
    struct error error;

    (void)state;
    assert_int_equal(
        parse(&request, "[\"sourcedConsole\",\"ls\",\"log\",\"hello\",{\"a\":1}]", &error), 0);
    assert_int_equal(request.kind, VAT_REQUEST_CONSOLE);
    assert_text(request.console.source, "ls", 2);
    assert_text(request.console.level, "log", 3);
    assert_int_equal(json_array_size(request.console.arguments), 2);
    vat_request_free(&request);
}

static void rejects_invalid_requests(void **state)
{
    static const char *const cases[] = {
        "",
        "null",
        "{}",
        "[]",
        "[1]",
        "[\"syscall\"",
        "[\"syscall\"] x",
        "[\"syscall\"]",
        "[\"syscall\",null]",
        "[\"syscall\",[]]",
        "[\"syscall\",[1]]",
        "[\"syscall\",[\"vatstoreGet\"]]",
        "[\"syscall\",[\"vatstoreGet\",1]]",
        "[\"syscall\",[\"vatstoreGet\",null]]",
        "[\"syscall\",[\"vatstoreGet\",\"k\",\"surplus\"]]",
        "[\"syscall\",[\"vatstoreGet\",\"k\"],\"surplus\"]",
        "[\"syscall\",[\"vatstoreSet\",\"k\"]]",
        "[\"syscall\",[\"vatstoreSet\",\"k\",{}]]",
        "[\"syscall\",[\"vatstoreget\",\"k\"]]",
        "[\"syscall\",[\"vatstoreGet\\u0000\",\"k\"]]",
        "[\"syscall\\u0000\",[\"vatstoreGet\",\"k\"]]",
        "[\"syscall\",[\"resolve\",null]]",
        "[\"syscall\",[\"resolve\",[[\"p-1\",0,{\"body\":\"\",\"slots\":[]}]]]]",
        "[\"syscall\",[\"resolve\",[[\"p-1\",true,{\"body\":\"\"}]]]]",
        "[\"syscall\",[\"resolve\",[[\"p-1\",true,{\"body\":\"\",\"slots\":[1]}]]]]",
        "[\"syscall\",[\"resolve\",[[\"p-1\",true,{\"body\":\"\",\"slots\":[],\"x\":1}]]]]",
        "[\"syscall\",[\"exit\",true,null]]",
        "[\"syscall\",[\"exit\",0,{\"body\":\"\",\"slots\":[]}]]",
        "[\"syscall\",[\"exit\",true]]",
        "[\"syscall\",[\"send\",\"o-50\"]]",
        "[\"syscall\",[\"send\",null,{\"methargs\":{\"body\":\"\",\"slots\":[]}}]]",
        "[\"syscall\",[\"send\",\"o-50\",{\"methargs\":{\"body\":\"\"},\"result\":null}]]",
        "[\"syscall\",[\"send\",\"o-5\",{\"methargs\":{\"body\":\"\",\"slots\":[]},\"result\":7}]]",
        "[\"syscall\",[\"send\",\"o-5\",{\"methargs\":{\"body\":\"\",\"slots\":[]},\"more\":1}]]",
        "[\"syscall\",[\"send\",\"o-50\",{\"result\":null}]]",
        "[\"syscall\",[\"subscribe\"]]",
        "[\"syscall\",[\"subscribe\",7]]",
        "[\"syscall\",[\"callNow\",\"d-70\",\"add\"]]",
        "[\"syscall\",[\"callNow\",\"d-70\",null,{\"body\":\"\",\"slots\":[]}]]",
        "[\"syscall\",[\"callNow\",\"d-70\",\"add\",[]]]",
        "[\"syscall\",[\"dropImports\",\"o-50\"]]",
        "[\"syscall\",[\"dropImports\",[50]]]",
        "[\"syscall\",[\"retireImports\"]]",
        "[\"syscall\",[\"retireExports\",[null]]]",
        "[\"syscall\",[\"abandonExports\",{}]]",
        "[\"syscall\",[\"launchRockets\"]]",
        "[\"sourcedConsole\"]",
        "[\"sourcedConsole\",\"ls\"]",
        "[\"sourcedConsole\",\"ls\",7]",
        "[\"telepathy\",\"x\"]",
        "[\"syscall\",[\"vatstoreGet\",\"\xff\"]]",
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vat_request request;
        struct error error = {0};

        if (parse(&request, cases[i], &error) == 0)
            fail_msg("taken: %s", cases[i]);
        assert_int_equal(error.kind, ERROR_INPUT);
        assert_null(strchr(error.text, '\n'));
    }
}

static void each_reply_is_read(void **state)
{
    static const struct {
        const char *json, *text;
        enum vat_reply_kind kind;
    } cases[] = {
        {"[\"dispatchReady\"]", "", VAT_REPLY_READY},
        {"[\"ok\",null]", "", VAT_REPLY_OK},
        {"[\"error\",\"no such method\"]", "no such method", VAT_REPLY_ERROR},
        {"[\"err\",\"TypeError\",\"no such method\"]", "no such method", VAT_REPLY_ERROR},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vat_reply reply;
        struct error error;

        assert_int_equal(vat_reply_parse(&reply, cases[i].json, strlen(cases[i].json), &error), 0);
        assert_int_equal(reply.kind, cases[i].kind);
        assert_text(reply.text, cases[i].text, strlen(cases[i].text));
        vat_reply_free(&reply);
    }
}

static void rejects_invalid_replies(void **state)
{
    static const char *const cases[] = {
        "",           "{}",     "[]", "[\"error\"]", "[\"error\",null]", "[\"err\",\"x\"]",
        "[\"okay\"]", "[null]",
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vat_reply reply;
        struct error error = {0};

        assert_int_equal(vat_reply_parse(&reply, cases[i], strlen(cases[i]), &error), -1);
        assert_int_equal(error.kind, ERROR_INPUT);
    }
}

static void a_bundle_is_set_in_json(void **state)
{
    struct buf buf = {0};

    (void)state;
    vat_message_set_bundle(&buf, "v1", "{}", "null");
    assert_string_equal(buf_string(&buf), "[\"setBundle\",\"v1\",{},null]");
    buf_free(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_syscall_is_read),
        cmocka_unit_test(keys_and_values_are_bytes_also_zero),
        cmocka_unit_test(plain_syscalls_of_the_store_are_read_where_they_stand),
        cmocka_unit_test(a_kept_request_needs_nothing_of_what_was_parsed),
        cmocka_unit_test(the_parts_of_a_send_are_taken),
        cmocka_unit_test(a_console_line_keeps_its_arguments),
        cmocka_unit_test(rejects_invalid_requests),
        cmocka_unit_test(each_reply_is_read),
        cmocka_unit_test(rejects_invalid_replies),
        cmocka_unit_test(a_bundle_is_set_in_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
