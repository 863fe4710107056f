/* SPDX-License-Identifier: Apache-2.0 */
#include "base/output/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

/* ---- checks of paths ------------------------------------------------ */

static bool is_same_regular_file(const struct stat *one, const struct stat *other)
{
    return S_ISREG(one->st_mode) && one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

static int refuse_input(const char *input, const char *what, struct error *error)
{
    return error_set(error, ERROR_USAGE,
                     "%s: is read, and %s would be written over it; name another file", input,
                     what);
}

int output_file_check(const char *path, const char *what, const char *input, struct error *error)
{
    struct stat output_status, input_status;

    if (stat(path, &output_status) != 0 || stat(input, &input_status) != 0 ||
        !is_same_regular_file(&output_status, &input_status))
        return 0;
    return refuse_input(input, what, error);
}

int output_file_check_descriptor(int fd, const char *what, const char *input, struct error *error)
{
    struct stat output_status, input_status;

    if (fstat(fd, &output_status) != 0 || stat(input, &input_status) != 0 ||
        !is_same_regular_file(&output_status, &input_status))
        return 0;
    return refuse_input(input, what, error);
}

/* Gets the status of a path's directory. */
static bool stat_directory_of(const char *path, struct stat *status)
{
    const char *slash = strrchr(path, '/');
    char *directory = slash == NULL ? strdup(".") : strndup(path, (size_t)(slash - path) + 1);
    bool found = directory != NULL && stat(directory, status) == 0;

    free(directory);
    return found;
}

static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

/* True if both would be created as the same file. */
static bool become_one_file(const char *path, const char *other_path)
{
    struct stat directory, other_directory;

    return strcmp(last_name(path), last_name(other_path)) == 0 &&
           stat_directory_of(path, &directory) && stat_directory_of(other_path, &other_directory) &&
           directory.st_dev == other_directory.st_dev && directory.st_ino == other_directory.st_ino;
}

int output_file_check_apart(const char *path, const char *what, const char *other_path,
                            const char *other, struct error *error)
{
    struct stat status, other_status;
    bool there = stat(path, &status) == 0, other_there = stat(other_path, &other_status) == 0;

    if (there && other_there ? !is_same_regular_file(&status, &other_status)
                             : there || other_there || !become_one_file(path, other_path))
        return 0;
    return error_set(error, ERROR_USAGE,
                     "%s: %s and %s would be written over each other; "
                     "name two files",
                     path, what, other);
}

int output_file_check_all_apart(const struct output_wanted *outputs, size_t count,
                                struct error *error)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++)
            if (outputs[i].path != NULL && outputs[j].path != NULL &&
                output_file_check_apart(outputs[i].path, outputs[i].what, outputs[j].path,
                                        outputs[j].what, error) != 0)
                return -1;
    return 0;
}

static int cannot_write(const struct output_file *file, struct error *error)
{
    return error_system(error, errno, "%s: cannot write %s", file->path, file->what);
}

/* ---- signals ------------------------------------------------------------ */

static const int endings[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};

/* Files to remove on a signal; changed only while the signals are blocked. */
static const char *unfinished_files[OUTPUT_FILES];

static void on_ending(int signal_number)
{
    for (size_t i = 0; i < OUTPUT_FILES; i++) {
        if (unfinished_files[i] != NULL)
            (void)unlink(unfinished_files[i]);
    }
    (void)signal(signal_number, SIG_DFL);
    (void)raise(signal_number); /* delivered when this returns */
}

static void block_endings(sigset_t *before)
{
    sigset_t blocked;

    sigemptyset(&blocked);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        sigaddset(&blocked, endings[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, before);
}

/*
 * An ignored signal, as under nohup, stays ignored. Not SA_RESETHAND: Linux resets the action
 * before it blocks the signal, so one sent twice, as by timeout(1), would end the process before
 * the handler has run.
 */
static void catch_endings(void)
{
    struct sigaction action = {.sa_handler = on_ending}, old;

    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        if (sigaction(endings[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            (void)sigaction(endings[i], &action, NULL);
    }
}

static bool replace_in_list(const char *old, const char *new)
{
    for (size_t i = 0; i < OUTPUT_FILES; i++) {
        if (unfinished_files[i] == old) {
            unfinished_files[i] = new;
            return true;
        }
    }
    return false;
}

/* ---- the file ----------------------------------------------------------- */

static int make_unfinished(struct output_file *file, struct error *error)
{
    struct buf name = {0};
    sigset_t before;
    mode_t mask = umask(0);

    umask(mask);
    buf_printf(&name, "%s.XXXXXX", file->path);
    if (buf_string(&name) == NULL) {
        buf_free(&name);
        return error_memory(error, file->what);
    }
    block_endings(&before);
    file->fd = mkostemp(name.data, O_CLOEXEC);
    if (file->fd >= 0 && replace_in_list(NULL, name.data))
        catch_endings();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (file->fd < 0) {
        buf_free(&name);
        return cannot_write(file, error);
    }
    file->unfinished = name.data;
    /* mkostemp() makes it readable by the owner only. */
    return fchmod(file->fd, 0666 & ~mask) == 0 ? 0 : cannot_write(file, error);
}

static int open_in_place(struct output_file *file, struct error *error)
{
    file->fd = open(file->path, O_WRONLY | O_CLOEXEC);
    return file->fd >= 0 ? 0 : cannot_write(file, error);
}

int output_file_open(struct output_file *file, const char *path, const char *what,
                     struct error *error)
{
    struct stat status;
    bool there = stat(path, &status) == 0, ordinary = !there || S_ISREG(status.st_mode);
    int result;

    *file = (struct output_file){.fd = -1, .what = what};
    file->path = there && ordinary ? realpath(path, NULL) : strdup(path);
    if (file->path == NULL)
        return error_system(error, errno, "%s: cannot write %s", path, what);
    result = ordinary ? make_unfinished(file, error) : open_in_place(file, error);
    if (result != 0)
        output_file_discard(file);
    return result;
}

int output_file_open_growing(struct output_file *file, const char *path, const char *what,
                             struct error *error)
{
    *file = (struct output_file){.fd = -1, .path = strdup(path), .what = what};
    if (file->path == NULL)
        return error_memory(error, what);
    file->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file->fd >= 0)
        return 0;
    cannot_write(file, error);
    output_file_discard(file);
    return -1;
}

int output_file_write(struct output_file *file, struct buf *out, struct error *error)
{
    if (buf_failed(out))
        return error_memory(error, file->what);
    if (output_file_write_bytes(file, out->data, out->length, error) != 0)
        return -1;
    buf_clear(out);
    return 0;
}

int output_file_write_bytes(struct output_file *file, const char *bytes, size_t length,
                            struct error *error)
{
    return io_write_all(file->fd, bytes, length) == 0 ? 0 : cannot_write(file, error);
}

/* Makes signals ignore the file. */
static void forget_unfinished(struct output_file *file)
{
    sigset_t before;

    block_endings(&before);
    if (file->unfinished != NULL)
        (void)replace_in_list(file->unfinished, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    free(file->unfinished);
    file->unfinished = NULL;
}

int output_file_finish(struct output_file *file, struct error *error)
{
    int fd = file->fd;

    file->fd = -1;
    if (close(fd) != 0)
        return cannot_write(file, error);
    if (file->unfinished != NULL && rename(file->unfinished, file->path) != 0)
        return cannot_write(file, error);
    forget_unfinished(file);
    return 0;
}

void output_file_discard(struct output_file *file)
{
    if (file->fd >= 0)
        (void)close(file->fd);
    file->fd = -1;
    if (file->unfinished != NULL)
        (void)unlink(file->unfinished);
    forget_unfinished(file);
    free(file->path);
    file->path = NULL;
}

int output_file_write_whole(const char *path, const char *what, struct buf *out,
                            struct error *error)
{
    struct output_file file;
    int result;

    if (output_file_open(&file, path, what, error) != 0)
        return -1;
    result = output_file_write(&file, out, error);
    if (result == 0)
        result = output_file_finish(&file, error);
    output_file_discard(&file);
    return result;
}
