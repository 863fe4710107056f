/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/profile/profile_files.h"

static int open_one(struct profile_files *files, const char *path, enum profile_format format,
                    struct error *error)
{
    if (path == NULL)
        return 0;
    if (profile_file_open(&files->files[files->count], path, format, error) != 0)
        return -1;
    files->count++;
    return 0;
}

int profile_files_open(struct profile_files *files, struct profile_paths paths, struct error *error)
{
    if (open_one(files, paths.json, PROFILE_JSON, error) != 0)
        return -1;
    return open_one(files, paths.folded, PROFILE_FOLDED, error);
}

int profile_files_check_input(struct profile_paths paths, const char *input, struct error *error)
{
    const char *const outputs[] = {paths.json, paths.folded};

    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
        if (outputs[i] != NULL && output_file_check(outputs[i], "the profile", input, error) != 0)
            return -1;
    return 0;
}

int profile_files_add(struct profile_files *files, const struct profiled_delivery *delivery,
                      struct error *error)
{
    if (delivery->profile.iov_len == 0)
        return 0;
    for (size_t i = 0; i < files->count; i++)
        if (profile_file_add(&files->files[i], delivery, error) != 0)
            return -1;
    return 0;
}

void profile_files_keep(struct profile_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        profile_file_keep(&files->files[i]);
}

void profile_files_undo(struct profile_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        profile_file_undo(&files->files[i]);
}

int profile_files_flush(struct profile_files *files, struct error *error)
{
    for (size_t i = 0; i < files->count; i++)
        if (profile_file_flush(&files->files[i], error) != 0)
            return -1;
    return 0;
}

void profile_files_drop(struct profile_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        profile_file_drop(&files->files[i]);
}

int profile_files_close(struct profile_files *files, struct error *error)
{
    int result = 0;

    for (size_t i = 0; i < files->count; i++)
        if (profile_file_close(&files->files[i], error) != 0)
            result = -1;
    files->count = 0;
    return result;
}
