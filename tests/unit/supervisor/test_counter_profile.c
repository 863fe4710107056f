/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/profile/profile_write.h"
#include "supervisor/profile/counter_profile.h"
#include "supervisor/profile/elf_symbols.h"

static char directory[] = "/tmp/test_counter_profile.XXXXXX";
static char path[sizeof directory + 8];

static int make_directory(void **state)
{
    (void)state;
    if (mkdtemp(directory) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/file", directory);
    return 0;
}

static int remove_directory(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(directory);
}

static void write_file(const void *bytes, size_t length)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(io_write_all(fd, bytes, length), 0);
    close(fd);
}

static int find_base(struct dl_phdr_info *info, size_t size, void *base)
{
    (void)size;
    *(uint64_t *)base = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X) != 0)
            *(uint64_t *)base += info->dlpi_phdr[i].p_vaddr - info->dlpi_phdr[i].p_offset;
    return 1;
}

/* Returns the file offset of a function of this program. */
static uint64_t offset_of(void (*function)(void **))
{
    uint64_t base = 0;

    dl_iterate_phdr(find_base, &base);
    return (uint64_t)(uintptr_t)function - base;
}

static void test_finds_own_functions(void **state)
{
    const int own_line = __LINE__;
    struct elf_symbols *symbols = elf_symbols_open("/proc/self/exe");
    struct elf_function function;
    const char *source;
    int line = 0;

    (void)state;
    assert_non_null(symbols);
    for (uint64_t within = 0; within < 6; within++) {
        assert_true(
            elf_symbols_find(symbols, offset_of(test_finds_own_functions) + within, &function));
        assert_string_equal(function.name, "test_finds_own_functions");
    }
    source = elf_symbols_source(symbols, &function, &line);
    assert_non_null(source);
    assert_non_null(strstr(source, "test_counter_profile.c"));
    assert_in_range(line, own_line - 5, own_line);
    assert_false(elf_symbols_find(symbols, UINT64_MAX, &function));
    elf_symbols_close(symbols);
}

static void test_other_files_have_none(void **state)
{
    (void)state;
    assert_null(elf_symbols_open("/nowhere"));
    assert_null(elf_symbols_open("/proc"));
    write_file("", 0);
    assert_null(elf_symbols_open(path));
    write_file("#!/bin/sh\n", 10);
    assert_null(elf_symbols_open(path));
}

/* Cut at any place, or with a word of the header changed, it is read without harm. */
static void test_damaged_files(void **state)
{
    struct error error;
    struct buf file = {0};

    (void)state;
    assert_int_equal(io_read_file("/proc/self/exe", (size_t)1 << 28, &file, &error), 0);
    for (size_t part = 0; part < 40; part++) {
        write_file(file.data, file.length * part / 40);
        elf_symbols_close(elf_symbols_open(path));
    }
    for (size_t at = 16; at < sizeof(Elf64_Ehdr); at += 4) {
        uint32_t before;

        memcpy(&before, file.data + at, sizeof before);
        memset(file.data + at, 0xff, sizeof before);
        write_file(file.data, file.length);
        elf_symbols_close(elf_symbols_open(path));
        memcpy(file.data + at, &before, sizeof before);
    }
    buf_free(&file);
}

static void assert_formatted(const struct profile *profile,
                             int format(struct buf *, const struct profile *, struct error *),
                             const char *expected)
{
    struct buf out = {0};
    struct error error;

    assert_int_equal(format(&out, profile, &error), 0);
    assert_string_equal(buf_string(&out), expected);
    buf_free(&out);
}

static int put_folded(struct buf *out, const struct profile *profile, struct error *error)
{
    return profile_put_folded(out, profile, NULL, PROFILE_FRAME_MODULE, error);
}

static void test_formats(void **state)
{
    static const char text[] = "process 1\n"
                               "call 1 0 16 /nowhere/lib.so\n"
                               "call 2 1 0 -\n"
                               "count 5 0 0 /nowhere/lib.so\n"
                               "count 7 1 16 /nowhere/lib.so\n"
                               "count 30 2 0 -\n"
                               "process 2\n"
                               "count 1 0 9 /elsewhere/a;b \xff.so\n"
                               "call 1 0 99 /nowhere/lib.so\n"
                               "count 1 1 3 /nowhere/lib.so\n";
    struct profile profile;
    struct error error;

    (void)state;
    write_file(text, sizeof text - 1);
    assert_int_equal(counter_profile_read(&profile, path, &error), 0);
    assert_formatted(&profile, put_folded,
                     "lib.so`[unknown];[generated]`[unknown];[generated]`[unknown] 30\n"
                     "lib.so`[unknown];lib.so`[unknown] 8\n"
                     "lib.so`[unknown] 5\n"
                     "a_b__.so`[unknown] 1\n");
    assert_formatted(
        &profile, profile_put_json,
        "{\"kind\":\"object\",\"object\":\"[generated]\",\"self\":30}\n"
        "{\"kind\":\"object\",\"object\":\"a_b__.so\",\"self\":1}\n"
        "{\"kind\":\"object\",\"object\":\"lib.so\",\"self\":13}\n"
        "{\"kind\":\"function\",\"object\":\"[generated]\",\"function\":\"[unknown]\","
        "\"self\":30,\"total\":30}\n"
        "{\"kind\":\"function\",\"object\":\"lib.so\",\"function\":\"[unknown]\","
        "\"self\":13,\"total\":43}\n"
        "{\"kind\":\"function\",\"object\":\"a_b__.so\",\"function\":\"[unknown]\","
        "\"self\":1,\"total\":1}\n"
        "{\"kind\":\"stack\",\"frames\":[\"lib.so`[unknown]\",\"[generated]`[unknown]\","
        "\"[generated]`[unknown]\"],\"self\":30}\n"
        "{\"kind\":\"stack\",\"frames\":[\"lib.so`[unknown]\",\"lib.so`[unknown]\"],\"self\":8}\n"
        "{\"kind\":\"stack\",\"frames\":[\"lib.so`[unknown]\"],\"self\":5}\n"
        "{\"kind\":\"stack\",\"frames\":[\"a_b__.so`[unknown]\"],\"self\":1}\n"
        "{\"kind\":\"summary\",\"instructions\":44,\"stacks\":4}\n");
    profile_close(&profile);
}

static void test_refuses_other_text(void **state)
{
    static const char *const texts[] = {
        "x\n",
        "1 2 /y\n",
        "count\n",
        "count 1\n",
        "count 1 2\n",
        "count 1 2 3\n",
        "count 1 2 3 \n",
        "count x 2 3 /y\n",
        "count -1 2 3 /y\n",
        "count 99999999999999999999999 2 3 /y\n",
    };
    struct profile profile;
    struct error error;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        write_file(texts[i], strlen(texts[i]));
        assert_int_equal(counter_profile_read(&profile, path, &error), -1);
        assert_int_equal(error.kind, ERROR_INPUT);
        assert_non_null(strstr(error.text, ":1: not a line of a profile"));
        profile_close(&profile);
    }
}

static void test_refuses_calls_that_are_not_there(void **state)
{
    static const char *const texts[] = {
        "count 1 0 0 -\n",
        "process 1\ncount 1 1 0 -\n",
        "process 1\ncall 2 0 0 -\n",
        "process 1\ncall 1 1 0 -\n",
        "process 1\ncall 1 0 0 -\nprocess 2\ncount 1 1 0 -\n",
    };
    struct profile profile;
    struct error error;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        write_file(texts[i], strlen(texts[i]));
        assert_int_equal(counter_profile_read(&profile, path, &error), -1);
        assert_int_equal(error.kind, ERROR_INPUT);
        profile_close(&profile);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_own_functions),
        cmocka_unit_test(test_other_files_have_none),
        cmocka_unit_test(test_damaged_files),
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_refuses_other_text),
        cmocka_unit_test(test_refuses_calls_that_are_not_there),
    };

    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
