/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/directory_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

enum { PATH_SIZE = 256 };

static int directory_files_fail(const struct directory_files *files, const char *what,
                                const char *path, struct error *error)
{
    return error_system(error, errno, "cannot %s %s/%s", what, files->name, path);
}

int directory_files_exist(const struct directory_files *files, const char *path, bool *found,
                          struct error *error)
{
    *found = faccessat(files->fd, path, F_OK, 0) == 0;
    return *found || errno == ENOENT ? 0 : directory_files_fail(files, "look for", path, error);
}

/* A job, a result or an object is no longer: longer files are not read. */
enum { READ_MAX = 512 << 20 };
static const uint64_t open_max = (uint64_t)16 << 30;

int directory_files_open(const struct directory_files *files, const char *path, int *fd,
                         struct error *error)
{
    return io_open_file(files->fd, path, O_NOFOLLOW, open_max, fd, error) == 0
               ? 0
               : error_prefix(error, "%s", files->name);
}

int directory_files_read(const struct directory_files *files, const char *path, struct buf *content,
                         bool *found, struct error *error)
{
    int fd, result;

    *found = false;
    if (io_open_file(files->fd, path, O_NOFOLLOW, READ_MAX, &fd, error) != 0)
        return error_prefix(error, "%s", files->name);
    *found = fd >= 0;
    if (fd < 0)
        return 0;
    result = io_read_open(fd, path, READ_MAX, content, error);
    close(fd);
    return result == 0 ? 0 : error_prefix(error, "%s", files->name);
}

/* Syncs the directory: the file's name must survive a power cut before its source is deleted. */
static int sync_directory(const struct directory_files *files, const char *path)
{
    char directory[PATH_SIZE] = ".";
    int fd, result;

    if (strchr(path, '/') != NULL)
        snprintf(directory, sizeof directory, "%.*s", (int)strcspn(path, "/"), path);
    fd = openat(files->fd, directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    result = fsync(fd);
    close(fd);
    return result;
}

/* A file's new content: bytes, or if NULL the content of another file. */
struct content {
    const struct buf *bytes;
    int fd;
};

static int write_temporary(const struct directory_files *files, const char *path,
                           const struct content *content)
{
    const int fd = openat(files->fd, path,
                          O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC, 0666);
    int result;

    if (fd < 0)
        return -1;
    result = content->bytes != NULL ? io_write_all(fd, content->bytes->data, content->bytes->length)
                                    : io_copy_all(content->fd, fd);
    if (result == 0)
        result = fsync(fd);
    if (close(fd) != 0)
        result = -1;
    return result;
}

static int add_content(const struct directory_files *files, const char *path,
                       const struct content *content, bool *added, struct error *error)
{
    char temporary[PATH_SIZE];
    int result = -1, cause;

    snprintf(temporary, sizeof temporary, "unfinished/%s", files->owner);
    *added = false;
    if (write_temporary(files, temporary, content) == 0) {
        result = linkat(files->fd, temporary, files->fd, path, 0);
        *added = result == 0;
        if (result != 0 && errno == EEXIST)
            result = 0;
        if (*added)
            result = sync_directory(files, path);
    }
    cause = errno;
    (void)unlinkat(files->fd, temporary, 0); /* the next one is written over it */
    errno = cause;
    return result == 0 ? 0 : directory_files_fail(files, "write", path, error);
}

int directory_files_add(const struct directory_files *files, const char *path,
                        const struct buf *content, bool *added, struct error *error)
{
    if (buf_failed(content))
        return error_memory(error, path);
    return add_content(files, path, &(struct content){.bytes = content}, added, error);
}

int directory_files_add_copy(const struct directory_files *files, const char *path, int content,
                             bool *added, struct error *error)
{
    return add_content(files, path, &(struct content){.fd = content}, added, error);
}

int directory_files_remove(const struct directory_files *files, const char *path,
                           struct error *error)
{
    return unlinkat(files->fd, path, 0) == 0 || errno == ENOENT
               ? 0
               : directory_files_fail(files, "remove", path, error);
}

int directory_files_list(const struct directory_files *files, const char *path, fleet_each *each,
                         void *context, struct error *error)
{
    const int fd = openat(files->fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    int result = 0;

    if (directory == NULL) {
        result = directory_files_fail(files, "read", path, error);
        if (fd >= 0)
            close(fd);
        return result;
    }
    /* cppcheck-suppress readdirCalled ; only this thread reads this directory */
    while (result == 0 && (errno = 0, entry = readdir(directory)) != NULL)
        if (entry->d_name[0] != '.')
            result = each(context, entry->d_name, error);
    if (result == 0 && errno != 0)
        result = directory_files_fail(files, "read", path, error);
    (void)closedir(directory); /* was only read */
    return result;
}
