/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/netstring.h"
#include "supervisor/process/worker_process.h"

/* The events of a process, counted. */
struct observed {
    uv_loop_t loop;
    struct worker_process *process;
    size_t frames, bytes, bad, lines;
    size_t hang_up_after; /* frames */
    uint64_t memory_limit;
    size_t again; /* until so many have come, each is sent back */
    char words[64];
    int exit_status, signal_number;
};

static void send_frame(struct observed *observed, const char *bytes, size_t length)
{
    const struct iovec parts[] = {{(char *)bytes, length}};
    struct stamp sent;
    struct error error;

    assert_int_equal(worker_process_send(observed->process, parts, 1, &sent, &error), 0);
}

static void on_frame(void *context, struct iovec frame, struct stamp come)
{
    struct observed *observed = context;

    assert_true(come.mono > 0);
    observed->frames++;
    observed->bytes += frame.iov_len;
    if (observed->frames == observed->hang_up_after)
        worker_process_hang_up(observed->process);
    else if (observed->frames < observed->again)
        send_frame(observed, frame.iov_base, frame.iov_len);
}

static void on_bad_frame(void *context, const struct error *error)
{
    struct observed *observed = context;

    observed->bad++;
    assert_true(error->text[0] != '\0');
    worker_process_kill(observed->process);
}

static void on_words(void *context, const char *line)
{
    struct observed *observed = context;

    observed->lines++;
    strncpy(observed->words, line, sizeof observed->words - 1);
}

static void on_gone(void *context, int exit_status, int signal_number)
{
    struct observed *observed = context;

    observed->exit_status = exit_status;
    observed->signal_number = signal_number;
    worker_process_free(observed->process);
}

/* A shell with the pipes on 3 and 4. */
static void start_in(uv_loop_t *loop, const struct worker_listener *listener,
                     struct observed *observed, char *script)
{
    char *const arguments[] = {(char *)"sh", (char *)"-c", script, NULL};
    const char *const environment[] = {"PATH=/usr/bin:/bin", NULL};
    const struct worker_launch launch = {
        .path = "/bin/sh",
        .arguments = arguments,
        .environment = environment,
        .program_fd = -1,
        .snapshot_fd = -1,
        .frame_cap = 2 << 20,
        .memory_limit = observed->memory_limit,
    };
    struct error error;

    observed->exit_status = -1;
    observed->process = worker_process_start(loop, &launch, listener, &error);
    assert_non_null(observed->process);
}

static void start(struct observed *observed, char *script)
{
    const struct worker_listener listener = {
        .context = observed,
        .frame = on_frame,
        .bad_frame = on_bad_frame,
        .stderr_line = on_words,
        .gone = on_gone,
    };

    assert_int_equal(uv_loop_init(&observed->loop), 0);
    start_in(&observed->loop, &listener, observed, script);
}

static void finish(struct observed *observed)
{
    assert_int_equal(uv_run(&observed->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&observed->loop), 0);
}

/* The process writes all the time while 64 MB wait for it: both pipes are full. */
static void both_ends_flood_each_other_and_nothing_locks_up(void **state)
{
    enum { FRAMES = 64, SIZE = 1 << 20 };
    static char bytes[SIZE];
    struct observed observed = {0};

    (void)state;
    start(&observed, (char *)"cat <&3 >&4");
    observed.hang_up_after = FRAMES;
    for (int i = 0; i < FRAMES; i++)
        send_frame(&observed, bytes, sizeof bytes);
    finish(&observed);
    assert_int_equal(observed.frames, FRAMES);
    assert_int_equal(observed.bytes, (size_t)FRAMES * SIZE);
    assert_int_equal(observed.bad, 0);
    assert_int_equal(observed.exit_status, 0);
}

static void a_process_that_never_reads_does_not_hold_up_what_it_writes(void **state)
{
    static char bytes[1 << 20];
    struct observed observed = {0};

    (void)state;
    start(&observed, (char *)"printf 1:a, >&4");
    send_frame(&observed, bytes, sizeof bytes);
    finish(&observed);
    assert_int_equal(observed.frames, 1);
}

static void invalid_frame_is_reported_once(void **state)
{
    struct observed observed = {0};

    (void)state;
    start(&observed, (char *)"printf %s '-1:b,1:c,' >&4; exec sleep 100");
    finish(&observed);
    assert_int_equal(observed.frames, 0);
    assert_int_equal(observed.bad, 1);
    assert_int_equal(observed.signal_number, 9);
}

static void a_frame_over_the_cap_is_bad(void **state)
{
    struct observed observed = {0};

    (void)state;
    start(&observed, (char *)"printf 2097153: >&4; exec sleep 100");
    finish(&observed);
    assert_int_equal(observed.bad, 1);
}

static void an_end_inside_a_frame_is_bad(void **state)
{
    struct observed observed = {0};

    (void)state;
    start(&observed, (char *)"printf 5:ab >&4");
    finish(&observed);
    assert_int_equal(observed.frames, 0);
    assert_int_equal(observed.bad, 1);
}

/* The first one cannot have been answered in between. */
static void two_frames_at_once_are_bad(void **state)
{
    struct observed observed = {0};

    (void)state;
    start(&observed, (char *)"printf 1:a,1:b, >&4; exec sleep 100");
    finish(&observed);
    assert_int_equal(observed.frames, 0);
    assert_int_equal(observed.bad, 1);
    assert_int_equal(observed.signal_number, 9);
}

/* It waits for a line, until when the limit holds; tail(1) keeps all that it reads. */
static void memory_beyond_the_limit_is_refused(void **state)
{
    static const char keep[] = "read -r line <&3; exec 3<&-; head -c 200000000 /dev/zero "
                               "| tail -c 200000000 > /dev/null && exit 5; exit 6";
    const uint64_t limits[] = {0, 100000000};
    const int statuses[] = {5, 6};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct observed observed = {.memory_limit = limits[i]};

        start(&observed, (char *)keep);
        send_frame(&observed, "\n", 1);
        finish(&observed);
        assert_int_equal(observed.exit_status, statuses[i]);
    }
}

/* Children that outlive it, one of them out of reach, hold its pipes. */
static void its_children_do_not_keep_it_from_being_gone(void **state)
{
    struct observed observed = {0};
    char *words;

    (void)state;
    /* It ends after the report that the one out of reach runs. */
    observed.again = 2;
    start(&observed, (char *)"sleep 100 & setsid sh -c 'echo $$ words; printf 1:a, >&4; exec sleep "
                             "100' & head -c 4 <&3 >/dev/null; exit 3");
    finish(&observed);
    /* Only the test can end the one out of reach. */
    assert_int_equal(kill((pid_t)strtol(observed.words, &words, 10), SIGKILL), 0);
    assert_string_equal(words, " words");
    assert_int_equal(observed.frames, 1);
    assert_int_equal(observed.bad, 0);
    assert_int_equal(observed.exit_status, 3);
}

/* Waiting for the answer blocks; the loop's other work is done all the same. */
static void loop_continues_during_a_slow_answer(void **state)
{
    struct observed observed = {0};

    (void)state;
    /* It answers when it has been able to print more than a pipe holds. */
    start(&observed, (char *)"read -r _ <&3; yes | head -c 200000; printf 1:a, >&4");
    send_frame(&observed, "\n", 1);
    finish(&observed);
    assert_int_equal(observed.frames, 1);
    /* Some lines are dropped, and a line says so. */
    assert_true(observed.lines > WORKER_STDERR_RATE);
}

static void many_short_exchanges(void **state)
{
    enum { FRAMES = 2000 };
    struct observed observed = {0};

    (void)state;
    start(&observed, (char *)"exec cat <&3 >&4");
    observed.again = observed.hang_up_after = FRAMES;
    send_frame(&observed, "x", 1);
    finish(&observed);
    assert_int_equal(observed.frames, FRAMES);
}

/* Two processes that send back what they get. The second is started last, so its turn before the
 * loop waits comes first. */
struct exchange {
    uv_loop_t loop;
    uv_idle_t idle;
    uv_timer_t limit;
    struct observed first, second;
    bool given, late;
};

enum { ROUNDS = 100, LIMIT_MS = 20000 };

static void end_exchange(struct exchange *exchange)
{
    worker_process_hang_up(exchange->first.process);
    worker_process_hang_up(exchange->second.process);
    uv_close((uv_handle_t *)&exchange->idle, NULL);
    uv_close((uv_handle_t *)&exchange->limit, NULL);
}

static void give_first(uv_idle_t *idle)
{
    struct exchange *exchange = idle->data;

    if (!exchange->given)
        send_frame(&exchange->first, "x", 1);
    exchange->given = true;
}

/* In the first's turn: the second's of this wait is over, and it was left out of it. */
static void on_first(void *context, struct iovec frame, struct stamp come)
{
    struct exchange *exchange = context;

    (void)frame;
    (void)come;
    uv_idle_stop(&exchange->idle);
    send_frame(&exchange->second, "x", 1);
}

static void on_second(void *context, struct iovec frame, struct stamp come)
{
    struct exchange *exchange = context;

    (void)frame;
    (void)come;
    exchange->given = false;
    if (exchange->late)
        return;
    if (++exchange->second.frames < ROUNDS) {
        assert_int_equal(uv_idle_start(&exchange->idle, give_first), 0);
        return;
    }
    end_exchange(exchange);
}

static void on_limit(uv_timer_t *timer)
{
    struct exchange *exchange = timer->data;

    exchange->late = true;
    end_exchange(exchange);
}

static void on_first_gone(void *context, int exit_status, int signal_number)
{
    on_gone(&((struct exchange *)context)->first, exit_status, signal_number);
}

static void on_second_gone(void *context, int exit_status, int signal_number)
{
    on_gone(&((struct exchange *)context)->second, exit_status, signal_number);
}

/* Only the time limit, which wakes the loop, would show a lost frame. */
static void frames_sent_by_another_process_arrive(void **state)
{
    static char script[] = "cat <&3 >&4";
    struct exchange exchange = {0};
    struct worker_listener listener = {
        .context = &exchange,
        .frame = on_first,
        .bad_frame = on_bad_frame,
        .stderr_line = on_words,
        .gone = on_first_gone,
    };

    (void)state;
    assert_int_equal(uv_loop_init(&exchange.loop), 0);
    start_in(&exchange.loop, &listener, &exchange.first, script);
    listener.frame = on_second;
    listener.gone = on_second_gone;
    start_in(&exchange.loop, &listener, &exchange.second, script);
    assert_int_equal(uv_idle_init(&exchange.loop, &exchange.idle), 0);
    assert_int_equal(uv_timer_init(&exchange.loop, &exchange.limit), 0);
    exchange.idle.data = exchange.limit.data = &exchange;
    assert_int_equal(uv_timer_start(&exchange.limit, on_limit, LIMIT_MS, 0), 0);
    send_frame(&exchange.second, "x", 1);
    assert_int_equal(uv_run(&exchange.loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&exchange.loop), 0);
    assert_false(exchange.late);
}

static void output_arrives_in_lines_and_the_exit_last(void **state)
{
    struct observed observed = {0};

    (void)state;
    start(&observed, (char *)"echo one; echo two >&2; printf three; exit 7");
    finish(&observed);
    assert_int_equal(observed.lines, 3);
    assert_string_equal(observed.words, "three");
    assert_int_equal(observed.exit_status, 7);
    assert_int_equal(observed.signal_number, 0);
}

/* A switch between sessions takes longer; and a group is killed at once. */
static void it_is_in_our_session_and_in_a_group_of_its_own(void **state)
{
    struct observed observed = {0};
    char expected[64];

    (void)state;
    start(&observed, (char *)"read -r _ _ _ _ group session _ < /proc/self/stat; "
                             "echo $((group - $$)) $session; exit 3");
    finish(&observed);
    snprintf(expected, sizeof expected, "0 %d", (int)getsid(0));
    assert_string_equal(observed.words, expected);
    assert_int_equal(observed.exit_status, 3);
}

static void no_signal_that_is_ignored_or_blocked_here_is_so_there(void **state)
{
    struct observed observed = {0};
    sigset_t blocked, before;

    (void)state;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    assert_int_equal(sigprocmask(SIG_BLOCK, &blocked, &before), 0);
    /* But for two that glibc keeps for itself. */
    start(&observed, (char *)"exec grep -cE '^SigBlk:.0{16}$|^SigIgn:.0{7}[01][08]0{7}$' "
                             "/proc/self/status");
    assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
    finish(&observed);
    assert_string_equal(observed.words, "2");
}

static void how_it_ended_is_known_where_ended_children_were_ignored(void **state)
{
    struct observed observed = {0};

    (void)state;
    signal(SIGCHLD, SIG_IGN);
    start(&observed, (char *)"exit 9");
    finish(&observed);
    assert_int_equal(observed.exit_status, 9);
    start(&observed, (char *)"kill -USR1 $$");
    finish(&observed);
    assert_int_equal(observed.signal_number, SIGUSR1);
}

static void a_program_that_cannot_be_started_is_named(void **state)
{
    char *const arguments[] = {(char *)"none", NULL};
    const char *const environment[] = {NULL};
    const struct worker_launch launch = {
        .path = "/dev/null/none",
        .arguments = arguments,
        .environment = environment,
        .program_fd = -1,
        .snapshot_fd = -1,
    };
    const struct worker_listener listener = {0};
    struct error error;
    uv_loop_t loop;

    (void)state;
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_null(worker_process_start(&loop, &launch, &listener, &error));
    assert_int_equal(error.kind, ERROR_SYSTEM);
    assert_string_equal(error.text, "cannot start /dev/null/none: Not a directory");
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ends_flood_each_other_and_nothing_locks_up),
        cmocka_unit_test(a_process_that_never_reads_does_not_hold_up_what_it_writes),
        cmocka_unit_test(invalid_frame_is_reported_once),
        cmocka_unit_test(a_frame_over_the_cap_is_bad),
        cmocka_unit_test(an_end_inside_a_frame_is_bad),
        cmocka_unit_test(two_frames_at_once_are_bad),
        cmocka_unit_test(memory_beyond_the_limit_is_refused),
        cmocka_unit_test(its_children_do_not_keep_it_from_being_gone),
        cmocka_unit_test(loop_continues_during_a_slow_answer),
        cmocka_unit_test(many_short_exchanges),
        cmocka_unit_test(frames_sent_by_another_process_arrive),
        cmocka_unit_test(output_arrives_in_lines_and_the_exit_last),
        cmocka_unit_test(it_is_in_our_session_and_in_a_group_of_its_own),
        cmocka_unit_test(no_signal_that_is_ignored_or_blocked_here_is_so_there),
        cmocka_unit_test(how_it_ended_is_known_where_ended_children_were_ignored),
        cmocka_unit_test(a_program_that_cannot_be_started_is_named),
    };

    /* As gaspipe does: a process that went away is met as EPIPE. */
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
