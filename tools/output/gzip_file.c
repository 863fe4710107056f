/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/output/gzip_file.h"

#include <stdlib.h>

#include <zlib.h>

#include "base/output/output_file.h"

enum {
    GZIP_WINDOW = 15 + 16, /* the largest window, with gzip's header */
    MEMORY_LEVEL = 8,      /* zlib's default */
    FLUSH_AT = 256 * 1024,
    ROOM = 64 * 1024,
};

struct gzip_file {
    struct output_file file;
    z_stream stream;
    struct buf waiting, packed;
};

struct gzip_file *gzip_file_open(const char *path, const char *what, struct error *error)
{
    struct gzip_file *file = calloc(1, sizeof *file);

    if (file == NULL) {
        error_memory(error, "a table");
        return NULL;
    }
    if (deflateInit2(&file->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        error_memory(error, "a table");
        free(file);
        return NULL;
    }
    if (output_file_open(&file->file, path, what, error) != 0) {
        deflateEnd(&file->stream);
        free(file);
        return NULL;
    }
    return file;
}

/* Compresses all that waits. */
static int pack(struct gzip_file *file, int flush, struct error *error)
{
    z_stream *stream = &file->stream;

    if (buf_failed(&file->waiting))
        return error_memory(error, "a table");
    stream->next_in = (Bytef *)file->waiting.data;
    stream->avail_in = (uInt)file->waiting.length;
    do {
        if (buf_reserve(&file->packed, ROOM) != 0)
            return error_memory(error, "a table");
        stream->next_out = (Bytef *)file->packed.data + file->packed.length;
        stream->avail_out = ROOM;
        deflate(stream, flush);
        file->packed.length += ROOM - stream->avail_out;
    } while (stream->avail_out == 0);
    buf_clear(&file->waiting);
    return output_file_write(&file->file, &file->packed, error);
}

int gzip_file_write(struct gzip_file *file, struct buf *text, struct error *error)
{
    if (buf_failed(text) || buf_append(&file->waiting, text->data, text->length) != 0)
        return error_memory(error, "a table");
    buf_clear(text);
    return file->waiting.length < FLUSH_AT ? 0 : pack(file, Z_NO_FLUSH, error);
}

int gzip_file_finish(struct gzip_file *file, struct error *error)
{
    if (pack(file, Z_FINISH, error) != 0)
        return -1;
    return output_file_finish(&file->file, error);
}

void gzip_file_close(struct gzip_file *file)
{
    if (file == NULL)
        return;
    output_file_discard(&file->file);
    deflateEnd(&file->stream);
    buf_free(&file->waiting);
    buf_free(&file->packed);
    free(file);
}
