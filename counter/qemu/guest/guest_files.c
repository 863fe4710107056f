/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/qemu/guest/guest_files.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counter/qemu/guest/guest_memory.h"

static bool parse_line(const char *line, struct guest_file *file)
{
    char *at;
    const char *path = strchr(line, '/');

    file->start = strtoull(line, &at, 16);
    if (path == NULL || *at != '-')
        return false;
    file->end = strtoull(at + 1, &at, 16);
    at += strspn(at, " ");
    at += strcspn(at, " "); /* the protection */
    file->offset = strtoull(at, NULL, 16);
    file->path = strndup(path, strcspn(path, "\n"));
    return file->path != NULL;
}

static bool add_file(struct guest_files *files, struct guest_file file)
{
    struct guest_file *larger = reallocarray(files->file, files->count + 1, sizeof *larger);

    if (larger == NULL)
        return false;
    larger[files->count++] = file;
    files->file = larger;
    return true;
}

void guest_files_read(struct guest_files *files)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[PATH_MAX + 100];

    *files = (struct guest_files){0};
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        struct guest_file file;

        if (parse_line(line, &file) && !add_file(files, file)) {
            free(file.path);
            break;
        }
    }
    if (maps != NULL)
        fclose(maps);
}

const struct guest_file *guest_files_find(const struct guest_files *files, uint64_t guest_address,
                                          uint64_t *offset)
{
    uint64_t address = guest_memory_host_address(guest_address);
    size_t low = 0, high = files->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (files->file[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == files->count || files->file[low].start > address)
        return NULL;
    *offset = address - files->file[low].start + files->file[low].offset;
    return &files->file[low];
}

bool guest_files_touch(const struct guest_files *files, uint64_t start, uint64_t size)
{
    uint64_t first = guest_memory_host_address(start);

    for (size_t i = 0; i < files->count; i++)
        if (files->file[i].start < first + size && first < files->file[i].end)
            return true;
    return false;
}

void guest_files_free(struct guest_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->file[i].path);
    free(files->file);
    *files = (struct guest_files){0};
}
