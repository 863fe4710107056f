/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attempts that a compromised worker might make, one per call; tests/program/sandbox.bats
 * runs it in the place of a worker, natively and under QEMU.
 * usage: escape [--confined] ATTEMPT | escape --list | escape --confined --asks
 * ATTEMPT --confined happens under the filter that contracts run under; without it, under the
 * one that workers start under. Prints `refused: WORDS` or `got out`.
 * --asks makes each system call that only asks for something, and prints those that are answered.
 * Exit status: 0 refused, 1 got out, 2 usage; a kill by the filter is seen by who waits.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "counter/gasmark.h"
#include "sandbox/contract_filter.h"

/* WORKER_SAVE_FD: a file that is given. */
enum { SNAPSHOT_FD = 7 };

/* Each returns -1 with errno when it was refused. */

static long read_passwords(void)
{
    return open("/etc/passwd", O_RDONLY);
}

static long ask_for_passwords(void)
{
    struct stat status;

    return stat("/etc/passwd", &status);
}

static long read_parent_memory(void)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/mem", (int)getppid());
    return open(path, O_RDWR);
}

static long write_home(void)
{
    return open("/tmp/gaspipe-escape", O_WRONLY | O_CREAT, 0600);
}

static long shared_memory(void)
{
    return open("/dev/shm/gaspipe-escape", O_RDWR | O_CREAT, 0600);
}

static long socket_of(int family, int type)
{
    return socket(family, type, 0);
}

static long internet_socket(void)
{
    return socket_of(AF_INET, SOCK_STREAM);
}

static long datagram_socket(void)
{
    return socket_of(AF_INET6, SOCK_DGRAM);
}

static long unix_socket(void)
{
    return socket_of(AF_UNIX, SOCK_STREAM);
}

static long netlink_socket(void)
{
    return socket_of(AF_NETLINK, SOCK_RAW);
}

static long packet_socket(void)
{
    return socket_of(AF_PACKET, SOCK_RAW);
}

static long pair_of_sockets(void)
{
    int pair[2];

    return socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
}

/* A socket of any family that Linux supports. */
static long any_socket(void)
{
    static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET};
    long made = -1;
    int problem = 0;

    for (int family = 0; family < 64 && made < 0; family++) {
        for (size_t i = 0; i < sizeof types / sizeof *types && made < 0; i++)
            made = socket_of(family, types[i]);
        problem = errno;
    }
    errno = problem;
    return made;
}

static long abstract_socket(void)
{
    const struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "\0gaspipe-escape"};
    const long fd = socket_of(AF_UNIX, SOCK_DGRAM);

    return fd < 0 ? -1 : bind((int)fd, (const struct sockaddr *)&address, sizeof address);
}

/* Anything that could be filled. */
static long fill_disk(void)
{
    static const char *const directories[] = {".", "/", "/tmp", "/var/tmp", "/dev/shm", "/run"};
    long made = syscall(SYS_memfd_create, "gaspipe-escape", 0);

    for (size_t i = 0; i < sizeof directories / sizeof *directories && made < 0; i++)
        made = open(directories[i], O_TMPFILE | O_RDWR, 0600);
    return made;
}

/* By the system calls that the C library does not make. */
static long fork_bomb(void)
{
    const struct clone_args arguments = {.exit_signal = SIGCHLD};
    long made = syscall(SYS_fork);

    if (made < 0)
        made = syscall(SYS_clone3, &arguments, sizeof arguments);
    if (made == 0)
        _exit(0);
    return made;
}

static long execute_shell(void)
{
    char *arguments[] = {"sh", "-c", "echo got out", NULL};

    return execve("/bin/sh", arguments, NULL);
}

static long execute_memory(void)
{
    const long fd = syscall(SYS_memfd_create, "escape", 0);
    char *arguments[] = {"escape", NULL};

    return fd < 0 ? -1 : syscall(SYS_execveat, fd, "", arguments, NULL, AT_EMPTY_PATH);
}

static long make_process(void)
{
    const long pid = syscall(SYS_fork);

    if (pid == 0)
        _exit(0);
    return pid;
}

static long clone_process(void)
{
    const long pid = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);

    if (pid == 0)
        _exit(0);
    return pid;
}

static long clone_into_namespaces(void)
{
    const long pid =
        syscall(SYS_clone, SIGCHLD | CLONE_NEWUSER | CLONE_NEWPID, NULL, NULL, NULL, 0);

    if (pid == 0)
        _exit(0);
    return pid;
}

static long trace_parent(void)
{
    return ptrace(PTRACE_ATTACH, getppid(), NULL, NULL);
}

static long read_parent(void)
{
    char byte;
    struct iovec here = {&byte, 1}, there = {(void *)(uintptr_t)0x400000, 1};

    return process_vm_readv(getppid(), &here, 1, &there, 1, 0);
}

static long write_parent(void)
{
    char byte = 0;
    struct iovec here = {&byte, 1}, there = {(void *)(uintptr_t)0x400000, 1};

    return process_vm_writev(getppid(), &here, 1, &there, 1, 0);
}

static long signal_parent(void)
{
    return kill(getppid(), SIGTERM);
}

static long signal_everybody(void)
{
    return kill(-1, SIGCONT);
}

static long signal_thread_of_parent(void)
{
    return syscall(SYS_tgkill, getppid(), getppid(), 0);
}

/* Its parent would get a signal when the pipe becomes readable. */
static long give_pipe_to_parent(long command)
{
    int ends[2];

    if (pipe(ends) != 0)
        return -1;
    return syscall(SYS_fcntl, ends[0], command, getppid());
}

static long own_pipe_for_parent(void)
{
    return give_pipe_to_parent(F_SETOWN);
}

/* The kernel sees the lower half of the command. */
static long own_pipe_for_parent_hidden(void)
{
    return give_pipe_to_parent(F_SETOWN | 1L << 32);
}

static long outlive_parent(void)
{
    return prctl(PR_SET_PDEATHSIG, 0);
}

static long limit_parent(void)
{
    struct rlimit limit;

    return prlimit(getppid(), RLIMIT_NOFILE, NULL, &limit);
}

static long place_parent(void)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(0, &set);
    return sched_setaffinity(getppid(), sizeof set, &set);
}

static long ask_for_session_of_parent(void)
{
    return getsid(getppid());
}

static long ask_for_priority_of_parent(void)
{
    return getpriority(PRIO_PROCESS, (id_t)getppid());
}

static long slow_parent(void)
{
    return setpriority(PRIO_PROCESS, (id_t)getppid(), getpriority(PRIO_PROCESS, (id_t)getppid()));
}

static long move_memory_of_parent(void)
{
    static const unsigned long nodes = 1;

    return syscall(SYS_migrate_pages, getppid(), 8 * sizeof nodes, &nodes, &nodes);
}

static long io_ring(void)
{
    char parameters[120] = {0};

    return syscall(SYS_io_uring_setup, 1, parameters);
}

static long fault_handler(void)
{
    return syscall(SYS_userfaultfd, 1 /* of user mode only */);
}

static long load_bpf(void)
{
    union bpf_attr attributes = {
        .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};

    return syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof attributes);
}

static long join_keyring(void)
{
    return syscall(SYS_keyctl, 1 /* KEYCTL_JOIN_SESSION_KEYRING */, NULL);
}

static long own_namespaces(void)
{
    return unshare(CLONE_NEWUSER | CLONE_NEWNS);
}

static long map_executable(void)
{
    void *memory =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED ? -1 : munmap(memory, 4096);
}

static long make_executable(void)
{
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return mprotect(memory, 4096, PROT_READ | PROT_EXEC);
}

static long map(size_t size, int flags)
{
    void *memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return memory == MAP_FAILED ? -1 : munmap(memory, size);
}

/* In two steps, which pass RLIMIT_DATA. */
static long fill_memory(void)
{
    const size_t size = (size_t)17 << 30;
    void *place = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (place == MAP_FAILED)
        return -1;
    place = mmap(place, size, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    return place == MAP_FAILED ? -1 : munmap(place, size);
}

static long fill_heap(void)
{
    const size_t piece = (size_t)64 << 20, wanted = (size_t)17 << 30;
    size_t had = 0;

    while (had <= wanted && sbrk((intptr_t)piece) != (void *)-1)
        had += piece;
    return had > wanted ? 0 : -1;
}

static long fill_shared_memory(void)
{
    return map(4096, MAP_SHARED);
}

/* The file that a worker was given for its snapshot. */
static long fill_snapshot(void)
{
    return ftruncate(SNAPSHOT_FD, (off_t)5 << 30);
}

static long message_queue(void)
{
    return syscall(SYS_mq_open, "gaspipe-escape", O_RDWR | O_CREAT, 0600, NULL);
}

static long become_root(void)
{
    return syscall(SYS_setuid, 0);
}

static long list_processes(void)
{
    return open("/proc/1/cmdline", O_RDONLY);
}

static const struct {
    const char *name;
    long (*attempt)(void);
} attempts[] = {
    {"read-passwords", read_passwords},
    {"ask-for-passwords", ask_for_passwords},
    {"read-parent-memory", read_parent_memory},
    {"write-home", write_home},
    {"shared-memory", shared_memory},
    {"internet-socket", internet_socket},
    {"datagram-socket", datagram_socket},
    {"unix-socket", unix_socket},
    {"netlink-socket", netlink_socket},
    {"packet-socket", packet_socket},
    {"pair-of-sockets", pair_of_sockets},
    {"any-socket", any_socket},
    {"abstract-socket", abstract_socket},
    {"fill-disk", fill_disk},
    {"fill-memory", fill_memory},
    {"fill-heap", fill_heap},
    {"fill-snapshot", fill_snapshot},
    {"fork-bomb", fork_bomb},
    {"execute-shell", execute_shell},
    {"execute-memory", execute_memory},
    {"make-process", make_process},
    {"clone-process", clone_process},
    {"clone-into-namespaces", clone_into_namespaces},
    {"trace-parent", trace_parent},
    {"read-parent", read_parent},
    {"write-parent", write_parent},
    {"signal-parent", signal_parent},
    {"signal-everybody", signal_everybody},
    {"signal-thread-of-parent", signal_thread_of_parent},
    {"own-pipe-for-parent", own_pipe_for_parent},
    {"own-pipe-for-parent-hidden", own_pipe_for_parent_hidden},
    {"outlive-parent", outlive_parent},
    {"limit-parent", limit_parent},
    {"place-parent", place_parent},
    {"ask-for-session-of-parent", ask_for_session_of_parent},
    {"ask-for-priority-of-parent", ask_for_priority_of_parent},
    {"slow-parent", slow_parent},
    {"move-memory-of-parent", move_memory_of_parent},
    {"io-ring", io_ring},
    {"fault-handler", fault_handler},
    {"load-bpf", load_bpf},
    {"join-keyring", join_keyring},
    {"own-namespaces", own_namespaces},
    {"message-queue", message_queue},
    {"become-root", become_root},
    {"list-processes", list_processes},
    /* Under the contract filter only: a worker that starts must load its libraries. */
    {"map-executable", map_executable},
    {"make-executable", make_executable},
    {"fill-shared-memory", fill_shared_memory},
};

enum { ATTEMPTS = sizeof attempts / sizeof *attempts };

static char answers[4096];

/* One system call that only asks: 0, or 1 if it was answered. */
static int ask(const char *name, long number, long first, long second, long third, long fourth)
{
    if (syscall(number, first, second, third, fourth) < 0)
        return 0;
    printf("%s: answered\n", name);
    return 1;
}

#define ASK(name, first, second, third, fourth)                                                    \
    ask(#name, SYS_##name, (long)(first), (long)(second), (long)(third), (long)(fourth))

static int ask_files(void)
{
    const char *path = "/etc/passwd";

    /* Newer QEMUs answer what /proc/self/exe links to, without Linux. */
    return ASK(open, path, O_RDONLY, 0, 0) + ASK(openat, AT_FDCWD, path, O_RDONLY, 0) +
           ASK(access, path, R_OK, 0, 0) + ASK(faccessat, AT_FDCWD, path, R_OK, 0) +
           ASK(stat, path, answers, 0, 0) + ASK(lstat, path, answers, 0, 0) +
           ASK(newfstatat, AT_FDCWD, path, answers, 0) + ASK(statx, AT_FDCWD, path, 0, 0xfff) +
           ASK(readlink, "/proc/self/cwd", answers, sizeof answers, 0) +
           ASK(readlinkat, AT_FDCWD, "/proc/self/cwd", answers, sizeof answers) +
           ASK(statfs, "/", answers, 0, 0) + ASK(fstatfs, 2, answers, 0, 0) +
           ASK(getcwd, answers, sizeof answers, 0, 0) + ASK(getdents64, 2, answers, 4096, 0) +
           ASK(getxattr, path, "user.a", answers, 1) + ASK(listxattr, path, answers, 1, 0) +
           ASK(fgetxattr, 2, "user.a", answers, 1) + ASK(flistxattr, 2, answers, 1, 0) +
           ASK(ioctl, 2, 0x5401 /* TCGETS */, answers, 0) + ASK(poll, answers, 0, 0, 0) +
           ASK(name_to_handle_at, AT_FDCWD, path, answers, answers + 64) + ASK(select, 0, 0, 0, 0) +
           ASK(getsockname, 2, answers, answers, 0) + ASK(fcntl, 2, F_GETOWN, 0, 0) +
           ASK(fcntl, 2, F_GETSIG, 0, 0);
}

static int ask_machine(void)
{
    return ASK(sysinfo, answers, 0, 0, 0) + ASK(uname, answers, 0, 0, 0) +
           ASK(getcpu, answers, answers + 8, 0, 0) + ASK(sched_getaffinity, 0, 128, answers, 0) +
           ASK(sched_getparam, 0, answers, 0, 0) + ASK(sched_getscheduler, 0, 0, 0, 0) +
           ASK(sched_get_priority_max, 0, 0, 0, 0) + ASK(sched_get_priority_min, 0, 0, 0, 0) +
           ASK(sched_rr_get_interval, 0, answers, 0, 0) + ASK(getpriority, 0, 0, 0, 0) +
           ASK(ioprio_get, 1, 0, 0, 0) + ASK(get_mempolicy, answers, 0, 0, 0) +
           ASK(clock_adjtime, CLOCK_REALTIME, answers, 0, 0) + ASK(adjtimex, answers, 0, 0, 0) +
           ASK(syslog, 10 /* SIZE_BUFFER */, 0, 0, 0) + ASK(mincore, 0, 0, answers, 0) +
           ASK(sched_getattr, 0, answers, 64, 0);
}

static int ask_process(void)
{
    return ASK(prlimit64, 0, RLIMIT_NOFILE, 0, answers) + ASK(times, answers, 0, 0, 0) +
           ASK(getuid, 0, 0, 0, 0) + ASK(geteuid, 0, 0, 0, 0) + ASK(getgid, 0, 0, 0, 0) +
           ASK(getegid, 0, 0, 0, 0) + ASK(getgroups, 64, answers, 0, 0) +
           ASK(getresuid, answers, answers + 8, answers + 16, 0) +
           ASK(getresgid, answers, answers + 8, answers + 16, 0) + ASK(getppid, 0, 0, 0, 0) +
           ASK(getpgid, 0, 0, 0, 0) + ASK(getpgrp, 0, 0, 0, 0) + ASK(getsid, 0, 0, 0, 0) +
           ASK(getitimer, 0, answers, 0, 0) + ASK(getrlimit, RLIMIT_CPU, answers, 0, 0) +
           ASK(capget, answers, answers + 16, 0, 0) + ASK(timer_gettime, 0, answers, 0, 0) +
           ASK(timer_getoverrun, 0, 0, 0, 0) + ASK(get_robust_list, 0, answers, answers + 8, 0) +
           ASK(kcmp, getpid(), getpid(), 1, 0) + ASK(rt_sigpending, answers, 8, 0, 0) +
           ASK(prctl, PR_GET_NAME, answers, 0, 0) + ASK(prctl, PR_GET_SECCOMP, 0, 0, 0) +
           ASK(prctl, PR_GET_DUMPABLE, 0, 0, 0);
}

static int try_one(const char *name)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        if (strcmp(attempts[i].name, name) != 0)
            continue;
        if (attempts[i].attempt() < 0) {
            printf("refused: %s\n", strerror(errno));
            return 0;
        }
        puts("got out");
        return 1;
    }
    fprintf(stderr, "escape: there is no attempt '%s'\n", name);
    return 2;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (int i = 0; i < ATTEMPTS; i++)
            puts(attempts[i].name);
        return 0;
    }
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    if (argc == 3 && strcmp(argv[1], "--confined") == 0) {
        const uint64_t answer = gasmark_confine();
        const int errnum =
            answer == GASMARK_NONE ? sandbox_enter_contract_filter(false) : (int)answer;

        if (errnum != 0) {
            fprintf(stderr, "escape: %s\n", strerror(errnum));
            return 2;
        }
        if (strcmp(argv[2], "--asks") == 0)
            return ask_files() + ask_machine() + ask_process() == 0 ? 0 : 1;
        return try_one(argv[2]);
    }
    if (argc != 2) {
        fputs("usage: escape [--confined] ATTEMPT | escape --list | escape --confined --asks\n",
              stderr);
        return 2;
    }
    return try_one(argv[1]);
}
