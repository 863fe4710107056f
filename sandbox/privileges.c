/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/privileges.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    int resource;
    const char *name;
    rlim_t most;
} limits[] = {
    {RLIMIT_CORE, "core files", 0},
    {RLIMIT_NOFILE, "descriptors", 64}, /* a worker has six, QEMU some ten more */
    {RLIMIT_FSIZE, "file sizes", (rlim_t)4 << 30},
    /* XS's heap has 2 GiB at most, and for a moment twice that while it grows; what else a worker
     * reserves, with QEMU, is less than 2. RLIMIT_DATA would not hold: memory that is mapped in the
     * place of a reservation passes it. */
    {RLIMIT_AS, "addresses", (rlim_t)16 << 30},
    {RLIMIT_MEMLOCK, "locked memory", 0},
    {RLIMIT_MSGQUEUE, "message queues", 0},
};

int sandbox_limit_resources(struct error *error)
{
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct rlimit limit;

        if (getrlimit((__rlimit_resource_t)limits[i].resource, &limit) != 0)
            return error_system(error, errno, "cannot read the limit of %s", limits[i].name);
        if (limit.rlim_max > limits[i].most)
            limit.rlim_max = limits[i].most;
        limit.rlim_cur = limit.rlim_max;
        if (setrlimit((__rlimit_resource_t)limits[i].resource, &limit) != 0)
            return error_system(error, errno, "cannot limit %s", limits[i].name);
    }
    return 0;
}

/* Writes `text` to a file of the process's folder in /proc. */
static bool tell_kernel(const char *path, const char *text)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool told;

    if (fd < 0)
        return false;
    told = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    return close(fd) == 0 && told;
}

/* A user keeps their number in the user namespace: who has none there can make no file, also not
 * in a root of their own. */
static bool keep_numbers(uid_t user, gid_t group)
{
    char users[64], groups[64];

    snprintf(users, sizeof users, "%u %u 1", user, user);
    snprintf(groups, sizeof groups, "%u %u 1", group, group);
    return tell_kernel("/proc/self/uid_map", users) &&
           tell_kernel("/proc/self/setgroups", "deny") && tell_kernel("/proc/self/gid_map", groups);
}

void sandbox_enter_namespaces(unsigned *had)
{
    static const struct {
        int flag;
        enum sandbox_namespace name;
    } namespaces[] = {
        {CLONE_NEWUSER, SANDBOX_NAMESPACE_USER}, /* first: it gives the right to the others */
        {CLONE_NEWNET, SANDBOX_NAMESPACE_NETWORK},
        {CLONE_NEWIPC, SANDBOX_NAMESPACE_IPC},
    };

    const uid_t user = getuid();
    const gid_t group = getgid();

    *had = 0;
    for (size_t i = 0; i < sizeof namespaces / sizeof *namespaces; i++)
        if (unshare(namespaces[i].flag) == 0)
            *had |= namespaces[i].name;
    if ((*had & SANDBOX_NAMESPACE_USER) != 0 && !keep_numbers(user, group))
        *had &= ~(unsigned)SANDBOX_NAMESPACE_USER;
}

static int drop_capabilities(struct error *error)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};

    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
        return error_system(error, errno, "cannot clear the ambient capabilities");
    /* Linux names its last capability by refusing what is above. Who may not drop has
     * nothing to drop it from. */
    for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
        if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 && errno != EPERM)
            return error_system(error, errno, "cannot drop capability %d", capability);
    if (syscall(SYS_capset, &header, none) != 0)
        return error_system(error, errno, "cannot drop the capabilities");
    return 0;
}

int sandbox_drop_privileges(struct error *error)
{
    if (drop_capabilities(error) != 0)
        return -1;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return error_system(error, errno, "cannot set no_new_privs");
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
        return error_system(error, errno, "cannot ask to be killed with the parent");
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        return error_system(error, errno, "cannot refuse to be dumped");
    return 0;
}
