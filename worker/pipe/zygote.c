/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/pipe/zygote.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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

static void close_all(const int *fds, int count)
{
    for (int i = 0; i < count; i++)
        close(fds[i]);
}

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

static bool receive(int control, struct order *order)
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

/*
 * `go` tells that the supervisor has become its parent: whose child it was has ended. The other
 * order would not do, since a process is killed with the parent that it has when it asks for that.
 */
static bool become_worker(const struct order *order, int go, char *name)
{
    char byte;

    if (read(go, &byte, 1) != 1 || !take_places(order) || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ||
        getppid() != order->request.parent)
        return false;
    close(go);
    take_name(name, order->request.name);
    return true;
}

/* ---- making one ---- */

/* Between zygote and worker: ends at once, so that the worker gets the supervisor for a parent.
 * Returns in the worker only. */
static void make_worker(int born)
{
    const pid_t pid = fork();
    const int32_t number = pid;

    if (pid == 0)
        return;
    /* Before anybody knows it: it may be killed by its group from then on. */
    if (pid > 0 && setpgid(pid, pid) == 0 && write(born, &number, sizeof number) < 0) {
        /* The zygote ended, and with it what the worker waits for. */
    }
    /* Which waits for this one's end. QEMU's way out would first drop all that it has translated,
     * in memory that is copied for it page by page. */
    (void)kill(getpid(), SIGKILL);
    _exit(0);
}

/* 0 in the worker; its number, or -1, in the zygote. */
static pid_t bear_between(const int born[2], const int go[2])
{
    const pid_t between = fork();
    int32_t number = -1;
    int status;

    if (between == 0) {
        make_worker(born[1]);
        close(born[0]);
        close(born[1]);
        close(go[1]);
        return 0;
    }
    if (between < 0)
        return -1;
    while (waitpid(between, &status, 0) < 0 && errno == EINTR)
        ;
    /* What it has written is there, and nobody else writes. */
    if (read(born[0], &number, sizeof number) != sizeof number || write(go[1], "", 1) != 1)
        return -1;
    return number;
}

/* As bear_between(), which needs the pipes. */
static pid_t bear(const struct order *order, char *name)
{
    int born[2], go[2];
    pid_t pid = -1;

    if (pipe2(born, O_CLOEXEC | O_NONBLOCK) != 0)
        return -1;
    if (pipe2(go, O_CLOEXEC) == 0) {
        pid = bear_between(born, go);
        if (pid == 0) {
            if (!become_worker(order, go[0], name))
                _exit(1);
            return 0;
        }
        close_all(go, 2);
    }
    close_all(born, 2);
    return pid;
}

/* Whether there is an order; false also when somebody else is to take them: `other` is closed. */
static bool is_asked(int control, int other)
{
    struct pollfd awaited[] = {{.fd = control, .events = POLLIN}, {.fd = other}};

    while (poll(awaited, 2, -1) < 0)
        if (errno != EINTR)
            return false;
    return awaited[1].revents == 0;
}

/* How long the order that comes next can wait; 0: there is none. */
static int patience_of_next(int control)
{
    struct fork_request request = {0};
    struct iovec place = {&request, sizeof request};
    struct msghdr message = {.msg_iov = &place, .msg_iovlen = 1};

    return recvmsg(control, &message, MSG_PEEK) == sizeof request ? request.patience_ms : 0;
}

/* Whether the order that has come is left to somebody else, who takes it in time. Once only, so
 * that who never does holds up one order. */
static bool is_left(int control, int other, bool *patient)
{
    struct pollfd awaited = {.fd = other};
    const bool may_wait = *patient;

    *patient = false;
    return may_wait && poll(&awaited, 1, patience_of_next(control)) > 0;
}

/* As zygote_serve(), until `other` is closed; -1: it never is. */
static enum zygote_end serve(int control, char *name, int other)
{
    bool patient = other >= 0;
    struct order order;

    while (is_asked(control, other) && !is_left(control, other, &patient) &&
           receive(control, &order)) {
        const pid_t pid = bear(&order, name);
        const struct fork_answer answer = {.pid = pid > 0 ? pid : 0};

        if (pid == 0)
            return ZYGOTE_WORKER;
        close_all(order.fds, FORK_REQUEST_FDS);
        if (send(control, &answer, sizeof answer, 0) != sizeof answer)
            break;
    }
    return ZYGOTE_OVER;
}

/* In the process that answers while the zygote prepares. Returns in a worker only. */
static void stand_in(int control, char *name, const int until[2])
{
    close(until[1]);
    if (serve(control, name, until[0]) == ZYGOTE_OVER)
        _exit(0);
    close(until[0]);
}

/* True in a worker, which was made meanwhile. */
static bool prepare(int control, char *name, const struct zygote_preparation *preparation)
{
    int until[2], status;
    pid_t pid;

    if (pipe2(until, O_CLOEXEC) != 0)
        return false;
    pid = fork();
    if (pid == 0) {
        stand_in(control, name, until);
        return true;
    }
    if (pid > 0)
        preparation->prepare(preparation->context);
    close_all(until, 2);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return false;
}

enum zygote_end zygote_serve(int control, char *name, const struct zygote_preparation *preparation)
{
    if (preparation != NULL && prepare(control, name, preparation))
        return ZYGOTE_WORKER;
    return serve(control, name, -1);
}
