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
#include "worker/zygote.h"

struct served {
    int control; /* to the zygote */
    pid_t zygote;
};

/* A worker prints one byte. */
static _Noreturn void be_zygote(int control)
{
    if (zygote_serve(control, NULL) == ZYGOTE_WORKER && write(STDERR_FILENO, "w", 1) != 1)
        _exit(1);
    _exit(0);
}

static struct served begin(void)
{
    struct served served;
    int control[2];

    /* A worker's parent is to be the one that asks. */
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control), 0);
    served.zygote = fork();
    assert_true(served.zygote >= 0);
    if (served.zygote == 0) {
        close(control[0]);
        be_zygote(control[1]);
    }
    close(control[1]);
    served.control = control[0];
    return served;
}

/* Its end of the pipe into which the worker will say it. */
static int ask(const struct served *served)
{
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(FORK_REQUEST_FDS * sizeof(int))];
    } rights = {0};
    struct fork_request request = {.parent = getpid()};
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
    assert_int_equal(sendmsg(served->control, &message, 0), sizeof request);
    close(said[1]);
    return said[0];
}

static void expect_worker(const struct served *served, int said)
{
    struct fork_answer answer;
    char byte = '?';

    assert_int_equal(recv(served->control, &answer, sizeof answer, 0), sizeof answer);
    assert_true(answer.pid > 0);
    assert_int_equal(read(said, &byte, 1), 1);
    assert_int_equal(byte, 'w');
    assert_int_equal(waitpid(answer.pid, NULL, 0), answer.pid);
    close(said);
}

static void end(const struct served *served)
{
    close(served->control);
    assert_int_equal(waitpid(served->zygote, NULL, 0), served->zygote);
}

static void each_request_makes_a_child_of_the_one_that_asks(void **state)
{
    struct served served = begin();
    int said[2];

    (void)state;
    expect_worker(&served, ask(&served));
    /* Also when the second comes before the first is answered. */
    said[0] = ask(&served);
    said[1] = ask(&served);
    expect_worker(&served, said[0]);
    expect_worker(&served, said[1]);
    end(&served);
}

static void zygote_ends_with_its_socket(void **state)
{
    struct served served = begin();

    (void)state;
    end(&served);
}

/* Its group is its own, so the one that asked may kill it by that. */
static void worker_leads_a_process_group(void **state)
{
    struct served served = begin();
    const int said = ask(&served);
    struct fork_answer answer;

    (void)state;
    assert_int_equal(recv(served.control, &answer, sizeof answer, 0), sizeof answer);
    assert_int_equal(getpgid(answer.pid), answer.pid);
    assert_int_equal(waitpid(answer.pid, NULL, 0), answer.pid);
    close(said);
    end(&served);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_request_makes_a_child_of_the_one_that_asks),
        cmocka_unit_test(zygote_ends_with_its_socket),
        cmocka_unit_test(worker_leads_a_process_group),
    };

    return cmocka_run_group_tests_name("zygote", tests, NULL, NULL);
}
