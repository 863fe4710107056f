/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/xs/xs_snapshot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xsnap.h>

#include "worker/engine.h"
#include "worker/xs/snapshot_writer.h"
#include "worker/xs/xs_memory.h"

static const char signature[] = "xsnap 1";

/* XS reads small pieces; these are taken from a block. */
enum { READ_AT_ONCE = 64 << 10 };

struct snapshot_stream {
    int fd;
    size_t start, end; /* of the block's bytes not yet taken */
    unsigned char block[READ_AT_ONCE];
};

/* Reads what is available, which may be less: a pipe may stay open after the snapshot. Returns 0
 * or an errno. */
static int read_snapshot_some(struct snapshot_stream *stream, void *bytes, size_t space,
                              size_t *length)
{
    ssize_t got;

    do
        got = read(stream->fd, bytes, space);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return errno;
    *length = (size_t)got;
    return got == 0 ? ENODATA : 0;
}

static size_t take_from_block(struct snapshot_stream *stream, void *bytes, size_t size)
{
    const size_t there = stream->end - stream->start;
    const size_t taken = size < there ? size : there;

    memcpy(bytes, stream->block + stream->start, taken);
    stream->start += taken;
    return taken;
}

/* XS takes an errno for a failure, and 0 for success. */
static int read_snapshot_bytes(void *context, void *bytes, size_t size)
{
    struct snapshot_stream *stream = context;
    unsigned char *to = bytes;
    int problem = 0;

    xs_memory_use_huge_pages(bytes, size);
    while (problem == 0) {
        size_t length = take_from_block(stream, to, size);

        to += length;
        size -= length;
        if (size == 0)
            return 0;
        stream->start = stream->end = 0;
        if (size < READ_AT_ONCE) {
            problem = read_snapshot_some(stream, stream->block, READ_AT_ONCE, &stream->end);
        } else {
            problem = read_snapshot_some(stream, to, size, &length);
            to += problem == 0 ? length : 0;
            size -= problem == 0 ? length : 0;
        }
    }
    return problem;
}

/* ---- both ---- */

static xsSnapshot describe_snapshot(xs_snapshot_callback callbacks[XS_SNAPSHOT_CALLBACKS],
                                    void *stream)
{
    return (xsSnapshot){
        .signature = (char *)signature,
        .signatureLength = sizeof signature - 1,
        .callbacks = callbacks,
        .callbacksLength = XS_SNAPSHOT_CALLBACKS,
        .read = read_snapshot_bytes,
        .write = snapshot_writer_write,
        .stream = stream,
    };
}

int xs_snapshot_write(xsMachine *machine, xs_snapshot_callback callbacks[XS_SNAPSHOT_CALLBACKS],
                      const char *place, size_t *size, struct error *error)
{
    FILE *file = engine_open_place(place, "wb", "ab");
    struct snapshot_writer writer;
    xsSnapshot snapshot = describe_snapshot(callbacks, &writer);
    int problem;

    if (file == NULL)
        return error_system(error, errno, "cannot write snapshot %s", place);
    snapshot_writer_begin(&writer, fileno(file));
    (void)xsWriteSnapshot(machine, &snapshot); /* says what snapshot.error says */
    problem = snapshot_writer_end(&writer);
    if (snapshot.error != 0)
        problem = snapshot.error;
    /* A file system may report a failed write only now. */
    if (fclose(file) != 0 && problem == 0)
        problem = errno;
    if (problem != 0)
        return error_system(error, problem, "cannot write snapshot %s", place);
    *size = writer.size;
    return 0;
}

xsMachine *xs_snapshot_read(xs_snapshot_callback callbacks[XS_SNAPSHOT_CALLBACKS],
                            const char *place, void *context, struct error *error)
{
    FILE *file = engine_open_place(place, "rb", "rb");
    static struct snapshot_stream stream; /* it is large */
    xsSnapshot snapshot = describe_snapshot(callbacks, &stream);
    xsMachine *machine;

    if (file == NULL) {
        error_system(error, errno, "cannot read snapshot %s", place);
        return NULL;
    }
    stream.fd = fileno(file);
    stream.start = stream.end = 0;
    machine = xsReadSnapshot(&snapshot, (char *)"xsnap", context);
    (void)fclose(file); /* nothing was written */
    if (machine == NULL)
        error_system(error, snapshot.error != 0 ? snapshot.error : ENOMEM,
                     "cannot read snapshot %s", place);
    return machine;
}
