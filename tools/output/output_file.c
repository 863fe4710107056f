/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/output/output_file.h"

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

static int cannot_write(const struct output_file *file, struct error *error)
{
    return error_system(error, errno, "%s: cannot write %s", file->path, file->what);
}

/* ---- signals ------------------------------------------------------------ */

static const int endings[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};

/* What a signal takes away; changed only while these signals are blocked. */
static const char *unfinished_files[OUTPUT_FILES];

static void on_ending(int signal_number)
{
    for (size_t i = 0; i < OUTPUT_FILES; i++) {
        if (unfinished_files[i] != NULL)
            (void)unlink(unfinished_files[i]);
    }
    (void)signal(signal_number, SIG_DFL);
    (void)raise(signal_number); /* comes when this returns */
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
 * A signal that is ignored, as under nohup, stays so. Not SA_RESETHAND: the kernel resets
 * the action before it blocks the signal, and one that is sent twice, as timeout(1) does,
 * then ends the process before the handler has run.
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
    /* mkostemp() lets nobody else read it. */
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

int output_file_write(struct output_file *file, struct buf *out, struct error *error)
{
    if (buf_failed(out))
        return error_memory(error, file->what);
    if (io_write_all(file->fd, out->data, out->length) != 0)
        return cannot_write(file, error);
    buf_clear(out);
    return 0;
}

/* A signal does not know of it any more. */
static void forget(struct output_file *file)
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
    forget(file);
    return 0;
}

void output_file_discard(struct output_file *file)
{
    if (file->fd >= 0)
        (void)close(file->fd);
    file->fd = -1;
    if (file->unfinished != NULL)
        (void)unlink(file->unfinished);
    forget(file);
    free(file->path);
    file->path = NULL;
}
