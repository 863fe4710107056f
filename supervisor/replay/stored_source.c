/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/stored_source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"

/* ---- the vat ---- */

static bool is_id(const char *text, int64_t *vat)
{
    return text[0] == 'v' && scan_decimal((struct scan_span){text + 1, strlen(text + 1)}, 0, vat);
}

static int has_name(struct kernel *kernel, int64_t id, const char *name, bool *has,
                    struct error *error)
{
    struct kernel_vat vat;
    bool lives;

    if (kernel_vat_get(kernel, id, &vat, &lives, error) != 0)
        return -1;
    *has = lives && strcmp(vat.name, name) == 0;
    if (lives)
        kernel_vat_free(&vat);
    return 0;
}

/* Names of vats that vats made are theirs to choose: several may have one. */
static int find_named(struct kernel *kernel, const char *name, int64_t *vat, bool *found,
                      struct error *error)
{
    int64_t id = 0;
    bool more = true, has;

    *found = false;
    while (kernel_vat_next(kernel, id, &id, &more, error) == 0) {
        if (!more)
            return 0;
        if (has_name(kernel, id, name, &has, error) != 0)
            return -1;
        if (has && *found)
            return error_set(error, ERROR_INPUT,
                             "vats v%" PRId64 " and v%" PRId64
                             " both have the name %s; give the ID",
                             *vat, id, name);
        if (has) {
            *vat = id;
            *found = true;
        }
    }
    return -1;
}

/* By its ID, or among all that live by its name: a static one before others. */
static int find_vat(struct kernel *kernel, const char *name, struct kernel_vat *vat, bool *found,
                    struct error *error)
{
    int64_t id;

    if (kernel_vat_named(kernel, name, &id, found, error) != 0)
        return -1;
    if (!*found && !is_id(name, &id)) {
        if (find_named(kernel, name, &id, found, error) != 0)
            return -1;
        if (!*found)
            return 0;
    }
    return kernel_vat_get(kernel, id, vat, found, error);
}

static int open_vat(struct stored_source *source, bool from_start, struct error *error)
{
    const struct kernel_vat *vat = &source->vat;
    const struct stored_vat stored = {
        .id = vat->id,
        .name = vat->name,
        .bundle_id = vat->bundle_id,
        .dynamic = vat->dynamic,
        .incarnation = vat->incarnation,
        .first_num = vat->first_delivery,
    };

    source->transcript = stored_transcript_open(source->store, &stored, from_start, error);
    return source->transcript == NULL ? error_prefix(error, "%s", source->name.data) : 0;
}

static int find_and_open(struct stored_source *source, const char *name, bool from_start,
                         struct error *error)
{
    const struct kernel_options options = {0};
    struct kernel *kernel = kernel_open(source->store, &options, error);
    bool found;
    int result;

    if (kernel == NULL)
        return -1;
    result = find_vat(kernel, name, &source->vat, &found, error);
    kernel_close(kernel);
    if (result != 0)
        return -1;
    if (!found)
        return error_set(error, ERROR_INPUT,
                         "%s: no such vat lives in the store; gaspipe status lists those that do",
                         source->name.data);
    return open_vat(source, from_start, error);
}

int stored_source_open(struct stored_source *source, const char *folder, const char *vat,
                       bool from_start, struct error *error)
{
    *source = (struct stored_source){0};
    buf_printf(&source->name, "%s: vat %s", folder, vat);
    if (buf_string(&source->name) == NULL)
        return error_memory(error, "reading a transcript");
    source->store = store_open_reader(folder, error);
    if (source->store == NULL || store_transaction_begin(source->store, error) != 0)
        return -1;
    return find_and_open(source, vat, from_start, error);
}

void stored_source_close(struct stored_source *source)
{
    stored_transcript_close(source->transcript);
    kernel_vat_free(&source->vat);
    store_close(source->store);
    buf_free(&source->name);
}

/* ---- as a file ---- */

static int write_lines(struct stored_source *source, int fd, const char *path, struct error *error)
{
    struct reader_line line;
    int result;

    while ((result = stored_transcript_next(source->transcript, &line, error)) == 1) {
        struct iovec parts[] = {{(char *)line.bytes, line.length}, {"\n", 1}};

        if (io_writev_all(fd, parts, 2) != 0)
            return error_system(error, errno, "%s: cannot write the transcript", path);
    }
    return result;
}

static int write_file(struct stored_source *source, const char *path, struct error *error)
{
    int fd, result;

    if (strcmp(path, "-") == 0)
        return write_lines(source, STDOUT_FILENO, "stdout", error);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return error_system(error, errno, "%s: cannot write the transcript", path);
    result = write_lines(source, fd, path, error);
    if (close(fd) != 0 && errno != EINTR && result == 0)
        result = error_system(error, errno, "%s: cannot write the transcript", path);
    return result;
}

int stored_source_export(const char *folder, const char *vat, const char *path, struct error *error)
{
    struct stored_source source;
    int result = stored_source_open(&source, folder, vat, true, error);

    if (result == 0)
        result = write_file(&source, path, error);
    stored_source_close(&source);
    return result;
}
