/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/replay_parts.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"

/* A part's process, and the file in memory in which it leaves what it found. */
struct process {
    pid_t pid; /* -1: it was not started */
    int fd;
};

/* What stands in that file, behind each other: the head, then for each vat of the part a record,
 * with its texts. The same program writes and reads it. */
struct head {
    int result;
    struct error error;
    uint64_t line;
    size_t vat_count; /* of all that the part came by */
    size_t recorded;
};

enum { TEXTS = 5 };

struct record {
    size_t index;
    struct replay_vat vat; /* its pointers mean nothing */
    size_t lengths[TEXTS];
};

/* ---- in the part's process ---- */

static int write_vat(int fd, const struct replay_vat *vat, size_t index)
{
    const struct replay_difference *difference = &vat->difference;
    const struct iovec texts[TEXTS] = {
        {vat->id, strlen(vat->id)},
        {vat->name, strlen(vat->name)},
        {difference->recorded.data, difference->recorded.length},
        {difference->replayed.data, difference->replayed.length},
        {vat->description.data, vat->description.length},
    };
    struct record record = {.index = index, .vat = *vat};

    for (size_t i = 0; i < TEXTS; i++)
        record.lengths[i] = texts[i].iov_len;
    if (io_write_all(fd, &record, sizeof record) != 0)
        return -1;
    for (size_t i = 0; i < TEXTS; i++)
        if (texts[i].iov_len > 0 && io_write_all(fd, texts[i].iov_base, texts[i].iov_len) != 0)
            return -1;
    return 0;
}

static int write_part(int fd, const struct replay_part *part, struct head *head, size_t number,
                      size_t count)
{
    for (size_t i = number; i < part->vat_count; i += count)
        head->recorded++;
    if (io_write_all(fd, head, sizeof *head) != 0)
        return -1;
    for (size_t i = number; i < part->vat_count; i += count)
        if (write_vat(fd, part->vats[i], i) != 0)
            return -1;
    return 0;
}

/* ---- in the process of all ---- */

void replay_part_free(struct replay_part *part)
{
    for (size_t i = 0; i < part->vat_count; i++)
        replay_vat_free(part->vats[i]);
    free(part->vats);
    *part = (struct replay_part){0};
}

/* What the part's process does. */
static _Noreturn void be_part(const struct replay_parts *parts, size_t number, int fd)
{
    struct replay_part part = {0};
    struct head head = {0};
    int written;

    /* Who waits for it may be killed: nobody wants it then. */
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    head.result = parts->replay(parts->context, number, &part, &head.error);
    head.line = part.line;
    head.vat_count = part.vat_count;
    written = write_part(fd, &part, &head, number, parts->count);
    parts->close(parts->context);
    _exit(written == 0 ? 0 : 1);
}

static int start(const struct replay_parts *parts, size_t number, struct process *process,
                 struct error *error)
{
    process->pid = -1;
    process->fd = memfd_create("gaspipe-replay", MFD_CLOEXEC);
    if (process->fd < 0)
        return error_system(error, errno, "cannot make a file for a part of the replay");
    process->pid = fork();
    if (process->pid < 0)
        return error_system(error, errno, "cannot start a part of the replay");
    if (process->pid == 0)
        be_part(parts, number, process->fd);
    return 0;
}

static int wait_for(struct process *process, struct error *error)
{
    int status;

    while (waitpid(process->pid, &status, 0) < 0)
        if (errno != EINTR)
            return error_system(error, errno, "cannot wait for a part of the replay");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    return error_set(error, ERROR_SYSTEM, "a part of the replay ended with %s %d",
                     WIFSIGNALED(status) ? "signal" : "status",
                     WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static int read_all(int fd, struct buf *bytes, struct error *error)
{
    char path[32];

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return io_read_file(path, SIZE_MAX, bytes, error);
}

/* The next bytes, which the part has written. */
static const char *take(struct buf *bytes, size_t *place, size_t length)
{
    const char *taken = bytes->data + *place;

    *place += length;
    return taken;
}

static int read_vat(struct buf *bytes, size_t *place, struct replay_part *all, struct error *error)
{
    struct record record;
    struct replay_vat *vat;
    const char *texts[TEXTS];

    memcpy(&record, take(bytes, place, sizeof record), sizeof record);
    for (size_t i = 0; i < TEXTS; i++)
        texts[i] = take(bytes, place, record.lengths[i]);
    vat = replay_vat_new((struct scan_span){texts[0], record.lengths[0]}, NULL, error);
    if (vat == NULL)
        return -1;
    all->vats[record.index] = vat;
    replay_vat_take_over(vat, &record.vat);
    free(vat->name);
    vat->name = strndup(texts[1], record.lengths[1]);
    buf_append(&vat->difference.recorded, texts[2], record.lengths[2]);
    buf_append(&vat->difference.replayed, texts[3], record.lengths[3]);
    buf_append(&vat->description, texts[4], record.lengths[4]);
    return vat->name != NULL && !buf_failed(&vat->difference.recorded) &&
                   !buf_failed(&vat->difference.replayed) && !buf_failed(&vat->description)
               ? 0
               : error_memory(error, "a vat");
}

/* Room for as many vats as a part came by. */
static int make_room(struct replay_part *all, size_t count, struct error *error)
{
    struct replay_vat **vats;

    if (count <= all->vat_count)
        return 0;
    vats = reallocarray(all->vats, count, sizeof *vats);
    if (vats == NULL)
        return error_memory(error, "the vats");
    all->vats = vats;
    while (all->vat_count < count)
        vats[all->vat_count++] = NULL;
    return 0;
}

/* A part that failed: its error stands when none failed further up in the file. */
static int note_failure(const struct head *head, struct replay_part *all, struct error *error)
{
    if (all->line == 0 || head->line < all->line) {
        all->line = head->line > 0 ? head->line : 1;
        *error = head->error;
    }
    return 0;
}

static int read_part(int fd, struct replay_part *all, struct error *failure, struct error *error)
{
    struct buf bytes = {0};
    struct head head;
    size_t place = 0;
    int result = read_all(fd, &bytes, error);

    if (result == 0) {
        memcpy(&head, take(&bytes, &place, sizeof head), sizeof head);
        result = head.result != 0 ? note_failure(&head, all, failure)
                                  : make_room(all, head.vat_count, error);
    }
    for (size_t i = 0; result == 0 && head.result == 0 && i < head.recorded; i++)
        result = read_vat(&bytes, &place, all, error);
    buf_free(&bytes);
    return result;
}

static int gather(struct process *processes, size_t count, struct replay_part *all,
                  struct error *error)
{
    struct error failure;
    int result = 0;

    for (size_t i = 0; i < count; i++)
        if (processes[i].pid > 0 && wait_for(&processes[i], result == 0 ? error : &failure) != 0)
            result = -1;
    for (size_t i = 0; result == 0 && i < count; i++)
        result = read_part(processes[i].fd, all, &failure, error);
    if (result != 0 || all->line == 0)
        return result;
    *error = failure;
    return -1;
}

int replay_in_parts(const struct replay_parts *parts, struct replay_part *all, struct error *error)
{
    struct process *processes = calloc(parts->count, sizeof *processes);
    struct error second;
    size_t started = 0;
    int result = 0;

    *all = (struct replay_part){0};
    if (processes == NULL)
        return error_memory(error, "the parts of the replay");
    for (; result == 0 && started < parts->count; started++)
        result = start(parts, started, &processes[started], error);
    for (size_t i = 0; result != 0 && i < started; i++)
        if (processes[i].pid > 0)
            (void)kill(processes[i].pid, SIGTERM); /* it may be done already */
    if (gather(processes, started, all, result == 0 ? error : &second) != 0)
        result = -1;
    for (size_t i = 0; i < started; i++)
        if (processes[i].fd >= 0)
            close(processes[i].fd);
    free(processes);
    if (result != 0)
        replay_part_free(all);
    return result;
}
