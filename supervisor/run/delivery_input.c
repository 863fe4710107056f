/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/run/delivery_input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "proto/netstring.h"

void delivery_input_next(struct delivery_input *input)
{
    input->methods->next(input);
}

bool delivery_input_look(struct delivery_input *input, int64_t *number, const char **text,
                         size_t *length)
{
    return input->methods->look(input, number, text, length);
}

void delivery_input_close(struct delivery_input *input)
{
    if (input != NULL)
        input->methods->close(input);
}

/* ---- a file ---- */

enum {
    READ_STEP = 64 * 1024,
    LINE_MAX_BYTES = NETSTRING_CAP_UP, /* as what vats send each other */
};

struct file_input {
    struct delivery_input base;
    struct delivery_input_listener listener;
    int fd;
    bool polled; /* waits on the loop; a regular file never makes a reader wait */
    bool ended;  /* the end was read */
    uv_poll_t poll;
    struct buf bytes; /* what was read */
    size_t start;     /* of the next line in it */
    size_t searched;  /* there is no newline between start and here */
    int64_t number;   /* of the last line */
};

static struct file_input *of_file(struct delivery_input *base)
{
    return (struct file_input *)base; /* its first member */
}

static bool is_blank_line(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r')
            return false;
    return true;
}

/* The next line of what was read; false: there is no whole one. */
static bool take_read_line(struct file_input *input, const char **text, size_t *length)
{
    const char *newline = NULL;
    size_t end;

    if (input->searched < input->bytes.length)
        newline = memchr(input->bytes.data + input->searched, '\n',
                         input->bytes.length - input->searched);
    if (newline == NULL && (!input->ended || input->start == input->bytes.length)) {
        input->searched = input->bytes.length;
        return false;
    }
    end = newline != NULL ? (size_t)(newline - input->bytes.data) : input->bytes.length;
    *text = input->bytes.data + input->start;
    *length = end - input->start;
    input->start = newline != NULL ? end + 1 : end;
    input->searched = input->start;
    input->number++;
    return true;
}

/* Reads once. 0, or -1 with the error; the end is in input->ended. */
static int read_more(struct file_input *input, struct error *error)
{
    ssize_t got;

    buf_consume(&input->bytes, input->start);
    input->searched -= input->start;
    input->start = 0;
    if (input->bytes.length > LINE_MAX_BYTES)
        return error_set(error, ERROR_INPUT, "%s:%lld: the line is longer than %d bytes",
                         input->base.name, (long long)input->number + 1, LINE_MAX_BYTES);
    if (buf_reserve(&input->bytes, READ_STEP) != 0)
        return error_memory(error, input->base.name);
    do
        got = read(input->fd, input->bytes.data + input->bytes.length, READ_STEP);
    while (got < 0 && errno == EINTR);
    if (got < 0 && errno == EAGAIN)
        return 0;
    if (got < 0)
        return error_set(error, ERROR_INPUT, "%s: cannot read: %m", input->base.name);
    input->ended = got == 0;
    input->bytes.length += (size_t)got;
    return 0;
}

/* Whether reading would not wait. */
static bool has_come(const struct file_input *input)
{
    struct pollfd look = {.fd = input->fd, .events = POLLIN};

    return poll(&look, 1, 0) > 0;
}

static void on_input_readable(uv_poll_t *poll, int status, int events)
{
    struct file_input *input = poll->data;
    struct error error;

    (void)status;
    (void)events;
    uv_poll_stop(poll);
    if (read_more(input, &error) != 0)
        input->listener.failed(input->listener.context, &error);
    else
        delivery_input_next(&input->base);
}

static void file_input_next(struct delivery_input *base)
{
    struct file_input *input = of_file(base);
    struct error error;
    const char *text;
    size_t length;

    for (;;) {
        if (take_read_line(input, &text, &length)) {
            if (is_blank_line(text, length))
                continue;
            input->listener.line(input->listener.context, text, length, input->number);
            return;
        }
        if (input->ended) {
            input->listener.end(input->listener.context);
            return;
        }
        if (input->polled && !has_come(input)) {
            if (!input->listener.waiting(input->listener.context))
                return;
            /* Cannot fail: uv_poll_init() accepted the descriptor. */
            (void)uv_poll_start(&input->poll, UV_READABLE | UV_DISCONNECT, on_input_readable);
            return;
        }
        if (read_more(input, &error) != 0) {
            input->listener.failed(input->listener.context, &error);
            return;
        }
    }
}

/* Peeks at what was read. */
static bool find_read_line(const struct file_input *input, int64_t *number, const char **text,
                           size_t *length)
{
    size_t start = input->start;

    for (int64_t at = input->number + 1; start < input->bytes.length; at++) {
        const char *line = input->bytes.data + start;
        const char *newline = memchr(line, '\n', input->bytes.length - start);

        if (newline == NULL && !input->ended)
            return false;
        *text = line;
        *length = newline != NULL ? (size_t)(newline - line) : input->bytes.length - start;
        start += *length + 1;
        if (at > *number && !is_blank_line(*text, *length)) {
            *number = at;
            return true;
        }
    }
    return false;
}

static bool file_input_look(struct delivery_input *base, int64_t *number, const char **text,
                            size_t *length)
{
    struct file_input *input = of_file(base);
    struct error ignored; /* reading again will report it */

    if (find_read_line(input, number, text, length))
        return true;
    return !input->ended && (!input->polled || has_come(input)) &&
           input->bytes.length - input->start < READ_STEP && read_more(input, &ignored) == 0 &&
           find_read_line(input, number, text, length);
}

static int open_input_file(struct file_input *input, const char *path, struct error *error)
{
    struct stat status;

    input->base.name = path;
    if (strcmp(path, "-") == 0) {
        input->base.name = "stdin";
        input->fd = STDIN_FILENO;
    } else {
        input->fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    if (input->fd < 0 || fstat(input->fd, &status) != 0)
        return io_unreadable(path, error);
    if (S_ISDIR(status.st_mode))
        return error_set(error, ERROR_INPUT, "%s: is a folder, not a file", path);
    return 0;
}

static void free_input(struct file_input *input)
{
    if (input->fd > STDIN_FILENO)
        close(input->fd);
    buf_free(&input->bytes);
    free(input);
}

static void on_input_closed(uv_handle_t *handle)
{
    free_input(handle->data);
}

static void file_input_close(struct delivery_input *base)
{
    struct file_input *input = of_file(base);

    if (input->polled)
        uv_close((uv_handle_t *)&input->poll, on_input_closed);
    else
        free_input(input);
}

struct delivery_input *file_input_open(uv_loop_t *loop, const char *path,
                                       const struct delivery_input_listener *listener,
                                       struct error *error)
{
    static const struct delivery_input_methods methods = {
        .next = file_input_next, .look = file_input_look, .close = file_input_close};
    struct file_input *input = calloc(1, sizeof *input);

    if (input == NULL) {
        error_memory(error, path);
        return NULL;
    }
    input->base.methods = &methods;
    input->listener = *listener;
    if (open_input_file(input, path, error) != 0) {
        free_input(input);
        return NULL;
    }
    /* Refused for regular files and /dev/null, which never make a reader wait. */
    input->polled = uv_poll_init(loop, &input->poll, input->fd) == 0;
    input->poll.data = input;
    return &input->base;
}
