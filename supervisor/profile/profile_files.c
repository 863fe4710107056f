/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/profile/profile_files.h"

#include <string.h>

#include "supervisor/profile/script_profile.h"

#define PACKED ".zst"

static int open_one(struct profile_files *files, const char *path, enum profile_format format,
                    struct error *error)
{
    struct profile_file *const file = &files->files[files->count];
    const size_t length = path != NULL ? strlen(path) : 0;

    if (path == NULL)
        return 0;
    *file = (struct profile_file){.format = format};
    if (length >= strlen(PACKED) && strcmp(path + length - strlen(PACKED), PACKED) == 0 &&
        (file->packer = packer_new(error)) == NULL)
        return -1;
    if (output_file_open_growing(&file->file, path, "the profile", error) != 0) {
        packer_free(file->packer);
        return -1;
    }
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

int profile_files_put(struct profile_files *files, const struct profile *profile,
                      const struct profile_delivery *delivery, enum profile_frame frame,
                      struct error *error)
{
    for (size_t i = 0; i < files->count; i++) {
        struct buf *const gathered = &files->files[i].gathered;

        if ((files->files[i].format == PROFILE_JSON
                 ? profile_put_lines(gathered, profile, delivery, error)
                 : profile_put_folded(gathered, profile, delivery, frame, error)) != 0)
            return -1;
    }
    return 0;
}

int profile_files_add(struct profile_files *files, const struct profiled_delivery *delivery,
                      struct error *error)
{
    struct profile profile;
    int result;

    if (delivery->profile.iov_len == 0 || files->count == 0)
        return 0;
    result = script_profile_read(&profile, delivery->profile,
                                 delivery->counted ? (int64_t)delivery->instructions : -1, error);
    if (result == 0)
        result =
            profile_files_put(files, &profile, &delivery->delivery, PROFILE_FRAME_SOURCE, error);
    profile_close(&profile);
    return result;
}

void profile_files_keep(struct profile_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        files->files[i].kept = files->files[i].gathered.length;
}

void profile_files_undo(struct profile_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        files->files[i].gathered.length = files->files[i].kept;
}

/* Compressed, if that is wanted. */
static int write_gathered(struct profile_file *file, enum packer_end end, struct error *error)
{
    struct buf packed = {0};
    int result;

    if (file->packer == NULL || buf_failed(&file->gathered))
        return output_file_write(&file->file, &file->gathered, error);
    result =
        packer_add(file->packer, file->gathered.data, file->gathered.length, end, &packed, error);
    buf_clear(&file->gathered);
    if (result == 0)
        result = output_file_write(&file->file, &packed, error);
    buf_free(&packed);
    return result;
}

int profile_files_flush(struct profile_files *files, struct error *error)
{
    for (size_t i = 0; i < files->count; i++) {
        struct profile_file *const file = &files->files[i];

        file->kept = 0;
        if ((file->gathered.length > 0 || buf_failed(&file->gathered)) &&
            write_gathered(file, PACKER_FLUSH, error) != 0)
            return -1;
    }
    return 0;
}

void profile_files_drop(struct profile_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        buf_clear(&files->files[i].gathered);
        files->files[i].kept = 0;
    }
}

static int close_one(struct profile_file *file, struct error *error)
{
    int result = 0;

    if (file->file.path != NULL) {
        result = write_gathered(file, PACKER_FINISH, error) == 0
                     ? output_file_finish(&file->file, error)
                     : -1;
        output_file_discard(&file->file);
    }
    packer_free(file->packer);
    buf_free(&file->gathered);
    return result;
}

int profile_files_close(struct profile_files *files, struct error *error)
{
    int result = 0;

    for (size_t i = 0; i < files->count; i++)
        if (close_one(&files->files[i], error) != 0)
            result = -1;
    *files = (struct profile_files){0};
    return result;
}
