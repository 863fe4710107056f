/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/bundle/replay_bundles.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "supervisor/runtime/contract_file.h"

struct bundle_file {
    struct contract_file contract;
    char *vat; /* that it was given for; owned; NULL: for any */
};

static int add_file(struct replay_bundles *bundles, const char *path, const char *vat,
                    size_t vat_length, struct error *error)
{
    struct bundle_file *files =
        array_reserve(bundles->files, &bundles->capacity, bundles->count + 1, sizeof *files);
    struct bundle_file *file;

    if (files == NULL)
        return error_memory(error, "bundles");
    bundles->files = files;
    file = &files[bundles->count++];
    *file = (struct bundle_file){0};
    if (vat != NULL && (file->vat = strndup(vat, vat_length)) == NULL)
        return error_memory(error, "bundles");
    return contract_file_read(&file->contract, path, error);
}

/* Files that hold no bundle are none of ours. */
static int add_if_bundle(struct replay_bundles *bundles, const char *path, struct error *error)
{
    struct bundle_file *file;
    struct stat status;
    int result;

    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
        return 0;
    result = add_file(bundles, path, NULL, 0, error);
    if (result != 0 && error->kind != ERROR_INPUT)
        return -1;
    file = &bundles->files[bundles->count - 1];
    if (result == 0 && !file->contract.is_plain)
        return 0;
    buf_free(&file->contract.bundle);
    bundles->count--;
    return 0;
}

static int add_folder(struct replay_bundles *bundles, const char *folder, struct error *error)
{
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    int result = 0;

    if (directory == NULL)
        return error_set(error, ERROR_INPUT, "%s: %s", folder, strerror(errno));
    /* cppcheck-suppress readdirCalled ; nobody else reads this folder */
    while (result == 0 && (entry = readdir(directory)) != NULL) {
        char path[PATH_MAX];
        int length = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);

        if (length > 0 && (size_t)length < sizeof path)
            result = add_if_bundle(bundles, path, error);
    }
    (void)closedir(directory); /* was only read */
    return result;
}

/* FILE, VAT=FILE or DIR. */
static int replay_bundles_add(struct replay_bundles *bundles, const char *value,
                              struct error *error)
{
    const char *sign = strchr(value, '=');
    struct stat status;

    if (stat(value, &status) == 0 && S_ISDIR(status.st_mode))
        return add_folder(bundles, value, error);
    if (sign != NULL && stat(value, &status) != 0)
        return add_file(bundles, sign + 1, value, (size_t)(sign - value), error);
    return add_file(bundles, value, NULL, 0, error);
}

int replay_bundles_read(struct replay_bundles *bundles, char *const *values, size_t count,
                        struct error *error)
{
    for (size_t i = 0; i < count; i++)
        if (replay_bundles_add(bundles, values[i], error) != 0)
            return -1;
    return 0;
}

const struct buf *replay_bundles_find(const struct replay_bundles *bundles, struct scan_span id)
{
    for (size_t i = 0; i < bundles->count; i++)
        if (scan_is(id, bundles->files[i].contract.id))
            return &bundles->files[i].contract.bundle;
    return NULL;
}

const struct buf *replay_bundles_find_vat(const struct replay_bundles *bundles, const char *id,
                                          const char *name)
{
    for (size_t i = 0; i < bundles->count; i++) {
        const char *vat = bundles->files[i].vat;

        if (vat != NULL && (strcmp(vat, id) == 0 || strcmp(vat, name) == 0))
            return &bundles->files[i].contract.bundle;
    }
    return NULL;
}

void replay_bundles_free(struct replay_bundles *bundles)
{
    for (size_t i = 0; i < bundles->count; i++) {
        buf_free(&bundles->files[i].contract.bundle);
        free(bundles->files[i].vat);
    }
    free(bundles->files);
    *bundles = (struct replay_bundles){0};
}
