/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: faulty_worker ARGUMENT...
 * A worker that misbehaves on request. It starts the program `real` in its own
 * directory with the same arguments, and passes frames between that and its supervisor.
 * A frame down that has `faulty:KIND:N` in it is passed too; when the real worker's Nth
 * frame since then comes, what stands for KIND below happens in that frame's place. With
 * the name of a file in that directory, `faulty:KIND:N:FILE`, it does so only while that file has
 * bytes, and takes one away each time.
 * While there is a file `frames` there, each frame down takes one of its bytes away; for the
 * last it makes the file `hung`, and hangs.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "proto/netstring.h"

enum {
    FROM_SUPERVISOR = 3,
    TO_SUPERVISOR = 4,
    SAVED = 7,
    CAP = 64 << 20,
    CHUNK = 64 << 10,
    NAME_SIZE = 32
};

/* One direction of the pipe. */
struct way {
    int in, out;
    struct netstring_decoder decoder;
    void (*pass)(struct way *way, struct iovec frame);
};

/* The requested fault and the frame it replaces; kind is empty if none is due. */
static struct {
    char kind[NAME_SIZE];
    unsigned frames;
} fault;

/* The real worker's snapshot, and how much of it the supervisor has received. */
static struct {
    int fd;
    off_t passed;
} kept;

static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "faulty_worker: %s: %s\n", what, strerror(errno));
    _exit(99);
}

static void write_bytes(int fd, const void *bytes, size_t length)
{
    if (io_write_all(fd, bytes, length) != 0)
        _exit(0); /* who read it is gone */
}

static void send_frame(int fd, struct iovec payload)
{
    struct netstring_frame frame;

    netstring_encode(&frame, &payload, 1);
    if (io_writev_all(fd, frame.pieces, frame.count) != 0)
        _exit(0);
}

/* ---- snapshots ---- */

static off_t kept_size(void)
{
    struct stat status;

    if (fstat(kept.fd, &status) != 0)
        give_up("the snapshot");
    return status.st_size;
}

static void pass_snapshot(void)
{
    const off_t size = kept_size();

    while (kept.passed < size)
        if (sendfile(SAVED, kept.fd, &kept.passed, (size_t)(size - kept.passed)) < 0 &&
            errno != EINTR)
            _exit(0); /* who read it is gone */
}

/* ---- the faults ---- */

static void send_garbage(struct iovec frame)
{
    (void)frame;
    write_bytes(TO_SUPERVISOR, "this is not a frame", strlen("this is not a frame"));
}

static void send_huge(struct iovec frame)
{
    (void)frame;
    write_bytes(TO_SUPERVISOR, "99999999999:", strlen("99999999999:"));
}

static void send_unknown(struct iovec frame)
{
    (void)frame;
    send_frame(TO_SUPERVISOR, (struct iovec){"z", 1});
}

static void send_half(struct iovec frame)
{
    char head[32];

    snprintf(head, sizeof head, "%zu:", frame.iov_len);
    write_bytes(TO_SUPERVISOR, head, strlen(head));
    write_bytes(TO_SUPERVISOR, frame.iov_base, frame.iov_len / 2);
    _exit(0);
}

/* In one write: they come together. */
static void send_twice(struct iovec frame)
{
    struct netstring_frame once, again;
    struct iovec pieces[2 * (NETSTRING_PARTS_MAX + 2)];

    netstring_encode(&once, &frame, 1);
    netstring_encode(&again, &frame, 1);
    memcpy(pieces, once.pieces, (size_t)once.count * sizeof *pieces);
    memcpy(pieces + once.count, again.pieces, (size_t)again.count * sizeof *pieces);
    if (io_writev_all(TO_SUPERVISOR, pieces, once.count + again.count) != 0)
        _exit(0);
}

static void be_killed(struct iovec frame)
{
    (void)frame;
    raise(SIGKILL);
}

static void be_stopped(struct iovec frame)
{
    (void)frame;
    raise(SIGSTOP);
}

static void hang(struct iovec frame)
{
    (void)frame;
    for (;;)
        pause();
}

static void leave(struct iovec frame)
{
    (void)frame;
    _exit(7);
}

static void print_megabytes(unsigned megabytes, const char *line)
{
    static char bytes[1 << 20];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = line[i % strlen(line)];
    for (unsigned i = 0; i < megabytes; i++)
        write_bytes(STDOUT_FILENO, bytes, sizeof bytes);
}

static void print_lines(struct iovec frame)
{
    print_megabytes(16, "what a worker prints when it has nothing to say\n");
    send_frame(TO_SUPERVISOR, frame);
}

static void print_without_end(struct iovec frame)
{
    (void)frame;
    for (;;)
        print_megabytes(1, "no end of line ");
}

/* 20 MiB of empty lists in a result: values of jansson would take 40 times as much. */
static void send_lists(struct iovec frame)
{
    enum { SIZE = 20 << 20 };
    static const char head[] = ".{\"currentHeapCount\":1,\"compute\":1,\"allocate\":1,"
                               "\"timestamps\":[1,2]}\1[\"ok\",[[]";
    static const char list[] = {',', '[', ']'}, end[] = {']', ']'};
    char *bytes = malloc(SIZE);
    size_t length = sizeof head - 1;

    (void)frame;
    if (bytes == NULL)
        give_up("malloc");
    memcpy(bytes, head, length);
    for (; length + 5 < SIZE; length += 3)
        memcpy(bytes + length, list, sizeof list);
    memcpy(bytes + length, end, sizeof end);
    send_frame(TO_SUPERVISOR, (struct iovec){bytes, length + 2});
    free(bytes);
}

/* The snapshot that the real worker just wrote, replaced by as many bytes of nothing. */
static void spoil_snapshot(struct iovec frame)
{
    static const char bytes[4096];

    while (kept.passed < kept_size()) {
        const off_t left = kept_size() - kept.passed;
        const size_t length = left < (off_t)sizeof bytes ? (size_t)left : sizeof bytes;

        write_bytes(SAVED, bytes, length);
        kept.passed += (off_t)length;
    }
    send_frame(TO_SUPERVISOR, frame);
}

static const struct {
    const char *kind;
    void (*cause)(struct iovec frame);
} faults[] = {
    {"garbage", send_garbage}, {"huge", send_huge},    {"unknown", send_unknown},
    {"half", send_half},       {"twice", send_twice},  {"kill", be_killed},
    {"stop", be_stopped},      {"hang", hang},         {"exit", leave},
    {"lists", send_lists},     {"print", print_lines}, {"flood", print_without_end},
    {"spoil", spoil_snapshot},
};

/* Results that cannot be read, sent in a frame's place. */
#define METER(compute) "{\"currentHeapCount\":1," compute "\"allocate\":1,\"timestamps\":[1,2]}\1"
#define GOOD_METER     METER("\"compute\":1,")

static const struct {
    const char *kind, *frame;
} results[] = {
    {"empty", "."},
    {"meterless", ".[\"ok\",null]"},
    {"meterempty", ".{}\1[\"ok\",null]"},
    {"meterwordy", ".yes\1[\"ok\",null]"},
    {"computenegative", "." METER("\"compute\":-1,") "[\"ok\",null]"},
    {"computenan", "." METER("\"compute\":NaN,") "[\"ok\",null]"},
    {"computehuge", "." METER("\"compute\":1e999,") "[\"ok\",null]"},
    {"computelong", "." METER("\"compute\":9223372036854775808,") "[\"ok\",null]"},
    {"computetext", "." METER("\"compute\":\"1\",") "[\"ok\",null]"},
    {"computetwice", "." METER("\"compute\":1,\"compute\":1,") "[\"ok\",null]"},
    {"computemissing", "." METER("") "[\"ok\",null]"},
    {"okk", "." GOOD_METER "[\"okk\"]"},
    {"ready", "." GOOD_METER "[\"dispatchReady\"]"},
    {"wordless", "." GOOD_METER "[]"},
    {"errorless", "." GOOD_METER "[\"error\"]"},
    {"number", "." GOOD_METER "5"},
    {"cut", "." GOOD_METER "[\"ok\",nul"},
    {"more", "." GOOD_METER "[\"ok\",null] and more"},
};

/* False: there is no such kind. */
static bool send_result(const char *kind)
{
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        if (strcmp(results[i].kind, kind) == 0) {
            send_frame(TO_SUPERVISOR,
                       (struct iovec){(char *)results[i].frame, strlen(results[i].frame)});
            return true;
        }
    }
    return false;
}

static void cause_fault(struct iovec frame)
{
    if (send_result(fault.kind)) {
        fault.kind[0] = '\0';
        return;
    }
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        if (strcmp(faults[i].kind, fault.kind) == 0) {
            fault.kind[0] = '\0';
            faults[i].cause(frame);
            return;
        }
    }
    errno = EINVAL;
    give_up(fault.kind);
}

/* ---- the frame at which a fault occurs ---- */

/* Takes a byte of the file away; false: it has none. */
static bool take_one(const char *file)
{
    struct stat status;

    if (stat(file, &status) != 0)
        give_up(file);
    if (status.st_size == 0)
        return false;
    if (truncate(file, status.st_size - 1) != 0)
        give_up(file);
    return true;
}

/* Copies a word of lower-case letters, cut to the space; returns the text after it. */
static char *take_word(char *text, char word[NAME_SIZE])
{
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz");

    if (length == 0 || length >= NAME_SIZE) {
        errno = EINVAL;
        give_up(text);
    }
    memcpy(word, text, length);
    word[length] = '\0';
    return text + length;
}

/* KIND:N or KIND:N:FILE */
static void read_fault(char *text, char file[NAME_SIZE])
{
    char *end = take_word(text, fault.kind);

    if (*end != ':') {
        errno = EINVAL;
        give_up(text);
    }
    fault.frames = (unsigned)strtoul(end + 1, &end, 10);
    if (*end == ':')
        take_word(end + 1, file);
}

static void look_for_fault(struct iovec frame)
{
    static const char mark[] = "faulty:";
    const char *found = memmem(frame.iov_base, frame.iov_len, mark, strlen(mark));
    char text[128] = "", file[NAME_SIZE] = "";
    size_t left;

    if (found == NULL)
        return;
    left = frame.iov_len - (size_t)(found - (const char *)frame.iov_base);
    memcpy(text, found, left < sizeof text ? left : sizeof text - 1);
    read_fault(text + strlen(mark), file);
    if (file[0] != '\0' && !take_one(file))
        fault.kind[0] = '\0';
}

static void hang_at_last_frame(void)
{
    struct stat status;
    int fd;

    if (stat("frames", &status) != 0)
        return;
    if (truncate("frames", status.st_size - 1) != 0)
        give_up("frames");
    if (status.st_size > 1)
        return;
    fd = open("hung", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        give_up("hung");
    close(fd);
    hang((struct iovec){0});
}

static void pass_down(struct way *way, struct iovec frame)
{
    hang_at_last_frame();
    look_for_fault(frame);
    send_frame(way->out, frame);
}

static void pass_up(struct way *way, struct iovec frame)
{
    if (fault.kind[0] != '\0' && --fault.frames == 0) {
        cause_fault(frame);
        return;
    }
    pass_snapshot();
    send_frame(way->out, frame);
}

/* ---- passing frames ---- */

/* False at the end of what comes. */
static bool pass_on(struct way *way)
{
    static char bytes[CHUNK];
    const ssize_t count = read(way->in, bytes, sizeof bytes);
    size_t done = 0, used;
    struct iovec frame;
    struct error error;

    if (count < 0 && errno != EINTR)
        give_up("read");
    while (count > 0 && done < (size_t)count) {
        switch (netstring_decode(&way->decoder, bytes + done, (size_t)count - done, &used, &frame,
                                 &error)) {
        case NETSTRING_FRAME:
            way->pass(way, frame);
            break;
        case NETSTRING_BAD:
            errno = EPROTO;
            give_up(error.text);
        case NETSTRING_MORE:
            break;
        }
        done += used;
    }
    return count != 0;
}

static void pass_all(struct way *down, struct way *up)
{
    struct pollfd ends[] = {{.fd = down->in, .events = POLLIN}, {.fd = up->in, .events = POLLIN}};

    for (;;) {
        if (poll(ends, 2, -1) < 0 && errno != EINTR)
            give_up("poll");
        if (ends[1].revents != 0 && !pass_on(up))
            return;
        if (ends[0].revents != 0 && !pass_on(down)) {
            close(down->out);
            ends[0].fd = -1;
        }
    }
}

/* ---- the real one ---- */

/* To where this program lies: there are the real worker and the tallies. */
static void go_beside(void)
{
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);

    if (length < 0)
        give_up("/proc/self/exe");
    path[length] = '\0';
    *strrchr(path, '/') = '\0';
    if (chdir(path) != 0)
        give_up(path);
}

static void die_with_parent(void)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        give_up("prctl");
}

static _Noreturn void become_real(const int down[2], const int up[2], char **arguments)
{
    die_with_parent();
    if (dup2(down[0], FROM_SUPERVISOR) < 0 || dup2(up[1], TO_SUPERVISOR) < 0 ||
        dup2(kept.fd, SAVED) < 0)
        give_up("dup2");
    execv("./real", arguments);
    give_up("real");
}

int main(int argc, char **argv)
{
    struct way downward = {.in = FROM_SUPERVISOR, .pass = pass_down};
    struct way upward = {.out = TO_SUPERVISOR, .pass = pass_up};
    int down[2], up[2], status;
    pid_t real;

    (void)argc;
    go_beside();
    die_with_parent();
    if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0)
        give_up("pipe2");
    kept.fd = memfd_create("kept", MFD_CLOEXEC);
    if (kept.fd < 0)
        give_up("memfd_create");
    real = fork();
    if (real < 0)
        give_up("fork");
    if (real == 0)
        become_real(down, up, argv);
    close(down[0]);
    close(up[1]);
    downward.out = down[1];
    upward.in = up[0];
    netstring_decoder_init(&downward.decoder, CAP);
    netstring_decoder_init(&upward.decoder, CAP);
    pass_all(&downward, &upward);
    /* It says how the real one ended. */
    if (waitpid(real, &status, 0) != real)
        give_up("waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}
