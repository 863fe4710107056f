/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/xs/engine_xs_snapshot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "worker/direct.h"
#include "worker/snapshot_place.h"
#include "worker/xs/engine_xs_pages.h"

static const char signature[] = "xsnap 1";

/*
 * What the two callbacks of XS work on. XS has some hundred thousand pieces of a few bytes each
 * read or written one by one: a call of stdio's for each would take as long as the rest. Who reads
 * what is written runs at the same time, and is woken less often by larger blocks.
 */
enum {
    BLOCK_SIZE = 256 << 10,
    READ_AT_ONCE = 64 << 10, /* of small pieces: memory that each worker touches */
};

struct stream {
    int fd;
    size_t size;       /* of all that was written */
    size_t start, end; /* of what is in the block and not yet taken, or written */
    unsigned char block[BLOCK_SIZE];
};

/* ---- reading ---- */

/* What is there, which may be less: a pipe may stay open behind the snapshot. 0 or an errno. */
static int read_some(struct stream *stream, void *bytes, size_t room, size_t *length)
{
    ssize_t got;

    do
        got = read(stream->fd, bytes, room);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return errno;
    *length = (size_t)got;
    return got == 0 ? ENODATA : 0;
}

static size_t take_from_block(struct stream *stream, void *bytes, size_t size)
{
    const size_t there = stream->end - stream->start;
    const size_t taken = size < there ? size : there;

    memcpy(bytes, stream->block + stream->start, taken);
    stream->start += taken;
    return taken;
}

/* XS takes an errno for a failure and 0 for none. */
static int read_bytes(void *context, void *bytes, size_t size)
{
    struct stream *stream = context;
    unsigned char *to = bytes;
    int problem = 0;

    if (!direct_is_on())
        engine_xs_pages_be_huge(bytes, size);
    if (size >= READ_AT_ONCE)
        direct_begin();
    while (problem == 0) {
        size_t length = take_from_block(stream, to, size);

        to += length;
        size -= length;
        if (size == 0)
            return 0;
        stream->start = stream->end = 0;
        if (size < READ_AT_ONCE) {
            problem = read_some(stream, stream->block, READ_AT_ONCE, &stream->end);
        } else {
            problem = read_some(stream, to, size, &length);
            to += problem == 0 ? length : 0;
            size -= problem == 0 ? length : 0;
        }
    }
    return problem;
}

/* ---- writing ---- */

static int write_block(struct stream *stream)
{
    const size_t length = stream->end;

    stream->end = 0;
    return io_write_all(stream->fd, stream->block, length) == 0 ? 0 : errno;
}

static int write_bytes(void *context, void *bytes, size_t size)
{
    struct stream *stream = context;
    int problem;

    stream->size += size;
    if (size > BLOCK_SIZE - stream->end) {
        problem = write_block(stream);
        if (problem != 0)
            return problem;
        if (size > BLOCK_SIZE)
            return io_write_all(stream->fd, bytes, size) == 0 ? 0 : errno;
    }
    memcpy(stream->block + stream->end, bytes, size);
    stream->end += size;
    return 0;
}

/* ---- both ---- */

/* The block itself needs no zeros. */
static void begin_stream(struct stream *stream, FILE *file)
{
    stream->fd = fileno(file);
    stream->size = stream->start = stream->end = 0;
}

static xsSnapshot describe(xsCallback callbacks[XS_SNAPSHOT_CALLBACKS], struct stream *stream)
{
    return (xsSnapshot){
        .signature = (char *)signature,
        .signatureLength = sizeof signature - 1,
        .callbacks = callbacks,
        .callbacksLength = XS_SNAPSHOT_CALLBACKS,
        .read = read_bytes,
        .write = write_bytes,
        .stream = stream,
    };
}

int xs_snapshot_write(xsMachine *machine, xsCallback callbacks[XS_SNAPSHOT_CALLBACKS],
                      const char *place, struct xs_written *written, struct error *error)
{
    FILE *file = snapshot_place_open(place, "wb", "ab");
    static struct stream stream; /* not on the stack, whose depth XS measures */
    xsSnapshot snapshot = describe(callbacks, &stream);
    int problem;

    if (file == NULL)
        return error_system(error, errno, "cannot write snapshot %s", place);
    begin_stream(&stream, file);
    direct_begin();
    (void)xsWriteSnapshot(machine, &snapshot); /* says what snapshot.error says */
    direct_end();
    problem = snapshot.error != 0 ? snapshot.error : write_block(&stream);
    /* A file system may tell only now that it could not write. */
    if (fclose(file) != 0 && problem == 0)
        problem = errno;
    if (problem != 0)
        return error_system(error, problem, "cannot write snapshot %s", place);
    *written = (struct xs_written){
        .size = stream.size,
        .signature = sizeof signature - 1,
        .slots = (size_t)snapshot.slotSize - 1,
    };
    return 0;
}

xsMachine *xs_snapshot_read(xsCallback callbacks[XS_SNAPSHOT_CALLBACKS], const char *place,
                            void *context, struct error *error)
{
    FILE *file = snapshot_place_open(place, "rb", "rb");
    static struct stream stream; /* not on the stack, whose depth XS measures */
    xsSnapshot snapshot = describe(callbacks, &stream);
    xsMachine *machine;

    if (file == NULL) {
        error_system(error, errno, "cannot read snapshot %s", place);
        return NULL;
    }
    begin_stream(&stream, file);
    machine = xsReadSnapshot(&snapshot, (char *)"xsnap", context);
    direct_end();
    (void)fclose(file); /* nothing was written */
    if (machine == NULL)
        error_system(error, snapshot.error != 0 ? snapshot.error : ENOMEM,
                     "cannot read snapshot %s", place);
    return machine;
}
