/* SPDX-License-Identifier: Apache-2.0 */
/* A pipe that is polled only where the page asks for it. */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "worker/pipe/polling.h"

static struct poll_page *page;
static const struct poll_page *seen;
static int ends[2];
static char input[16];
static const struct iovec place = {input, sizeof input};

static int open_all(void **state)
{
    const int fd = memfd_create("page", MFD_CLOEXEC);
    struct error error;

    (void)state;
    if (fd < 0 || ftruncate(fd, sizeof *page) != 0 || pipe(ends) != 0)
        return -1;
    page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    seen = polling_open(fd, &error);
    close(fd);
    return page != MAP_FAILED && seen != NULL ? 0 : -1;
}

/* No processor has that number. */
static void ask(int worker)
{
    atomic_store(&page->processor, -1);
    atomic_store(&page->worker, worker);
}

static void assert_waits(void)
{
    errno = 0;
    assert_int_equal(polling_read(seen, ends[0], place), -1);
    assert_int_equal(errno, EAGAIN);
}

static void what_is_there_is_read_at_once(void **state)
{
    (void)state;
    for (int asked = 0; asked < 2; asked++) {
        ask(asked ? getpid() : 0);
        assert_int_equal(write(ends[1], "frame", 5), 5);
        assert_int_equal(polling_read(seen, ends[0], place), 5);
        assert_memory_equal(input, "frame", 5);
    }
}

static void nobody_polls_for_ever(void **state)
{
    (void)state;
    ask(getpid());
    assert_waits();
}

static void who_is_not_asked_waits(void **state)
{
    (void)state;
    ask(getpid() + 1);
    assert_waits();
}

static void on_the_supervisors_processor_nobody_polls(void **state)
{
    cpu_set_t before, one;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    ask(getpid());
    atomic_store(&page->processor, sched_getcpu());
    assert_waits();
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

static void the_end_of_the_pipe_is_its_end(void **state)
{
    (void)state;
    ask(getpid());
    assert_int_equal(close(ends[1]), 0);
    assert_int_equal(polling_read(seen, ends[0], place), 0);
    assert_int_equal(close(ends[0]), 0);
    assert_waits(); /* read(2) tells what is wrong */
}

static void what_is_no_page_is_refused(void **state)
{
    const int fd = memfd_create("short", MFD_CLOEXEC);
    struct error error;

    (void)state;
    assert_null(polling_open(fd, &error));
    assert_int_equal(error.kind, ERROR_USAGE);
    assert_int_equal(close(fd), 0);
    assert_null(polling_open(fd, &error));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_there_is_read_at_once),
        cmocka_unit_test(nobody_polls_for_ever),
        cmocka_unit_test(who_is_not_asked_waits),
        cmocka_unit_test(on_the_supervisors_processor_nobody_polls),
        cmocka_unit_test(the_end_of_the_pipe_is_its_end),
        cmocka_unit_test(what_is_no_page_is_refused),
    };

    return cmocka_run_group_tests(tests, open_all, NULL);
}
