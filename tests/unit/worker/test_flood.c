/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker's loop, with an engine that does nothing, is flooded: commands come without
 * waiting for the answers to those before. FLOOD_FRAMES=10000000 in the environment makes
 * a long test of it; it then says how long it took and what memory the worker had.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/stamp.h"
#include "proto/netstring.h"
#include "tests/engine_echo.h"
#include "worker/loop.h"

enum {
    FRAMES_DEFAULT = 30000,
    SIZE_LARGE = 200000,
    OUTPUT_ENOUGH = 1 << 20, /* stop generating while this much waits to be written */
    /* A worker's memory: its buffers, one large frame each way, the C library. */
    WORKER_KILOBYTES_MAX = 24 * 1024,
};

/* The same commands in the same order, once for who sends and once for who checks. */
struct script {
    uint64_t random;
    size_t left;
};

struct command {
    char kind; /* 'R', 'e', or of a delivery: '.' echoed, '!' thrown, '?' asked */
    size_t size;
};

static struct command next_command(struct script *script)
{
    static const char kinds[] = {'.', '.', '.', '.', '?', '?', '!', 'R', 'e'};
    struct command command;
    unsigned number;

    /* Knuth's MMIX generator (The Art of Computer Programming, vol. 2, 3.3.4). */
    script->random = script->random * 6364136223846793005U + 1442695040888963407U;
    number = (unsigned)(script->random >> 33);
    command.kind = kinds[number % sizeof kinds];
    command.size = number % 997 == 0 ? SIZE_LARGE : number / 16 % 300;
    script->left--;
    return command;
}

struct flood {
    int in, out; /* the worker's answers, its commands; neither blocks */
    struct script sent, checked;
    bool asked; /* the request of the command that is checked has come */
    struct buf output;
    size_t written; /* of it */
    struct netstring_decoder decoder;
    char padding[SIZE_LARGE];
};

static void put_frame(struct flood *flood, const char *prefix, size_t size)
{
    struct netstring_frame frame;
    const struct iovec parts[] = {{(char *)prefix, strlen(prefix)}, {flood->padding, size}};

    netstring_encode(&frame, parts, 2);
    for (int i = 0; i < frame.count; i++)
        buf_append(&flood->output, frame.pieces[i].iov_base, frame.pieces[i].iov_len);
    assert_false(buf_failed(&flood->output));
}

static void put_command(struct flood *flood)
{
    struct command command = next_command(&flood->sent);

    switch (command.kind) {
    case 'R':
        put_frame(flood, "R", 0);
        break;
    case 'e':
        put_frame(flood, "e", command.size);
        break;
    case '!':
        put_frame(flood, "?!", command.size);
        break;
    case '?':
        put_frame(flood, "??", command.size);
        put_frame(flood, "/", command.size);
        break;
    default:
        put_frame(flood, "?.", command.size);
    }
}

/* Returns the length of a result after its meter. */
static size_t result_length(struct iovec frame)
{
    const char *end = memchr(frame.iov_base, COMMAND_METER_END, frame.iov_len);

    assert_non_null(end);
    return frame.iov_len - (size_t)(end + 1 - (char *)frame.iov_base);
}

static void check_frame(struct flood *flood, struct iovec frame)
{
    struct script before = flood->checked;
    struct command command = next_command(&flood->checked);
    char kind = *(char *)frame.iov_base;

    if (command.kind == '?' && !flood->asked) {
        assert_int_equal(kind, '?');
        assert_int_equal(frame.iov_len, command.size + 1);
        flood->checked = before; /* its result comes next */
        flood->asked = true;
        return;
    }
    flood->asked = false;
    assert_int_equal(kind, command.kind == '!' ? '!' : '.');
    if (command.kind == '!')
        assert_int_equal(frame.iov_len, command.size + 1);
    else if (command.kind == 'R')
        assert_int_equal(frame.iov_len, 1);
    else
        assert_int_equal(result_length(frame), command.kind == 'e'   ? 0
                                               : command.kind == '?' ? command.size
                                                                     : command.size + 1);
}

static void take_answers(struct flood *flood)
{
    static char bytes[65536];
    ssize_t got = read(flood->in, bytes, sizeof bytes);
    size_t at = 0;

    if (got < 0) {
        assert_true(errno == EAGAIN || errno == EINTR);
        return;
    }
    assert_true(got > 0);
    while (at < (size_t)got) {
        struct iovec frame;
        struct error error;
        size_t used;
        enum netstring_result result =
            netstring_decode(&flood->decoder, bytes + at, (size_t)got - at, &used, &frame, &error);

        assert_int_not_equal(result, NETSTRING_BAD);
        at += used;
        if (result == NETSTRING_FRAME)
            check_frame(flood, frame);
    }
}

static void write_commands(struct flood *flood)
{
    ssize_t done = write(flood->out, flood->output.data + flood->written,
                         flood->output.length - flood->written);

    if (done < 0) {
        assert_true(errno == EAGAIN || errno == EINTR);
        return;
    }
    flood->written += (size_t)done;
    if (flood->written == flood->output.length) {
        buf_clear(&flood->output);
        flood->written = 0;
    }
}

static void run_flood(struct flood *flood)
{
    struct pollfd ends[] = {{.fd = flood->in, .events = POLLIN}, {.fd = flood->out}};

    while (flood->checked.left > 0) {
        while (flood->sent.left > 0 && flood->output.length < OUTPUT_ENOUGH)
            put_command(flood);
        ends[1].events = flood->output.length > 0 ? POLLOUT : 0;
        assert_true(poll(ends, 2, 60000) > 0); /* else something hangs */
        if ((ends[1].revents & POLLOUT) != 0)
            write_commands(flood);
        if ((ends[0].revents & (POLLIN | POLLHUP)) != 0)
            take_answers(flood);
    }
}

/* Ends with the loop's status. */
static pid_t start_worker(struct flood *flood)
{
    int down[2], up[2];
    pid_t child;

    assert_int_equal(pipe2(down, O_CLOEXEC), 0);
    assert_int_equal(pipe2(up, O_CLOEXEC), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct loop_options options = {
            .in = down[0],
            .out = up[1],
            .frame_cap = NETSTRING_CAP_DEFAULT,
            .ops = &engine_echo,
        };

        close(down[1]);
        close(up[0]);
        _exit(loop_run(&options));
    }
    close(down[0]);
    close(up[1]);
    flood->out = down[1];
    flood->in = up[0];
    assert_int_equal(fcntl(flood->out, F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(fcntl(flood->in, F_SETFL, O_NONBLOCK), 0);
    return child;
}

static void a_flooded_worker_answers_everything_and_keeps_its_size(void **state)
{
    const char *asked = getenv("FLOOD_FRAMES");
    size_t count = asked != NULL ? strtoul(asked, NULL, 10) : FRAMES_DEFAULT;
    static struct flood flood;
    struct rusage usage;
    struct stamp begun = stamp_now();
    pid_t worker;
    int status;

    (void)state;
    assert_true(count > 0);
    flood.sent = flood.checked = (struct script){.random = 1, .left = count};
    netstring_decoder_init(&flood.decoder, NETSTRING_CAP_DEFAULT);
    worker = start_worker(&flood);
    run_flood(&flood);
    close(flood.out);
    assert_int_equal(wait4(worker, &status, 0, &usage), worker);
    assert_true(WIFEXITED(status));
    assert_true(WEXITSTATUS(status) == WORKER_EXIT_OK ||
                WEXITSTATUS(status) == WORKER_EXIT_EXCEPTION);
#ifndef __SANITIZE_ADDRESS__
    assert_true(usage.ru_maxrss < WORKER_KILOBYTES_MAX);
#endif
    if (asked != NULL)
        printf("%zu commands in %.1f s; the worker had %ld KB\n", count,
               (double)(stamp_now().mono - begun.mono) / 1e9, usage.ru_maxrss);
    close(flood.in);
    buf_free(&flood.output);
    netstring_decoder_free(&flood.decoder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flooded_worker_answers_everything_and_keeps_its_size),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
