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

/*
 * Forking a worker for the supervisor. Two forks make the worker the supervisor's child and not the
 * zygote's, because the supervisor must be able to wait for it:
 *
 *     supervisor                zygote            between          worker
 *         | -- order on control -> | (peeks)
 *         |                        | -- fork() ----> | -- fork() ----> |
 *         |                        |                 X SIGKILL         | waits for `go`
 *         |                        | waitpid(between)                  |
 *         |                        | -- a byte on `go` --------------> | takes the order
 *         | <-------------------------- answer: its process ID ------- | setpgid(), PDEATHSIG
 *         |                        | <------------- byte on `taken` -- |
 *         |                        | peeks for the next order          | runs commands
 *
 * The races that this order prevents:
 *
 * - PR_SET_PDEATHSIG watches the parent at the time of the call. Before the process in between has
 *   ended, that would be the wrong one. So the worker waits for `go`, which the zygote writes
 *   after waitpid(). The supervisor is a child subreaper, so it inherits the worker then.
 * - The supervisor may have died already. The worker compares getppid() with the order's parent
 *   after prctl(), and exits if they differ.
 * - Two workers must not take orders at once. The zygote peeks, forks, and peeks again only after
 *   `taken`. If the worker dies early, `taken` closes and the zygote ends too.
 */

struct order {
    struct fork_request request;
    int fds[FORK_REQUEST_FDS];
};

/* Descriptor numbers in a worker. */
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
        char space[CMSG_SPACE(sizeof order->fds)];
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

/* ---- in the child ---- */

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

/* Pipes between the zygote and a new worker; [0] reads. */
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
 * Answers the order with the new worker's process ID. The worker joins a process group of
 * its own first, because the supervisor kills by group as soon as it knows the ID. The
 * supervisor must be its parent already, since PR_SET_PDEATHSIG applies to the parent of
 * that moment.
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

/* Waits for an order. False: none will come. */
static bool become_worker(int control, const struct birth *birth, char *name)
{
    struct order order;
    char byte = 0;

    if (read(birth->go[0], &byte, 1) != 1 || !receive_order(control, &order) ||
        !answer_order(control, &order))
        return false;
    if (write(birth->taken[1], &byte, 1) != 1) {
        /* The zygote has exited; the supervisor learns this at its next order. */
    }
    close(birth->go[0]);
    close(birth->taken[1]);
    take_name(name, order.request.name);
    return take_places(&order);
}

/* ---- forking ---- */

/* Forks a second time and ends the process in between, so that the worker becomes the
 * supervisor's child. Returns in the worker only. */
static void make_worker(void)
{
    if (fork() == 0)
        return;
    /* exit() under QEMU would first free all translated code, and copy the pages that hold it. */
    (void)kill(getpid(), SIGKILL);
    _exit(0);
}

enum born {
    BORN_WORKER, /* in the worker, which has its order */
    BORN_CHILD,  /* the worker has taken its order */
    BORN_NOT,    /* the fork failed, or the worker exited without an order */
};

static enum born await_taken(pid_t between, struct birth *birth)
{
    char byte;
    int status;
    bool taken;

    close(birth->go[0]);
    close(birth->taken[1]); /* close it here, so that the worker's exit ends the read below */
    while (waitpid(between, &status, 0) < 0 && errno == EINTR)
        ;
    taken = write(birth->go[1], "", 1) == 1 && read(birth->taken[0], &byte, 1) == 1;
    close(birth->go[1]);
    close(birth->taken[0]);
    return taken ? BORN_CHILD : BORN_NOT;
}

/* Like bear(), with the pipes open. */
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

/* Forks a worker that takes the next order, and waits until it has. */
static enum born bear(int control, char *name)
{
    struct birth birth;

    if (pipe2(birth.go, O_CLOEXEC) != 0 || pipe2(birth.taken, O_CLOEXEC) != 0)
        return BORN_NOT; /* the zygote ends, and with it what it has open */
    return bear_between(control, name, &birth);
}

/* Returns true if an order is waiting, and leaves it there; false also at the socket's end. */
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
