/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/zygote.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/fork_request.h"

struct order {
    struct fork_request request;
    int fds[FORK_REQUEST_FDS];
};

/* Where a worker has them. */
static const int places[FORK_REQUEST_FDS] = {
    [FORK_REQUEST_DOWN] = 3,
    [FORK_REQUEST_UP] = 4,
    [FORK_REQUEST_PRINTED] = STDERR_FILENO,
    [FORK_REQUEST_SAVE] = 7,
};

static bool take_fds(struct msghdr *message, int fds[FORK_REQUEST_FDS])
{
    const struct cmsghdr *head = CMSG_FIRSTHDR(message);
    const size_t size = FORK_REQUEST_FDS * sizeof *fds;

    if (head == NULL || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS ||
        head->cmsg_len != CMSG_LEN(size))
        return false;
    memcpy(fds, CMSG_DATA(head), size);
    return true;
}

static bool receive_order(int control, struct order *order)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof order->fds)];
    } rights;
    struct iovec place = {&order->request, sizeof order->request};
    struct msghdr message = {
        .msg_iov = &place,
        .msg_iovlen = 1,
        .msg_control = &rights,
        .msg_controllen = sizeof rights,
    };
    ssize_t length;

    do
        length = recvmsg(control, &message, MSG_CMSG_CLOEXEC);
    while (length < 0 && errno == EINTR);
    if (length != sizeof order->request || !take_fds(&message, order->fds))
        return false;
    order->request.name[sizeof order->request.name - 1] = '\0';
    return true;
}

/* ---- in the worker ---- */

static bool take_places(const struct order *order)
{
    bool placed = dup2(order->fds[FORK_REQUEST_PRINTED], STDOUT_FILENO) >= 0;

    for (int i = 0; i < FORK_REQUEST_FDS; i++) {
        placed = dup2(order->fds[i], places[i]) >= 0 && placed;
        close(order->fds[i]);
    }
    return placed;
}

static void take_name(char *name, const char *wanted)
{
    if (name != NULL)
        strncpy(name, wanted, strlen(name)); /* filled up with zeros */
}

/* What a zygote and a worker that it makes tell each other; [0] reads. */
struct birth {
    int go[2];    /* to the worker: the supervisor has become its parent */
    int taken[2]; /* to the zygote: the worker has answered an order */
};

static bool answer_with(int control, pid_t pid)
{
    const struct fork_answer answer = {.pid = pid};

    return send(control, &answer, sizeof answer, 0) == sizeof answer;
}

/*
 * It has a process group of its own before anybody knows it, who may kill it by that from then on;
 * and the supervisor for a parent, since a process is killed with the parent that it has when it
 * asks for that.
 */
static bool answer_order(int control, const struct order *order)
{
    if (setpgid(0, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ||
        getppid() != order->request.parent) {
        (void)answer_with(control, 0);
        return false;
    }
    return answer_with(control, getpid());
}

/* Waits for an order, for as long as it takes; false: none comes any more. */
static bool become_worker(int control, const struct birth *birth, char *name)
{
    struct order order;
    char byte = 0;

    if (read(birth->go[0], &byte, 1) != 1 || !receive_order(control, &order) ||
        !answer_order(control, &order))
        return false;
    if (write(birth->taken[1], &byte, 1) != 1) {
        /* The zygote has ended, of which the supervisor learns when it asks again. */
    }
    close(birth->go[0]);
    close(birth->taken[1]);
    take_name(name, order.request.name);
    return take_places(&order);
}

/* ---- making one ---- */

/* Between zygote and worker: ends at once, so that the worker gets the supervisor for a parent.
 * Returns in the worker only. */
static void make_worker(void)
{
    if (fork() == 0)
        return;
    /* QEMU's way out would first drop all that it has translated, in memory that is copied for it
     * page by page. */
    (void)kill(getpid(), SIGKILL);
    _exit(0);
}

enum born {
    BORN_WORKER, /* in the worker, which has its order */
    BORN_CHILD,  /* the worker has taken its order */
    BORN_NOT,    /* there is none, or it has ended without an order */
};

static enum born await_taken(pid_t between, struct birth *birth)
{
    char byte;
    int status;
    bool taken;

    close(birth->go[0]);
    close(birth->taken[1]); /* so that the worker's end ends the waiting for it */
    while (waitpid(between, &status, 0) < 0 && errno == EINTR)
        ;
    taken = write(birth->go[1], "", 1) == 1 && read(birth->taken[0], &byte, 1) == 1;
    close(birth->go[1]);
    close(birth->taken[0]);
    return taken ? BORN_CHILD : BORN_NOT;
}

/* As bear(), which needs the pipes. */
static enum born bear_between(int control, char *name, struct birth *birth)
{
    const pid_t between = fork();

    if (between != 0)
        return between > 0 ? await_taken(between, birth) : BORN_NOT;
    close(birth->go[1]);
    close(birth->taken[0]);
    make_worker();
    if (!become_worker(control, birth, name))
        _exit(1);
    return BORN_WORKER;
}

/* Makes a worker that takes the next order, and waits until it has. */
static enum born bear(int control, char *name)
{
    struct birth birth;

    if (pipe2(birth.go, O_CLOEXEC) != 0 || pipe2(birth.taken, O_CLOEXEC) != 0)
        return BORN_NOT; /* the zygote ends, and with it what it has open */
    return bear_between(control, name, &birth);
}

/* Whether there is an order, which stays there; false also when there will be none. */
static bool peek(int control, struct fork_request *request)
{
    struct iovec place = {request, sizeof *request};
    struct msghdr message = {.msg_iov = &place, .msg_iovlen = 1};
    ssize_t length;

    do
        length = recvmsg(control, &message, MSG_PEEK);
    while (length < 0 && errno == EINTR);
    return length == sizeof *request;
}

enum zygote_end zygote_serve(int control, char *name)
{
    struct fork_request request = {0};

    while (peek(control, &request)) {
        const enum born born = bear(control, name);

        if (born == BORN_WORKER)
            return ZYGOTE_WORKER;
        if (born == BORN_NOT)
            break;
    }
    return ZYGOTE_OVER;
}
