/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>

#include "sandbox/contract_filter.h"
#include "sandbox/filters/rules.h"

/* Linux uses the lower half of an argument that is an int. */
static const scmp_datum_t int_bits = 0xffffffff;

/*
 * Grouped by what a process could do with them. Calls that Linux or libseccomp does not know are
 * refused as well.
 */
static const char *const refused[] = {
    /* processes, and other processes' memory */
    "execveat",
    "ptrace",
    "process_madvise",
    "kcmp",
    "pidfd_open",
    "pidfd_getfd",
    "pidfd_send_signal",
    "tkill",
    "rt_sigqueueinfo",
    "rt_tgsigqueueinfo",
    "setsid",
    "sched_setscheduler",
    "sched_setparam",
    "sched_setattr",
    "ioprio_set",
    "setpriority",
    "migrate_pages",
    "move_pages",
    "process_mrelease",
    "get_robust_list",
    /* the network, and messages between processes */
    "socket",
    "socketpair",
    "connect",
    "bind",
    "listen",
    "accept",
    "accept4",
    "sendmmsg",
    "recvfrom",
    "recvmmsg",
    "shmget",
    "shmat",
    "msgget",
    "msgsnd",
    "msgrcv",
    "semget",
    "semop",
    "mq_open",
    "mq_unlink",
    /* files that are made, changed or executed out of memory */
    "memfd_create",
    "memfd_secret",
    "unlink",
    "unlinkat",
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "symlink",
    "symlinkat",
    "mkdir",
    "mkdirat",
    "rmdir",
    "mknod",
    "mknodat",
    "chmod",
    "fchmod",
    "fchmodat",
    "chown",
    "fchown",
    "lchown",
    "fchownat",
    "truncate",
    "setxattr",
    "lsetxattr",
    "fsetxattr",
    "removexattr",
    "lremovexattr",
    "fremovexattr",
    "utime",
    "utimes",
    "utimensat",
    "futimesat",
    "name_to_handle_at",
    "open_by_handle_at",
    "fanotify_init",
    "inotify_init",
    "inotify_init1",
    "creat",
    /* privileges, namespaces, mounts */
    "setuid",
    "setgid",
    "setreuid",
    "setregid",
    "setresuid",
    "setresgid",
    "setgroups",
    "setfsuid",
    "setfsgid",
    "capset",
    "unshare",
    "setns",
    "mount",
    "umount2",
    "pivot_root",
    "chroot",
    "open_tree",
    "move_mount",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "mount_setattr",
    "personality",
    /* Linux */
    "bpf",
    "perf_event_open",
    "userfaultfd",
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "keyctl",
    "add_key",
    "request_key",
    "init_module",
    "finit_module",
    "delete_module",
    "kexec_load",
    "kexec_file_load",
    "reboot",
    "swapon",
    "swapoff",
    "acct",
    "quotactl",
    "quotactl_fd",
    "iopl",
    "ioperm",
    "syslog",
    "settimeofday",
    "clock_settime",
    "clock_adjtime",
    "adjtimex",
    "sethostname",
    "setdomainname",
    "vhangup",
    "lookup_dcookie",
    "nfsservctl",
};

/* A zygote creates workers with these. */
static const char *const refused_to_workers[] = {
    "fork", "vfork", "setpgid", "sendto", "sendmsg", "recvmsg",
};

static int refuse_all(scmp_filter_ctx filter, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const int number = seccomp_syscall_resolve_name(names[i]);
        int result = 0;

        if (number != __NR_SCMP_ERROR)
            result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 0);
        if (result != 0)
            return result;
    }
    return 0;
}

/*
 * The counter accesses its guest's memory, which is its own, with these. QEMU ends by the signal
 * by which its guest ended; if refused, it would wait for ever.
 */
static int refuse_others(scmp_filter_ctx filter)
{
    static const int calls[] = {SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev),
                                SCMP_SYS(kill), SCMP_SYS(tgkill)};
    int result = 0;

    for (size_t i = 0; i < sizeof calls / sizeof *calls && result == 0; i++)
        result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), calls[i], 1,
                                  SCMP_A0(SCMP_CMP_NE, FILTER_OWN_PID, 0));
    return result;
}

/* Calls that name a process by its number; 0 is the caller. */
static int refuse_numbers(scmp_filter_ctx filter)
{
    static const struct {
        int call;
        unsigned argument; /* the number's */
    } calls[] = {
        {SCMP_SYS(prlimit64), 0}, {SCMP_SYS(sched_setaffinity), 0}, {SCMP_SYS(getsid), 0},
        {SCMP_SYS(getpgid), 0},   {SCMP_SYS(getpriority), 1},       {SCMP_SYS(ioprio_get), 1},
    };
    int result = 0;

    for (size_t i = 0; i < sizeof calls / sizeof *calls && result == 0; i++)
        result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), calls[i].call, 1,
                                  SCMP_CMP(calls[i].argument, SCMP_CMP_NE, 0, 0));
    return result;
}

/* A descriptor's owner gets signals when input arrives. */
static int refuse_owners(scmp_filter_ctx filter)
{
    static const scmp_datum_t commands[] = {F_SETOWN, F_SETOWN_EX, F_SETSIG};
    int result = 0;

    for (size_t i = 0; i < sizeof commands / sizeof *commands && result == 0; i++)
        result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(fcntl), 1,
                                  SCMP_A1(SCMP_CMP_MASKED_EQ, int_bits, commands[i]));
    return result;
}

/* With another signal it would outlive gaspipe. */
static int refuse_outliving(scmp_filter_ctx filter)
{
    return seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prctl), 2,
                            SCMP_A0(SCMP_CMP_MASKED_EQ, int_bits, PR_SET_PDEATHSIG),
                            SCMP_A1(SCMP_CMP_NE, SIGKILL, 0));
}

/*
 * Threads may be created, processes not. The arguments of clone3() are in memory, which filters
 * cannot read, so it is refused and callers fall back to clone().
 */
static int refuse_processes(scmp_filter_ctx filter)
{
    const int result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);

    return result != 0 ? result
                       : seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                                          SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
}

/* refuse_others() allows the process's own number only, but its children have others. */
int rules_zygote(scmp_filter_ctx filter)
{
    int result = refuse_all(filter, refused, sizeof refused / sizeof *refused);

    if (result == 0)
        result = refuse_numbers(filter);
    if (result == 0)
        result = refuse_owners(filter);
    return result == 0 ? refuse_outliving(filter) : result;
}

int rules_start(scmp_filter_ctx filter)
{
    int result = rules_zygote(filter);

    if (result == 0)
        result = refuse_all(filter, refused_to_workers,
                            sizeof refused_to_workers / sizeof *refused_to_workers);
    if (result == 0)
        result = refuse_others(filter);
    return result == 0 ? refuse_processes(filter) : result;
}
