/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/fork_request.h"
#include "worker/pipe/zygote.h"

/* As good as for ever. */
enum { LONG_MS = 600000 };

struct nursery {
    int control; /* to the zygote */
    int release; /* closed: the zygote has prepared */
    pid_t zygote;
};

struct preparation {
    int until;
    char prepared;
};

static void prepare(void *context)
{
    struct preparation *preparation = context;
    char byte;

    while (read(preparation->until, &byte, 1) > 0)
        ;
    preparation->prepared = 'y';
}

/* A worker says whether its zygote had prepared. */
static _Noreturn void be_zygote(int control, int until)
{
    struct preparation preparation = {until, 'n'};
    const struct zygote_preparation described = {prepare, &preparation};

    if (zygote_serve(control, NULL, &described) == ZYGOTE_WORKER &&
        write(STDERR_FILENO, &preparation.prepared, 1) != 1)
        _exit(1);
    _exit(0);
}

static struct nursery begin(void)
{
    struct nursery nursery;
    int control[2], release[2];

    /* A worker's parent is to be the one that asks. */
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control), 0);
    assert_int_equal(pipe(release), 0);
    nursery.zygote = fork();
    assert_true(nursery.zygote >= 0);
    if (nursery.zygote == 0) {
        close(control[0]);
        close(release[1]);
        be_zygote(control[1], release[0]);
    }
    close(control[1]);
    close(release[0]);
    nursery.control = control[0];
    nursery.release = release[1];
    return nursery;
}

/* Its end of the pipe into which the worker will say it. */
static int ask_with(const struct nursery *nursery, int patience_ms, bool more)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(FORK_REQUEST_FDS * sizeof(int))];
    } rights = {0};
    struct fork_request request = {.parent = getpid(), .patience_ms = patience_ms, .more = more};
    struct iovec place = {&request, sizeof request};
    struct msghdr message = {
        .msg_iov = &place,
        .msg_iovlen = 1,
        .msg_control = &rights,
        .msg_controllen = sizeof rights,
    };
    int said[2];

    assert_int_equal(pipe(said), 0);
    rights.head.cmsg_level = SOL_SOCKET;
    rights.head.cmsg_type = SCM_RIGHTS;
    rights.head.cmsg_len = CMSG_LEN(FORK_REQUEST_FDS * sizeof(int));
    for (int i = 0; i < FORK_REQUEST_FDS; i++)
        memcpy(CMSG_DATA(&rights.head) + (size_t)i * sizeof(int), &said[1], sizeof(int));
    assert_int_equal(sendmsg(nursery->control, &message, 0), sizeof request);
    close(said[1]);
    return said[0];
}

static int ask(const struct nursery *nursery, int patience_ms)
{
    return ask_with(nursery, patience_ms, false);
}

static void expect(const struct nursery *nursery, int said, char prepared)
{
    struct fork_answer answer;
    char byte = '?';

    assert_int_equal(recv(nursery->control, &answer, sizeof answer, 0), sizeof answer);
    assert_true(answer.pid > 0);
    assert_int_equal(read(said, &byte, 1), 1);
    assert_int_equal(byte, prepared);
    assert_int_equal(waitpid(answer.pid, NULL, 0), answer.pid);
    close(said);
}

static void release(struct nursery *nursery)
{
    close(nursery->release);
    nursery->release = -1;
}

static void end(const struct nursery *nursery)
{
    if (nursery->release >= 0)
        close(nursery->release);
    close(nursery->control);
    assert_int_equal(waitpid(nursery->zygote, NULL, 0), nursery->zygote);
}

static void an_order_with_patience_waits_for_the_zygote(void **state)
{
    struct nursery nursery = begin();
    const int said = ask(&nursery, LONG_MS);

    (void)state;
    release(&nursery);
    expect(&nursery, said, 'y');
    expect(&nursery, ask(&nursery, 0), 'y');
    end(&nursery);
}

static void while_it_prepares_another_process_answers(void **state)
{
    struct nursery nursery = begin();

    (void)state;
    expect(&nursery, ask(&nursery, 0), 'n');
    end(&nursery);
}

static void a_zygote_that_does_not_end_preparing_holds_up_one_order(void **state)
{
    struct nursery nursery = begin();

    (void)state;
    expect(&nursery, ask(&nursery, 1), 'n');
    expect(&nursery, ask(&nursery, LONG_MS), 'n');
    end(&nursery);
}

/* One of the children that this process has besides the zygote; 0: there is none. */
static pid_t find_other_child(const struct nursery *nursery)
{
    char text[256];
    FILE *children = fopen("/proc/thread-self/children", "r");
    const char *at;
    char *end = text;
    pid_t found = 0;

    assert_non_null(children);
    at = fgets(text, sizeof text, children);
    fclose(children);
    for (; at != NULL && found == 0 && *at != '\0'; at = end + (*end == ' ')) {
        const pid_t child = (pid_t)strtol(at, &end, 10);

        found = child != nursery->zygote ? child : 0;
    }
    return found;
}

/* The same, once there is one. */
static pid_t other_child(const struct nursery *nursery)
{
    pid_t found;

    while ((found = find_other_child(nursery)) == 0)
        ;
    return found;
}

static void one_that_is_expected_is_there_before_it_is_asked_for(void **state)
{
    struct nursery nursery = begin();
    struct fork_answer answer;
    pid_t before;
    int said;

    (void)state;
    release(&nursery);
    expect(&nursery, ask_with(&nursery, LONG_MS, true), 'y');
    before = other_child(&nursery);
    said = ask(&nursery, 0);
    assert_int_equal(recv(nursery.control, &answer, sizeof answer, MSG_PEEK), sizeof answer);
    assert_int_equal(answer.pid, before);
    expect(&nursery, said, 'y');
    expect(&nursery, ask(&nursery, 0), 'y');
    end(&nursery);
}

static void one_that_nobody_asks_for_ends_with_its_zygote(void **state)
{
    struct nursery nursery = begin();
    pid_t before;

    (void)state;
    release(&nursery);
    expect(&nursery, ask_with(&nursery, LONG_MS, true), 'y');
    before = other_child(&nursery);
    end(&nursery);
    assert_int_equal(waitpid(before, NULL, 0), before);
}

/* So whoever asks does not wait in vain. */
static void a_zygote_ends_with_one_that_is_killed_before_it_answers(void **state)
{
    struct nursery nursery = begin();
    char byte;

    (void)state;
    release(&nursery);
    expect(&nursery, ask_with(&nursery, LONG_MS, true), 'y');
    assert_int_equal(kill(other_child(&nursery), SIGKILL), 0);
    assert_int_equal(recv(nursery.control, &byte, 1, 0), 0);
    assert_true(waitpid(-1, NULL, 0) > 0);
    assert_true(waitpid(-1, NULL, 0) > 0);
    close(nursery.control);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_order_with_patience_waits_for_the_zygote),
        cmocka_unit_test(while_it_prepares_another_process_answers),
        cmocka_unit_test(a_zygote_that_does_not_end_preparing_holds_up_one_order),
        cmocka_unit_test(one_that_is_expected_is_there_before_it_is_asked_for),
        cmocka_unit_test(one_that_nobody_asks_for_ends_with_its_zygote),
        cmocka_unit_test(a_zygote_ends_with_one_that_is_killed_before_it_answers),
    };

    return cmocka_run_group_tests_name("zygote", tests, NULL, NULL);
}
