/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "proto/meter.h"

/* A record up to its timestamps, as xsnap-worker 0.15.0 writes it. */
#define HEAD  "{\"currentHeapCount\":48155,\"compute\":4321,\"allocate\":8650756,"
#define TIMES "\"timestamps\":[1763688000.000001,1763688000.999999]"

static int decode(struct meter *meter, const char *json, struct error *error)
{
    return meter_decode(meter, json, strlen(json), error);
}

static void a_record_of_xsnaps_is_read(void **state)
{
    struct meter meter;
    struct error error;

    (void)state;
    assert_int_equal(decode(&meter, HEAD TIMES "}", &error), 0);
    assert_int_equal(meter.heap_count, 48155);
    assert_int_equal(meter.compute, 4321);
    assert_int_equal(meter.allocate, 8650756);
    assert_int_equal(meter.stamp_count, 2);
    assert_int_equal(meter.stamps[0].real, 1763688000000001);
    assert_int_equal(meter.stamps[1].real, 1763688000999999);
    assert_int_equal(meter.stamps[1].mono, 0);
    assert_false(meter.counted);
    assert_false(meter.cpu_known);
    meter_free(&meter);
}

static void encoded_values_read_back(void **state)
{
    struct stamp stamps[] = {{1763688000000001, 77}, {1763688000000300, 300077}};
    const struct meter meter = {
        .heap_count = 1,
        .compute = 2,
        .allocate = 3,
        .stamps = stamps,
        .stamp_count = 2,
        .counted = true,
        .instructions = INT64_MAX,
        .bytes_read = 4,
        .bytes_written = 5,
        .cpu_known = true,
        .cpu = {.user = 6, .system = 7, .waits = 8, .preempt = 9, .faults = 10},
    };
    struct meter again;
    struct error error;
    struct buf json = {0};

    (void)state;
    meter_encode(&json, &meter);
    assert_int_equal(meter_decode(&again, json.data, json.length, &error), 0);
    assert_int_equal(again.stamp_count, 2);
    assert_memory_equal(again.stamps, stamps, sizeof stamps);
    assert_true(again.counted && again.cpu_known);
    assert_int_equal(again.instructions, INT64_MAX);
    assert_int_equal(again.bytes_read, 4);
    assert_int_equal(again.bytes_written, 5);
    assert_memory_equal(&again.cpu, &meter.cpu, sizeof meter.cpu);
    meter_free(&again);
    buf_free(&json);
}

/* Later workers say more; programs write blanks and other orders. */
static void unknown_members_are_skipped(void **state)
{
    static const char json[] =
        " { \"gc\" : {\"count\":[1,{\"a\":\"]}\\\"\"}],\"time\":-2.5e3} , \"new\":null,\n"
        "\"timestamps\" : [ 1.5 , 2 ], \"compute\":7,\"\\u0061\":\"\",\"allocate\":0,"
        "\"currentHeapCount\": 9223372036854775807 } ";
    struct meter meter;
    struct error error;

    (void)state;
    assert_int_equal(decode(&meter, json, &error), 0);
    assert_int_equal(meter.heap_count, INT64_MAX);
    assert_int_equal(meter.compute, 7);
    assert_int_equal(meter.stamp_count, 2);
    assert_int_equal(meter.stamps[0].real, 1500000);
    assert_int_equal(meter.stamps[1].real, 2000000);
    meter_free(&meter);
}

static void result_is_split_after_its_meter(void **state)
{
    char frame[] = HEAD TIMES "}\1bytes\1of it";
    struct iovec result;
    struct meter meter;
    struct error error;

    (void)state;
    assert_int_equal(meter_split((struct iovec){frame, sizeof frame - 1}, &meter, &result, &error),
                     0);
    assert_int_equal(meter.compute, 4321);
    assert_int_equal(result.iov_len, strlen("bytes\1of it"));
    assert_memory_equal(result.iov_base, "bytes\1of it", result.iov_len);
    meter_free(&meter);
    assert_int_equal(meter_split((struct iovec){frame, 20}, &meter, &result, &error), -1);
    assert_non_null(strstr(error.text, "no meter record"));
}

/* The order is the format: readers of xsnap's records find theirs first. */
static void the_text_has_xsnaps_fields_first(void **state)
{
    struct stamp stamps[] = {{1000001, 2}};
    const struct meter meter = {.compute = 5, .stamps = stamps, .stamp_count = 1};
    struct buf json = {0};

    (void)state;
    meter_encode(&json, &meter);
    assert_string_equal(buf_string(&json), "{\"currentHeapCount\":0,\"compute\":5,\"allocate\":0,"
                                           "\"timestamps\":[1.000001],\"monotimes\":[2]}");
    buf_clear(&json);
    stamps[0].mono = 0;
    meter_encode(&json, &meter);
    assert_string_equal(buf_string(&json), "{\"currentHeapCount\":0,\"compute\":5,\"allocate\":0,"
                                           "\"timestamps\":[1.000001]}");
    buf_free(&json);
}

static void ten_thousand_stamps_come_through(void **state)
{
    enum { STAMPS = 10002 };
    static struct stamp stamps[STAMPS];
    const struct meter meter = {.stamps = stamps, .stamp_count = STAMPS};
    struct meter again;
    struct error error;
    struct buf json = {0};

    (void)state;
    for (int i = 0; i < STAMPS; i++)
        stamps[i] = (struct stamp){.real = 1763688000000000 + i, .mono = i};
    meter_encode(&json, &meter);
    assert_int_equal(meter_decode(&again, json.data, json.length, &error), 0);
    assert_int_equal(again.stamp_count, STAMPS);
    assert_memory_equal(again.stamps, stamps, sizeof stamps);
    meter_free(&again);
    buf_free(&json);
}

static void rejects_invalid_records_naming_the_field(void **state)
{
    static const struct {
        const char *json, *words;
    } cases[] = {
        {"", "meter record"},
        {"[]", "not a JSON object"},
        {"{\"compute\":1", "meter record"},
        {HEAD TIMES "} trailing", "meter record"},
        {HEAD "\"compute\":1," TIMES "}", "meter record"},
        {"{\"compute\":1,\"allocate\":1," TIMES "}", "currentHeapCount"},
        {"{\"currentHeapCount\":1,\"compute\":-1,\"allocate\":1," TIMES "}", "compute"},
        {"{\"currentHeapCount\":1,\"compute\":1.5,\"allocate\":1," TIMES "}", "compute"},
        {"{\"currentHeapCount\":1,\"compute\":1,\"allocate\":\"1\"," TIMES "}", "allocate"},
        {HEAD "\"timestamps\":null}", "timestamps"},
        {HEAD "\"timestamps\":[1,null]}", "timestamps"},
        {HEAD "\"timestamps\":[-1]}", "timestamps"},
        {HEAD "\"timestamps\":[1e300]}", "timestamps"},
        {HEAD "\"timestamps\":[9000000001]}", "timestamps"}, /* no int64_t in nanoseconds */
        {HEAD TIMES ",\"monotimes\":[1]}", "monotimes"},
        {HEAD TIMES ",\"monotimes\":[1,2,3]}", "monotimes"},
        {HEAD TIMES ",\"monotimes\":[1,-2]}", "monotimes"},
        {HEAD TIMES ",\"monotimes\":[1,2.5]}", "monotimes"},
        {HEAD TIMES ",\"instructions\":-5,\"bytesRead\":0,\"bytesWritten\":0}", "instructions"},
        {HEAD TIMES ",\"instructions\":5}", "bytesRead"},
        {HEAD TIMES ",\"cpu\":{\"user\":1}}", "cpu"},
        {HEAD TIMES ",\"cpu\":7}", "cpu"},
        {HEAD TIMES ",\"cpu\":{\"user\":4611686018427388,\"sys\":2,\"nvcsw\":3,\"nivcsw\":4,"
                    "\"majflt\":5}}",
         "cpu"},
        {HEAD "\"timestamps\":[],\"monotimes\":[1]}", "monotimes"},
        {HEAD "\"timestamps\":[1,2}", "timestamps"},
        {HEAD "\"timestamps\":[1.]}", "timestamps"},
        {HEAD "\"timestamps\":[01]}", "timestamps"},
        {HEAD "\"timestamps\":[1,]}", "timestamps"},
        {HEAD TIMES ",\"new\":}", "not JSON"},
        {HEAD TIMES ",\"new\":]}", "not JSON"},
        {HEAD TIMES ",\"new\":\"}", "not JSON"},
        {HEAD TIMES ",\"new\":[[1]}", "not JSON"},
        {HEAD TIMES ",\"new\":[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]}", "not JSON"},
        {HEAD TIMES ",}", "not JSON"},
        {HEAD TIMES "}}", "not JSON"},
        {"{\"compute\":18446744073709551616}", "compute"},
        {"{\"compute\":9223372036854775808}", "compute"},
        {"{\"compute\":1e3}", "compute"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct meter meter;
        struct error error = {0};

        assert_int_equal(decode(&meter, cases[i].json, &error), -1);
        assert_int_equal(error.kind, ERROR_INPUT);
        assert_non_null(strstr(error.text, cases[i].words));
    }
}

/* It is printed as it came, so nothing else may stand in it. */
static void gas_is_read_with_its_parts(void **state)
{
    static const char good[] =
        HEAD TIMES ",\"gasBurnt\":7,\"gasRefunded\":5,\"gasProfile\":{\"base\":3}}";
    static const char *const bad[] = {
        "7", "[]", "{\"base\":-1}", "{\"base\":{}}", "{\"ba\\nse\":1}", "{\"base\":1\n}"};
    struct meter meter, copy;
    struct buf text = {0};
    struct error error = {0};

    (void)state;
    assert_int_equal(decode(&meter, good, &error), 0);
    assert_true(meter.gas_known);
    assert_int_equal(meter.gas_burnt, 7);
    assert_true(meter.refund_known);
    assert_int_equal(meter.gas_refunded, 5);
    assert_int_equal(meter_copy(&copy, &meter), 0);
    meter_free(&meter);
    meter_encode(&text, &copy);
    assert_non_null(
        strstr(buf_string(&text), ",\"gasBurnt\":7,\"gasRefunded\":5,\"gasProfile\":{\"base\":3}"));
    meter_free(&copy);
    buf_free(&text);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        buf_printf(&text, HEAD TIMES ",\"gasBurnt\":7,\"gasProfile\":%s}", bad[i]);
        assert_int_equal(decode(&meter, buf_string(&text), &error), -1);
        buf_free(&text);
    }
}

/* Text that a slogfile may hold unchanged: no line breaks, only known members. */
static void the_text_is_handed_on_only_if_all_of_it_is_known(void **state)
{
    static const struct {
        const char *json;
        bool handed_on;
    } cases[] = {
        {HEAD TIMES "}", true},
        {HEAD TIMES ",\"cpu\":{\"user\":1,\"sys\":2,\"nvcsw\":3,\"nivcsw\":4,\"majflt\":5}}", true},
        {HEAD TIMES ",\"blockCost\":7}", true},
        {HEAD TIMES ",\"gasBurnt\":7,\"gasProfile\":{\"base\":3,\"wasm_instruction\":4}}", true},
        {HEAD TIMES ",\"new\":1}", false},
        {HEAD TIMES ",\"profile\":{}}", false},
        {HEAD TIMES "\n}", false},
        {HEAD TIMES ",\"blockCost\": 7}", false},
        {HEAD TIMES
         ",\"cpu\":{\"user\":1,\"sys\":2,\"nvcsw\":3,\"nivcsw\":4,\"majflt\":5,\"x\":\"\x1b\"}}",
         false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct meter meter, copy;
        struct error error = {0};

        assert_int_equal(decode(&meter, cases[i].json, &error), 0);
        assert_int_equal(meter_copy(&copy, &meter), 0);
        assert_int_equal(copy.text.iov_len, cases[i].handed_on ? strlen(cases[i].json) : 0);
        if (cases[i].handed_on)
            assert_memory_equal(copy.text.iov_base, cases[i].json, copy.text.iov_len);
        meter_free(&copy);
        meter_free(&meter);
    }
}

static void a_delivery_is_long_by_its_cpu_time_or_else_its_stamps(void **state)
{
    struct stamp stamps[] = {{.real = 1000000}, {.real = 1001999}};
    struct meter meter = {.cpu_known = true, .cpu = {.user = 1500, .system = 499}};

    (void)state;
    assert_false(meter_is_long(&meter));
    meter.cpu.system = 500;
    assert_true(meter_is_long(&meter));
    meter.cpu_known = false;
    assert_false(meter_is_long(&meter));
    meter.stamps = stamps;
    meter.stamp_count = 1;
    assert_false(meter_is_long(&meter));
    meter.stamp_count = 2;
    assert_false(meter_is_long(&meter));
    stamps[1].real++;
    assert_true(meter_is_long(&meter));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_of_xsnaps_is_read),
        cmocka_unit_test(encoded_values_read_back),
        cmocka_unit_test(unknown_members_are_skipped),
        cmocka_unit_test(gas_is_read_with_its_parts),
        cmocka_unit_test(the_text_is_handed_on_only_if_all_of_it_is_known),
        cmocka_unit_test(result_is_split_after_its_meter),
        cmocka_unit_test(the_text_has_xsnaps_fields_first),
        cmocka_unit_test(ten_thousand_stamps_come_through),
        cmocka_unit_test(rejects_invalid_records_naming_the_field),
        cmocka_unit_test(a_delivery_is_long_by_its_cpu_time_or_else_its_stamps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
