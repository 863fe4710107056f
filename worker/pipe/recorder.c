/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/pipe/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "proto/netstring.h"
#include "worker/snapshot_place.h"

struct recorder {
    int fd; /* -1: it records no more */
    char path[PATH_MAX];
    char snapshot[PATH_MAX];
};

/* Each record is written at once and whole, so that what a crash leaves can be read up to
 * its last record. */
static void write_record(struct recorder *recorder, const struct iovec *parts, int count)
{
    struct netstring_frame record;

    netstring_encode(&record, parts, count);
    if (io_writev_all(recorder->fd, record.pieces, record.count) == 0)
        return;
    log_line("%s: %s; no more is recorded", recorder->path, strerror(errno));
    close(recorder->fd);
    recorder->fd = -1;
}

static int open_file(struct recorder *recorder, const char *folder, struct error *error)
{
    int length;

    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return error_system(error, errno, "--record %s", folder);
    length = snprintf(recorder->path, sizeof recorder->path, "%s/%" PRId64 "-%d.frames", folder,
                      stamp_now().real, (int)getpid());
    if (length < 0 || (size_t)length >= sizeof recorder->path)
        return error_system(error, ENAMETOOLONG, "--record");
    recorder->fd = open(recorder->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (recorder->fd < 0)
        return error_system(error, errno, "--record: %s", recorder->path);
    return 0;
}

struct recorder *recorder_open(const char *folder, const struct recording_head *head,
                               struct error *error)
{
    struct recorder *recorder = malloc(sizeof *recorder);
    struct buf text = {0};
    struct iovec part;

    if (recorder == NULL) {
        error_memory(error, "the recorder");
        return NULL;
    }
    if (open_file(recorder, folder, error) != 0) {
        free(recorder);
        return NULL;
    }
    recording_put_head(&text, head);
    part = (struct iovec){text.data, text.length};
    write_record(recorder, &part, 1);
    buf_free(&text);
    return recorder;
}

void recorder_take(struct recorder *recorder, enum recording_direction direction,
                   struct stamp stamp, const struct iovec *parts, int count)
{
    struct iovec all[NETSTRING_PARTS_MAX];
    char prefix[RECORDING_PREFIX_SIZE];

    if (recorder == NULL || recorder->fd < 0)
        return;
    all[0] = (struct iovec){prefix, recording_put_prefix(prefix, direction, stamp)};
    for (int i = 0; i < count; i++)
        all[i + 1] = parts[i];
    write_record(recorder, all, count + 1);
}

/*
 * A snapshot begins with the length of what stands behind its first eight bytes, big
 * endian. Who sends one through a pipe may keep that open: no end of file comes behind it.
 */
static int copy(FILE *from, FILE *to)
{
    static unsigned char bytes[64 * 1024];
    size_t wanted = 8, got = fread(bytes, 1, wanted, from);
    uint64_t left = got < wanted ? 0
                                 : (uint64_t)bytes[0] << 24 | (uint64_t)bytes[1] << 16 |
                                       (uint64_t)bytes[2] << 8 | bytes[3];

    while (got > 0) {
        if (fwrite(bytes, 1, got, to) != got)
            return -1;
        wanted = left < sizeof bytes ? (size_t)left : sizeof bytes;
        got = wanted > 0 ? fread(bytes, 1, wanted, from) : 0;
        left -= got;
    }
    return ferror(from) ? -1 : 0;
}

const char *recorder_keep_snapshot(struct recorder *recorder, const char *place,
                                   struct error *error)
{
    FILE *from = snapshot_place_open(place, "rb", "rb"), *to = NULL;
    int result = -1;

    recording_snapshot_path(recorder->snapshot, sizeof recorder->snapshot, recorder->path);
    if (from != NULL)
        to = fopen(recorder->snapshot, "wbxe");
    if (to != NULL)
        result = copy(from, to);
    if (to != NULL && fclose(to) != 0)
        result = -1;
    if (result != 0)
        error_system(error, errno, "--record: cannot copy snapshot %s to %s", place,
                     recorder->snapshot);
    if (from != NULL)
        (void)fclose(from); /* was only read */
    return result == 0 ? recorder->snapshot : NULL;
}

void recorder_close(struct recorder *recorder)
{
    if (recorder == NULL)
        return;
    /* Every record has been written, or the failure told of. */
    if (recorder->fd >= 0)
        (void)close(recorder->fd);
    free(recorder);
}
