/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/xs/engine_xs_snapshot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "worker/snapshot_place.h"

static const char signature[] = "xsnap 1";

/* What the two callbacks of XS work on. */
struct stream {
    FILE *file;
    size_t size;
};

/* XS takes an errno for a failure and 0 for none. */
static int failure_of(FILE *file)
{
    return ferror(file) && errno != 0 ? errno : EIO;
}

static int read_bytes(void *context, void *bytes, size_t size)
{
    struct stream *stream = context;

    if (fread(bytes, 1, size, stream->file) == size)
        return 0;
    return feof(stream->file) ? ENODATA : failure_of(stream->file);
}

static int write_bytes(void *context, void *bytes, size_t size)
{
    struct stream *stream = context;

    if (fwrite_unlocked(bytes, 1, size, stream->file) != size) /* nobody else has it */
        return failure_of(stream->file);
    stream->size += size;
    return 0;
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
                      const char *place, size_t *size, struct error *error)
{
    static char buffer[256 * 1024];
    struct stream stream = {.file = snapshot_place_open(place, "wb", "ab")};
    xsSnapshot snapshot = describe(callbacks, &stream);
    int problem;

    if (stream.file == NULL)
        return error_system(error, errno, "cannot write snapshot %s", place);
    /* Of megabytes, in fewer system calls; where it is refused the default stays. */
    (void)setvbuf(stream.file, buffer, _IOFBF, sizeof buffer);
    (void)xsWriteSnapshot(machine, &snapshot); /* says what snapshot.error says */
    problem = snapshot.error;
    /* What the file's buffer still had may fail to be written too. */
    if (fclose(stream.file) != 0 && problem == 0)
        problem = errno;
    if (problem != 0)
        return error_system(error, problem, "cannot write snapshot %s", place);
    *size = stream.size;
    return 0;
}

xsMachine *xs_snapshot_read(xsCallback callbacks[XS_SNAPSHOT_CALLBACKS], const char *place,
                            void *context, struct error *error)
{
    struct stream stream = {.file = snapshot_place_open(place, "rb", "rb")};
    xsSnapshot snapshot = describe(callbacks, &stream);
    xsMachine *machine;

    if (stream.file == NULL) {
        error_system(error, errno, "cannot read snapshot %s", place);
        return NULL;
    }
    machine = xsReadSnapshot(&snapshot, (char *)"xsnap", context);
    (void)fclose(stream.file); /* nothing was written */
    if (machine == NULL)
        error_system(error, snapshot.error != 0 ? snapshot.error : ENOMEM,
                     "cannot read snapshot %s", place);
    return machine;
}
