/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/source/archive_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/buf.h"
#include "supervisor/replay/source/line_source.h"
#include "supervisor/replay/source/swing_source.h"

bool archive_folder_is_one(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISDIR(status.st_mode) && !swing_source_is_one(path);
}

static bool is_wanted(const struct source_selection *selection, const struct archive_file *file)
{
    bool wanted = selection->vat_count == 0;

    for (size_t i = 0; i < selection->vat_count; i++)
        wanted = wanted || strcmp(selection->vats[i], file->vat_id) == 0;
    return wanted && (selection->span < 0 || selection->span == file->first) &&
           file->end > selection->from && file->first <= selection->to;
}

static void free_file(struct archive_file *file)
{
    free(file->path);
    free(file->vat_id);
}

/* Takes the file over. */
static int archive_folder_add(struct archive_files *files, struct archive_file *file)
{
    struct archive_file *all =
        array_reserve(files->files, &files->capacity, files->count + 1, sizeof *all);

    if (all == NULL) {
        free_file(file);
        return -1;
    }
    files->files = all;
    all[files->count++] = *file;
    return 0;
}

/* 1: it is a transcript, 0: it is none, -1: memory ran out. */
static int take_entry(struct archive_files *files, const char *folder, const char *name,
                      const struct source_selection *selection)
{
    struct archive_file file = {0};
    struct scan_span vat_id;
    struct buf path = {0};
    struct stat status;

    if (!line_source_read_name(name, &vat_id, &file.first, &file.end))
        return 0;
    (void)buf_printf(&path, "%s/%s", folder, name);
    file.vat_id = strndup(vat_id.at, vat_id.length);
    file.path = buf_string(&path) != NULL ? path.data : NULL;
    if (file.path == NULL || file.vat_id == NULL) {
        free_file(&file);
        return -1;
    }
    file.size = stat(file.path, &status) == 0 ? status.st_size : 0;
    if (is_wanted(selection, &file))
        return archive_folder_add(files, &file) == 0 ? 1 : -1;
    free_file(&file);
    return 1;
}

static int archive_folder_compare(const void *left, const void *right)
{
    const struct archive_file *a = left, *b = right;
    const int vats = strverscmp(a->vat_id, b->vat_id);

    if (vats != 0)
        return vats;
    return (a->first > b->first) - (a->first < b->first);
}

int archive_folder_read(struct archive_files *files, const char *path,
                        const struct source_selection *selection, struct error *error)
{
    const size_t before = files->count;
    DIR *folder = opendir(path);
    struct dirent *entry;
    bool any = false;
    int taken = 0;

    if (folder == NULL)
        return error_set(error, ERROR_INPUT, "%s: %s", path, strerror(errno));
    /* cppcheck-suppress readdirCalled ; nobody else reads this folder */
    while (taken >= 0 && (errno = 0, entry = readdir(folder)) != NULL) {
        taken = take_entry(files, path, entry->d_name, selection);
        any = any || taken > 0;
    }
    if (taken < 0)
        error_memory(error, "the files of an archive");
    else if (errno != 0)
        taken = error_system(error, errno, "cannot read %s", path);
    else if (!any)
        taken = error_set(
            error, ERROR_INPUT,
            "%s: it holds no swingstore.sqlite, transcript.VAT.FIRST.END or transcript-VAT.sst",
            path);
    else if (files->count == before)
        taken = error_set(error, ERROR_INPUT, "%s: there is no such span in it", path);
    (void)closedir(folder); /* was only read */
    if (files->count > 0)   /* qsort(3) may not be given NULL */
        qsort(files->files, files->count, sizeof *files->files, archive_folder_compare);
    return taken < 0 ? -1 : 0;
}

void archive_files_free(struct archive_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free_file(&files->files[i]);
    free(files->files);
    *files = (struct archive_files){0};
}
