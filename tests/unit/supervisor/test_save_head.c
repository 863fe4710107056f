/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "supervisor/process/pipe/save_head.h"

/* 8 + 12 + 15 bytes, then CREA with twelve sizes and two numbers more. */
#define BEFORE_CREA                                                                                \
    "\0\x98\x96\x80XS_M"                                                                           \
    "\0\0\0\14VERS\14\3\2\40"                                                                      \
    "\0\0\0\17SIGNxsnap 1"
enum { CREA_AT = 8 + 12 + 15, HEAD_LENGTH = CREA_AT + 8 + 48, SNAPSHOT_SIZE = 5000 };

static void make_snapshot(unsigned char bytes[SNAPSHOT_SIZE])
{
    for (size_t i = 0; i < SNAPSHOT_SIZE; i++)
        bytes[i] = (unsigned char)(i * 13);
    memcpy(bytes, BEFORE_CREA, CREA_AT);
    bytes[CREA_AT] = bytes[CREA_AT + 1] = bytes[CREA_AT + 2] = 0;
    bytes[CREA_AT + 3] = 64;
    memcpy(bytes + CREA_AT + 4, "CREA....", 8);
}

/* In a file with so many of its bytes. */
static struct save_head read_head(const unsigned char *bytes, size_t size)
{
    const int fd = memfd_create("test", MFD_CLOEXEC);
    struct save_head head;

    assert_true(fd >= 0);
    assert_int_equal(io_write_all(fd, bytes, size), 0);
    head = save_head_read(fd);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), size);
    if (head.length > 0)
        assert_true(save_head_fits_file(&head, fd));
    close(fd);
    return head;
}

static void it_ends_where_the_heap_is_allocated(void **state)
{
    unsigned char bytes[SNAPSHOT_SIZE];
    struct save_head head;

    (void)state;
    make_snapshot(bytes);
    head = read_head(bytes, sizeof bytes);
    assert_int_equal(head.length, HEAD_LENGTH);
    assert_int_equal(head.size, SNAPSHOT_SIZE);
    assert_memory_equal(head.bytes, bytes, HEAD_LENGTH);
}

static void another_length_of_all_fits_and_nothing_else(void **state)
{
    unsigned char bytes[SNAPSHOT_SIZE];
    struct save_head head;

    (void)state;
    make_snapshot(bytes);
    head = read_head(bytes, sizeof bytes);
    for (size_t i = 0; i <= HEAD_LENGTH; i++) {
        bytes[i] ^= 1;
        assert_int_equal(save_head_fits(&head, bytes), i < 4 || i == HEAD_LENGTH);
        bytes[i] ^= 1;
    }
}

static void what_begins_otherwise_has_none(void **state)
{
    /* of the lengths, all but the lowest byte, and the lowest of SIGN and CREA; of the names, one
     */
    const size_t places[] = {5, 8, 11, 13, 20, 22, 23, 25, CREA_AT, CREA_AT + 2, CREA_AT + 5};
    unsigned char bytes[SNAPSHOT_SIZE];

    (void)state;
    make_snapshot(bytes);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        bytes[places[i]] ^= 0x80;
        assert_int_equal(read_head(bytes, sizeof bytes).length, 0);
        bytes[places[i]] ^= 0x80;
    }
    bytes[CREA_AT + 3] = 15; /* shorter than its own head and the two numbers */
    assert_int_equal(read_head(bytes, sizeof bytes).length, 0);
}

static void one_that_is_cut_off_has_none(void **state)
{
    unsigned char bytes[SNAPSHOT_SIZE];

    (void)state;
    make_snapshot(bytes);
    for (size_t size = 0; size < HEAD_LENGTH; size++)
        assert_int_equal(read_head(bytes, size).length, 0);
    assert_int_equal(read_head(bytes, HEAD_LENGTH).length, HEAD_LENGTH);
}

static void a_file_that_cannot_be_read_has_none(void **state)
{
    const struct save_head head = save_head_read(-1);

    (void)state;
    assert_int_equal(head.length, 0);
    assert_int_equal(head.size, 0);
}

static void a_shorter_file_does_not_fit(void **state)
{
    const int fd = memfd_create("test", MFD_CLOEXEC);
    unsigned char bytes[SNAPSHOT_SIZE];
    struct save_head head;

    (void)state;
    make_snapshot(bytes);
    head = read_head(bytes, sizeof bytes);
    assert_true(fd >= 0);
    assert_int_equal(io_write_all(fd, bytes, HEAD_LENGTH - 1), 0);
    assert_false(save_head_fits_file(&head, fd));
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_ends_where_the_heap_is_allocated),
        cmocka_unit_test(another_length_of_all_fits_and_nothing_else),
        cmocka_unit_test(what_begins_otherwise_has_none),
        cmocka_unit_test(one_that_is_cut_off_has_none),
        cmocka_unit_test(a_file_that_cannot_be_read_has_none),
        cmocka_unit_test(a_shorter_file_does_not_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
