/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's profile is checked and added up: supervisor/profile/profile_files.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/profile/profile_files.h"

#define FUNCTIONS                                                                                  \
    "\"functions\":[[\"(engine)\",null,0],[\"outer\",\"f.js\",3],[\"inner\",\"f.js\",9]]"
#define LINES "\"lines\":[[null,0,0,0],[\"f.js\",4,12,120]]"

static int read_tree(struct profile *tree, const char *json, int64_t instructions,
                     struct error *error)
{
    return script_profile_read(tree, (struct iovec){(char *)json, strlen(json)}, instructions,
                               error);
}

static void totals_have_what_was_called(void **state)
{
    struct profile tree;
    struct error error;

    (void)state;
    /* outer, inner below it twice, and outer again below the inner one. */
    assert_int_equal(read_tree(&tree,
                               "{" FUNCTIONS ",\"nodes\":[[0,0,0,1,10],[0,1,1,2,20],[1,2,2,4,40],"
                               "[2,1,3,8,80]]," LINES "}",
                               155, &error),
                     0);
    assert_int_equal(tree.function_count, 3);
    /* 5 instructions were outside of all nodes. */
    assert_int_equal(tree.functions[0].self.of[1], 15);
    assert_int_equal(tree.functions[0].total.of[0], 15);
    assert_int_equal(tree.functions[1].calls, 4);
    assert_int_equal(tree.functions[1].self.of[0], 10);
    /* The recursive call is in it once. */
    assert_int_equal(tree.functions[1].total.of[0], 14);
    assert_int_equal(tree.functions[2].total.of[0], 12);
    assert_int_equal(tree.functions[2].total.of[1], 120);
    assert_string_equal(tree.lines[1].file, "f.js");
    profile_close(&tree);
}

static void rejects_invalid_profiles(void **state)
{
    static const char *const refused[] = {
        "",
        "null",
        "[]",
        "{\"functions\":[],\"nodes\":[],\"lines\":[]}",
        "{" FUNCTIONS ",\"nodes\":[]," LINES "}",
        /* a caller that comes later, or is missing */
        "{" FUNCTIONS ",\"nodes\":[[0,0,0,0,0],[1,1,1,0,0]]," LINES "}",
        "{" FUNCTIONS ",\"nodes\":[[0,0,0,0,0],[-1,1,1,0,0]]," LINES "}",
        /* an unknown function */
        "{" FUNCTIONS ",\"nodes\":[[0,0,0,0,0],[0,3,1,0,0]]," LINES "}",
        /* a member that is missing, or not a number */
        "{" FUNCTIONS ",\"nodes\":[[0,0,0,0]]," LINES "}",
        "{" FUNCTIONS ",\"nodes\":[[0,0,0,0,\"1\"]]," LINES "}",
        "{" FUNCTIONS ",\"nodes\":[[0,0,0,0,-1]]," LINES "}",
        "{\"functions\":[[null,null,0]],\"nodes\":[[0,0,0,0,0]]," LINES "}",
        "{" FUNCTIONS ",\"nodes\":[[0,0,0,0,0]],\"lines\":[[]]}",
    };
    struct profile tree;
    struct error error;

    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_int_equal(read_tree(&tree, refused[i], -1, &error), -1);
        assert_int_equal(error.kind, ERROR_INPUT);
        profile_close(&tree);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(totals_have_what_was_called),
        cmocka_unit_test(rejects_invalid_profiles),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
