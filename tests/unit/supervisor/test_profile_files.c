/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/io.h"
#include "supervisor/profile/profile_files.h"

static struct error error;

/* The lines of a crank, of whatever kind, which stay or are undone. */
static void gather(struct profile_files *files, const char *line, bool stays)
{
    for (size_t i = 0; i < files->count; i++)
        buf_append_string(&files->files[i].gathered, line);
    if (stays)
        profile_files_keep(files);
    else
        profile_files_undo(files);
}

static void lines_of_a_crank_that_is_undone_are_not_written(void **state)
{
    char name[] = "/tmp/gaspipe-profile.XXXXXX";
    const int fd = mkstemp(name);
    struct profile_files files = {0};
    struct buf written = {0};

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(profile_files_open(&files, (struct profile_paths){.json = name}, &error), 0);
    gather(&files, "lost\n", false);
    gather(&files, "first\n", true);
    gather(&files, "lost\n", false);
    assert_int_equal(profile_files_flush(&files, &error), 0);
    gather(&files, "lost\n", false);
    gather(&files, "second\n", true);
    assert_int_equal(profile_files_close(&files, &error), 0);
    assert_int_equal(io_read_file(name, 4096, &written, &error), 0);
    assert_string_equal(buf_string(&written), "first\nsecond\n");
    buf_free(&written);
    close(fd);
    unlink(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_a_crank_that_is_undone_are_not_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
