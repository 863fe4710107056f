/* SPDX-License-Identifier: Apache-2.0 */
/* A process that executes nothing has its text put back. */
#include <linux/futex.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/read/trace_budget.h"

static volatile sig_atomic_t spins;

__attribute__((noinline)) static void in_child(int commands)
{
    char byte;

    while (read(commands, &byte, 1) == 1)
        while (byte == 's')
            spins = 1;
    _exit(0);
}

/* A child that reads commands; *commands is where to write them. */
static pid_t start_child(int *commands)
{
    int ends[2];
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = _Fork(); /* ThreadSanitizer's fork() starts a thread, which is never idle */
    assert_true(child >= 0);
    if (child == 0) {
        close(ends[1]);
        in_child(ends[0]);
    }
    close(ends[0]);
    *commands = ends[1];
    return child;
}

/* Until it does, at most for ten seconds. */
static bool becomes_idle(pid_t child, bool idle)
{
    const struct timespec moment = {.tv_nsec = 1000000};

    for (int i = 0; i < 10000; i++) {
        if (trace_text_is_idle(child) == idle)
            return true;
        nanosleep(&moment, NULL);
    }
    return false;
}

static void test_text_is_put_back(void **state)
{
    struct trace_patch patch = {.before = {0x90, 0x90, 0x90, 0x90, 0x90}};
    uint8_t bytes[6];
    int commands, text;
    pid_t child = start_child(&commands);

    (void)state;
    /* The bytes that stand there now are taken for the jump. */
    patch.address = (uint64_t)(uintptr_t)in_child;
    memcpy(patch.after, (const void *)(uintptr_t)patch.address, 5);
    if (!becomes_idle(child, true))
        fail_msg("the child does not wait");
    text = trace_text_open(child);
    assert_true(text >= 0);
    assert_true(trace_text_put(text, &patch, false));
    assert_int_equal(pread(text, bytes, 6, (off_t)patch.address), 6);
    assert_memory_equal(bytes, patch.before, 5);
    assert_int_equal(bytes[5], ((const uint8_t *)(uintptr_t)patch.address)[5]);
    assert_true(trace_text_put(text, &patch, false)); /* the jump is gone */
    assert_true(trace_text_put(text, &patch, true));
    assert_int_equal(pread(text, bytes, 5, (off_t)patch.address), 5);
    assert_memory_equal(bytes, patch.after, 5);
    /* Something else stands there. */
    memset(patch.after, 0xcc, 5);
    memset(patch.before, 0xcc, 5);
    assert_false(trace_text_put(text, &patch, true));
    close(text);
    assert_int_equal(write(commands, "s", 1), 1);
    assert_true(becomes_idle(child, false));
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_false(trace_text_is_idle(child));
    close(commands);
}

static bool comes_to_wait_at(pid_t child, const void *word)
{
    const struct timespec moment = {.tv_nsec = 1000000};

    for (int i = 0; i < 10000; i++) {
        if (trace_text_waits_at(child, (uint64_t)(uintptr_t)word))
            return true;
        nanosleep(&moment, NULL);
    }
    return false;
}

static pid_t start_waiting(uint32_t *word)
{
    const pid_t child = _Fork(); /* as in start_child() */

    assert_true(child >= 0);
    if (child == 0)
        for (;;)
            syscall(SYS_futex, word, FUTEX_WAIT, 0, NULL);
    return child;
}

static void end(pid_t child)
{
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void test_where_it_waits(void **state)
{
    static uint32_t word, other;
    pid_t child = start_waiting(&word);

    (void)state;
    assert_true(comes_to_wait_at(child, &word));
    assert_false(trace_text_waits_at(child, (uint64_t)(uintptr_t)&other));
    assert_false(trace_text_is_idle(child));
    end(child);
    assert_false(trace_text_waits_at(child, (uint64_t)(uintptr_t)&word));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_text_is_put_back),
                                       cmocka_unit_test(test_where_it_waits)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
