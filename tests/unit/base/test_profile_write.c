/* SPDX-License-Identifier: Apache-2.0 */
/* One tree, and the same writers whatever its unit: base/profile/. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/profile/profile_write.h"

#define HEAD                                                                                       \
    "\"vatID\":\"v1\",\"vat\":\"bank\",\"method\":\"pay\",\"crankNum\":null,\"deliveryNum\":3"

static const struct profile_delivery delivery = {"v1", "bank", "pay", PROFILE_NO_CRANK, 3};

static void add_function(struct profile *profile, const char *module, const char *name)
{
    struct profile_function *const function = profile_add_function(profile);

    assert_non_null(function);
    function->module = module;
    function->name = profile_texts_copy_name(&profile->texts, name);
    function->file = "f.c";
    function->line = 7;
}

static void add_node(struct profile *profile, size_t caller, size_t function, int64_t calls,
                     int64_t self)
{
    const size_t node = profile_child(profile, caller, function);

    assert_int_not_equal(node, 0);
    profile->nodes[node].calls += calls;
    profile->nodes[node].self.of[0] += self;
}

/* z calls a twice, which calls z once more. */
static void make(struct profile *profile, enum profile_unit unit, const char *module)
{
    struct error error;

    assert_true(profile_init(profile, unit));
    add_function(profile, module, "z;z");
    add_function(profile, module, "a");
    add_node(profile, 0, 0, 1, 10);
    add_node(profile, 1, 1, 1, 2);
    add_node(profile, 1, 1, 1, 3);
    add_node(profile, 2, 0, 1, 100);
    assert_int_equal(profile->node_count, 4);
    assert_int_equal(profile_sum(profile, &error), 0);
}

static void assert_lines(const struct profile *profile, const char *expected)
{
    struct buf out = {0};
    struct error error;

    assert_int_equal(profile_put_lines(&out, profile, &delivery, &error), 0);
    assert_string_equal(buf_string(&out), expected);
    buf_free(&out);
}

static void lines_have_the_members_of_their_unit(void **state)
{
    static const struct profile_span spans[] = {{1, 0, 115}, {2, 4, 105}};
    struct profile profile;

    (void)state;
    make(&profile, PROFILE_BLOCK_COST, "m.so");
    assert_lines(&profile,
                 "{\"kind\":\"function\"," HEAD ",\"function\":\"a\",\"module\":\"m.so\","
                 "\"file\":\"f.c\",\"line\":7,\"calls\":2,\"self\":null,\"total\":null,"
                 "\"selfInstructions\":null,\"totalInstructions\":null,"
                 "\"selfBlockCost\":5,\"totalBlockCost\":105}\n"
                 "{\"kind\":\"function\"," HEAD ",\"function\":\"z_z\",\"module\":\"m.so\","
                 "\"file\":\"f.c\",\"line\":7,\"calls\":2,\"self\":null,\"total\":null,"
                 "\"selfInstructions\":null,\"totalInstructions\":null,"
                 "\"selfBlockCost\":110,\"totalBlockCost\":115}\n"
                 "{\"kind\":\"tree\"," HEAD ",\"functions\":[[\"z_z\",\"m.so\",null],"
                 "[\"a\",\"m.so\",null]],\"nodes\":[[null,0,1,null,null,null,10],"
                 "[0,1,2,null,null,null,5],[1,0,1,null,null,null,100]]}\n");
    profile_close(&profile);
    make(&profile, PROFILE_NANOSECONDS, "m.so");
    profile.function_count = 0;
    profile.spans = spans;
    profile.span_count = 2;
    profile.spans_left_out = 8;
    assert_lines(&profile, "{\"kind\":\"tree\"," HEAD ",\"functions\":[],"
                           "\"nodes\":[[null,0,1,null,null,10],[0,1,2,null,null,5],"
                           "[1,0,1,null,null,100]],\"spans\":[[0,0,115],[1,4,105]],"
                           "\"spansLeftOut\":8}\n");
    profile_close(&profile);
}

static void javascript_has_two_units_and_an_engine(void **state)
{
    struct profile profile;
    struct profile_line *line;
    struct buf out = {0};
    struct error error;

    (void)state;
    make(&profile, PROFILE_COMPUTRONS, NULL);
    profile.has_root = true;
    line = profile_add_line(&profile);
    line->function = PROFILE_NO_FUNCTION;
    line->line = 9;
    line->self.of[0] = 4;
    assert_lines(&profile,
                 "{\"kind\":\"function\"," HEAD ",\"function\":\"a\",\"file\":\"f.c\",\"line\":7,"
                 "\"calls\":2,\"self\":5,\"total\":105,"
                 "\"selfInstructions\":null,\"totalInstructions\":null}\n"
                 "{\"kind\":\"function\"," HEAD ",\"function\":\"z_z\",\"file\":\"f.c\",\"line\":7,"
                 "\"calls\":2,\"self\":110,\"total\":115,"
                 "\"selfInstructions\":null,\"totalInstructions\":null}\n"
                 "{\"kind\":\"line\"," HEAD
                 ",\"file\":null,\"line\":null,\"self\":4,\"selfInstructions\":null}\n"
                 "{\"kind\":\"tree\"," HEAD
                 ",\"functions\":[[\"z_z\",\"f.c\",7],[\"a\",\"f.c\",7]],"
                 "\"nodes\":[[null,0,1,10,null],[0,1,2,5,null],[1,0,1,100,null]]}\n");
    assert_int_equal(profile_put_folded(&out, &profile, &delivery, PROFILE_FRAME_SOURCE, &error),
                     0);
    assert_string_equal(buf_string(&out), "bank;pay;a (f.c:7);z_z (f.c:7) 100\n"
                                          "bank;pay 10\n"
                                          "bank;pay;a (f.c:7) 5\n");
    buf_free(&out);
    profile_close(&profile);
}

static void callgrind_has_recursion_once(void **state)
{
    struct profile profile;
    struct buf out = {0};
    struct error error;

    (void)state;
    make(&profile, PROFILE_INSTRUCTIONS, "m");
    assert_int_equal(profile_put_callgrind(&out, &profile, NULL, &error), 0);
    assert_string_equal(buf_string(&out),
                        "# callgrind format\nversion: 1\ncreator: gaspipe " GASPIPE_VERSION
                        "\npositions: line\nevents: instructions\nsummary: 115\n"
                        "\nob=m\nfl=f.c\nfn=z_z\n7 110\n"
                        "cob=m\ncfi=f.c\ncfn=a\ncalls=2 7\n7 105\n"
                        "\nob=m\nfl=f.c\nfn=a\n7 5\n"
                        "cob=m\ncfi=f.c\ncfn=z_z\ncalls=1 7\n7 0\n");
    buf_free(&out);
    profile_close(&profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_have_the_members_of_their_unit),
        cmocka_unit_test(javascript_has_two_units_and_an_engine),
        cmocka_unit_test(callgrind_has_recursion_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
