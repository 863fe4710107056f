/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/process/zygote.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"

/* It starts within a tenth of a second: one that does not answer was stopped. */
enum { TIMEOUT_MS = 10000 };

enum { DESCRIPTORS_MAX = 16 };

struct zygote {
    pid_t pid;
    int socket;
};

/* Its own descriptors are where a worker's are, so that what it opens itself is elsewhere. */
static int spawn_zygote(struct zygote *zygote, const struct child_launch *launch, int socket,
                        struct error *error)
{
    struct child_launch own = *launch;
    int fds[DESCRIPTORS_MAX];

    memcpy(fds, launch->fds, (size_t)launch->fd_count * sizeof *fds);
    fds[STDOUT_FILENO] = fds[STDERR_FILENO] = -1;
    fds[3] = fds[4] = fds[7] = socket;
    own.fds = fds;
    return child_process_spawn(&own, &zygote->pid, error);
}

struct zygote *zygote_start(const struct child_launch *launch, struct error *error)
{
    struct zygote *zygote = calloc(1, sizeof *zygote);
    int ends[2], result;

    if (zygote == NULL) {
        error_memory(error, "a zygote");
        return NULL;
    }
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        error_system(error, errno, "cannot make a socket for a zygote");
        free(zygote);
        return NULL;
    }
    zygote->socket = ends[0];
    result = spawn_zygote(zygote, launch, ends[1], error);
    close(ends[1]);
    if (result == 0)
        return zygote;
    close(zygote->socket);
    free(zygote);
    return NULL;
}

static bool send_fork_request(const struct zygote *zygote, const char *name,
                              const int fds[FORK_REQUEST_FDS])
{
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(FORK_REQUEST_FDS * sizeof(int))];
    } rights = {0};
    struct fork_request request = {.parent = getpid()};
    ssize_t sent;
    struct iovec place = {&request, sizeof request};
    struct msghdr message = {
        .msg_iov = &place,
        .msg_iovlen = 1,
        .msg_control = &rights,
        .msg_controllen = sizeof rights,
    };

    snprintf(request.name, sizeof request.name, "%s", name);
    rights.head.cmsg_level = SOL_SOCKET;
    rights.head.cmsg_type = SCM_RIGHTS;
    rights.head.cmsg_len = CMSG_LEN(FORK_REQUEST_FDS * sizeof(int));
    memcpy(CMSG_DATA(&rights.head), fds, FORK_REQUEST_FDS * sizeof(int));
    do
        sent = sendmsg(zygote->socket, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)sizeof request;
}

static bool receive_fork_answer(const struct zygote *zygote, struct fork_answer *answer)
{
    struct pollfd awaited = {.fd = zygote->socket, .events = POLLIN};
    int ready;

    do
        ready = poll(&awaited, 1, TIMEOUT_MS);
    while (ready < 0 && errno == EINTR);
    errno = ready == 0 ? ETIMEDOUT : errno;
    return ready > 0 &&
           recv(zygote->socket, answer, sizeof *answer, 0) == (ssize_t)sizeof *answer &&
           answer->pid > 0;
}

int zygote_fork(struct zygote *zygote, const char *name, const int fds[FORK_REQUEST_FDS],
                pid_t *pid, struct error *error)
{
    struct fork_answer answer = {0};
    cpu_set_t set;

    if (!send_fork_request(zygote, name, fds) || !receive_fork_answer(zygote, &answer))
        return error_system(error, errno, "a zygote does not answer");
    *pid = answer.pid;
    /* If Linux refuses, the worker stays where the zygote is. */
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        (void)sched_setaffinity(answer.pid, sizeof set, &set);
    return 0;
}

void zygote_end(struct zygote *zygote)
{
    if (zygote == NULL)
        return;
    close(zygote->socket);
    (void)kill(-zygote->pid, SIGKILL); /* it has nothing to lose */
    /* A worker that it was just making is in its group, and a child of this process by now. */
    while (waitpid(-zygote->pid, NULL, 0) >= 0 || errno == EINTR)
        ;
    free(zygote);
}

/* ---- when to fork ---- */

/* The workers of one zygote have the same arguments. NULL: out of memory. */
static char *join_arguments(char *const *arguments)
{
    struct buf words = {0};
    char *joined;

    for (; *arguments != NULL; arguments++)
        buf_printf(&words, "%s\n", *arguments);
    joined = buf_string(&words) != NULL ? strdup(buf_string(&words)) : NULL;
    buf_free(&words);
    return joined;
}

static bool has_same_arguments(const struct zygote_policy *policy, char *const *arguments)
{
    char *const words = join_arguments(arguments);
    const bool same = words != NULL && policy->words != NULL && strcmp(words, policy->words) == 0;

    free(words);
    return same;
}

enum zygote_choice zygote_policy_choose(struct zygote_policy *policy, char *const *arguments)
{
    if (policy->given_up)
        return ZYGOTE_EXECUTE;
    if (policy->zygote != NULL)
        return has_same_arguments(policy, arguments) ? ZYGOTE_FORK : ZYGOTE_EXECUTE;
    return policy->asked++ > 0 ? ZYGOTE_START : ZYGOTE_EXECUTE;
}

void zygote_policy_keep(struct zygote_policy *policy, struct zygote *zygote, char *const *arguments)
{
    policy->zygote = zygote;
    policy->words = join_arguments(arguments);
    if (zygote == NULL || policy->words == NULL)
        zygote_policy_give_up(policy);
}

static void drop_zygote(struct zygote_policy *policy)
{
    zygote_end(policy->zygote);
    free(policy->words);
    policy->zygote = NULL;
    policy->words = NULL;
}

void zygote_policy_give_up(struct zygote_policy *policy)
{
    drop_zygote(policy);
    policy->given_up = true;
}

void zygote_policy_free(struct zygote_policy *policy)
{
    drop_zygote(policy);
    *policy = (struct zygote_policy){0};
}
