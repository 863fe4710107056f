/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/runtime/prepared_start.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/number.h"
#include "base/output/output_file.h"
#include "store/snapshot/snapshot_bytes.h"
#include "supervisor/process/locate.h"

enum { FILE_SIZE_MAX = 64 << 20, HEAD_SIZE = 256 };

/* ---- writing ---- */

int prepared_start_write(const char *path, const char *name, int fd, struct error *error)
{
    struct store_snapshot snapshot;
    struct buf compressed = {0}, file = {0};
    char head[HEAD_SIZE];
    int result = snapshot_bytes_pack(fd, &compressed, &snapshot, error);

    if (result == 0) {
        snprintf(head, sizeof head, "%s %s %" PRId64 "\n", name, snapshot.hash, snapshot.size);
        buf_append_string(&file, head);
        buf_append(&file, compressed.data, compressed.length);
        result = output_file_write_whole(path, "the prepared snapshot", &file, error);
    }
    buf_free(&compressed);
    buf_free(&file);
    return result;
}

/* ---- reading ---- */

/* Moves *at behind this text and a blank. False: something else stands there. */
static bool skip_word(const char **at, const char *word)
{
    const size_t length = strlen(word);

    if (strncmp(*at, word, length) != 0 || (*at)[length] != ' ')
        return false;
    *at += length + 1;
    return true;
}

/* Takes the line off the file. False: it is of another name, or no such line. */
static bool take_head(struct buf *file, const char *name, struct store_snapshot *snapshot)
{
    char head[HEAD_SIZE] = "";
    const char *at = head;
    const char *end = file->length > 0 ? memchr(file->data, '\n', file->length) : NULL;
    uint64_t size;

    if (end == NULL || (size_t)(end - file->data) >= sizeof head)
        return false;
    memcpy(head, file->data, (size_t)(end - file->data));
    if (!skip_word(&at, name) || strlen(at) < sizeof snapshot->hash)
        return false;
    memcpy(snapshot->hash, at, sizeof snapshot->hash - 1);
    snapshot->hash[sizeof snapshot->hash - 1] = '\0';
    if (!skip_word(&at, snapshot->hash) || !number_take(&at, &size) || *at != '\0' ||
        size > FILE_SIZE_MAX)
        return false;
    buf_consume(file, (size_t)(end - file->data) + 1);
    snapshot->size = (int64_t)size;
    snapshot->compressed_size = (int64_t)file->length;
    return true;
}

/* Whether the bytes come to their hash, and are in `fd`, which is as before where they do not. */
static int unpack(const char *path, const struct buf *compressed,
                  const struct store_snapshot *snapshot, int fd, bool *whole, struct error *error)
{
    struct error problem;

    *whole = snapshot_bytes_unpack((struct iovec){compressed->data, compressed->length},
                                   snapshot->hash, fd, &problem) == 0;
    if (*whole)
        return 0;
    log_line("%s: %s; the snapshot is made anew", path, problem.text);
    if (ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0)
        return 0;
    return error_system(error, errno, "cannot empty the file for a snapshot");
}

int prepared_start_read(const char *name, int fd, struct buf *compressed,
                        struct store_snapshot *snapshot, bool *found, struct error *error)
{
    char path[PATH_MAX];
    struct error missing;

    *found = false;
    if (locate(PREPARED_START_FILE, path, &missing) != 0 ||
        io_read_file(path, FILE_SIZE_MAX, compressed, &missing) != 0 ||
        !take_head(compressed, name, snapshot))
        return 0;
    return unpack(path, compressed, snapshot, fd, found, error);
}
