/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/io.h"
#include "base/output/output_file.h"

/* A directory of each test's own, which is the working directory meanwhile. */
static int enter_directory(void **state)
{
    char name[] = "/tmp/gaspipe-output.XXXXXX";

    assert_non_null(mkdtemp(name));
    *state = strdup(name);
    return *state == NULL ? -1 : chdir(name);
}

static int leave_directory(void **state)
{
    static const char *const names[] = {"file", "link", "same", "other", "directory/file"};
    int result;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        (void)unlink(names[i]);
    (void)rmdir("directory");
    result = chdir("/") != 0 || rmdir(*state) != 0;
    free(*state);
    return result;
}

static void make_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

    assert_true(fd >= 0);
    assert_int_equal(io_write_all(fd, text, strlen(text)), 0);
    assert_int_equal(close(fd), 0);
}

static void assert_holds(const char *path, const char *text)
{
    struct buf content = {0};
    struct error error;

    assert_int_equal(io_read_file(path, 1000, &content, &error), 0);
    assert_int_equal(content.length, strlen(text));
    assert_memory_equal(content.data, text, content.length);
    buf_free(&content);
}

static void assert_refused(int result, const struct error *error, const char *words)
{
    assert_int_equal(result, -1);
    assert_int_equal(error->kind, ERROR_USAGE);
    assert_non_null(strstr(error->text, words));
}

static void test_input(void **state)
{
    struct error error;
    int fd;

    (void)state;
    make_file("file", "text");
    make_file("other", "text");
    assert_int_equal(symlink("file", "link"), 0);
    assert_int_equal(link("file", "same"), 0);
    assert_refused(output_file_check("file", "the trace", "file", &error), &error, "the trace");
    assert_refused(output_file_check("link", "it", "file", &error), &error, "file: ");
    assert_refused(output_file_check("file", "it", "link", &error), &error, "link: ");
    assert_refused(output_file_check("same", "it", "./link", &error), &error, "./link: ");
    assert_int_equal(output_file_check("other", "it", "file", &error), 0);
    assert_int_equal(output_file_check("none", "it", "file", &error), 0);
    assert_int_equal(output_file_check("none", "it", "none", &error), 0);
    assert_int_equal(output_file_check("/dev/null", "it", "/dev/null", &error), 0);
    fd = open("same", O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_refused(output_file_check_descriptor(fd, "it", "link", &error), &error, "link: ");
    assert_int_equal(output_file_check_descriptor(fd, "it", "other", &error), 0);
    assert_int_equal(close(fd), 0);
}

static void test_apart(void **state)
{
    struct error error;

    (void)state;
    assert_int_equal(mkdir("directory", 0777), 0);
    assert_refused(output_file_check_apart("file", "one", "directory/../file", "two", &error),
                   &error, "one and two");
    assert_int_equal(output_file_check_apart("file", "one", "directory/file", "two", &error), 0);
    assert_int_equal(output_file_check_apart("file", "one", "none/file", "two", &error), 0);
    make_file("file", "text");
    assert_int_equal(output_file_check_apart("file", "one", "directory/file", "two", &error), 0);
    assert_int_equal(symlink("../file", "directory/file"), 0);
    assert_refused(output_file_check_apart("file", "one", "directory/file", "two", &error), &error,
                   "one and two");
    assert_int_equal(output_file_check_apart("/dev/null", "one", "/dev/null", "two", &error), 0);
}

/* The old file stays until the new one is complete. */
static void test_whole(void **state)
{
    struct output_file file;
    struct error error;

    (void)state;
    make_file("file", "before");
    assert_int_equal(symlink("file", "link"), 0);
    assert_int_equal(output_file_open(&file, "link", "it", &error), 0);
    assert_int_equal(output_file_write_bytes(&file, "after", 5, &error), 0);
    assert_holds("file", "before");
    assert_int_equal(output_file_finish(&file, &error), 0);
    output_file_discard(&file);
    assert_holds("file", "after");
    assert_int_equal(output_file_open(&file, "file", "it", &error), 0);
    assert_int_equal(output_file_write_bytes(&file, "half", 4, &error), 0);
    output_file_discard(&file);
    assert_holds("link", "after");
}

static void test_growing(void **state)
{
    struct output_file file;
    struct error error;

    (void)state;
    make_file("file", "before");
    assert_int_equal(output_file_open_growing(&file, "file", "it", &error), 0);
    assert_int_equal(output_file_write_bytes(&file, "a", 1, &error), 0);
    assert_holds("file", "a");
    assert_int_equal(output_file_write_bytes(&file, "b", 1, &error), 0);
    assert_int_equal(output_file_finish(&file, &error), 0);
    output_file_discard(&file);
    assert_holds("file", "ab");
    assert_int_equal(output_file_open_growing(&file, "none/file", "it", &error), -1);
    assert_int_equal(error.kind, ERROR_SYSTEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_input, enter_directory, leave_directory),
        cmocka_unit_test_setup_teardown(test_apart, enter_directory, leave_directory),
        cmocka_unit_test_setup_teardown(test_whole, enter_directory, leave_directory),
        cmocka_unit_test_setup_teardown(test_growing, enter_directory, leave_directory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
