/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/run/delivery_input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/compression.h"
#include "base/io.h"
#include "base/number.h"
#include "base/text/format.h"
#include "proto/netstring.h"
#include "supervisor/process/fingerprint.h"

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
    if (input->number == 0 && input->bytes.length == (size_t)got)
        return compression_refuse(input->base.name, input->bytes.data, (size_t)got, error);
    return 0;
}

/* Returns true if reading would not block. */
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

int file_input_scan(struct delivery_input *base,
                    int (*line)(void *context, const char *text, size_t length, int64_t number,
                                struct error *error),
                    void *context, struct error *error)
{
    struct file_input *input = of_file(base);
    const off_t begin = lseek(input->fd, 0, SEEK_CUR);
    struct stat status;
    const char *text;
    size_t length;
    int result = 0;

    if (begin < 0 || fstat(input->fd, &status) != 0 || !S_ISREG(status.st_mode))
        return 0;
    while (result == 0 && !(input->ended && input->start == input->bytes.length)) {
        if (!take_read_line(input, &text, &length))
            result = read_more(input, error);
        else if (!is_blank_line(text, length))
            result = line(context, text, length, input->number, error);
    }
    buf_clear(&input->bytes);
    input->start = input->searched = 0;
    input->number = 0;
    input->ended = false;
    if (result == 0 && lseek(input->fd, begin, SEEK_SET) < 0)
        return error_set(error, ERROR_INPUT, "%s: cannot read: %m", input->base.name);
    return result;
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
        return error_set(error, ERROR_INPUT, "%s: is a directory, not a file", path);
    return 0;
}

static void free_file_input(struct file_input *input)
{
    if (input->fd > STDIN_FILENO)
        close(input->fd);
    buf_free(&input->bytes);
    free(input);
}

static void on_input_closed(uv_handle_t *handle)
{
    free_file_input(handle->data);
}

static void file_input_close(struct delivery_input *base)
{
    struct file_input *input = of_file(base);

    if (input->polled)
        uv_close((uv_handle_t *)&input->poll, on_input_closed);
    else
        free_file_input(input);
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
        free_file_input(input);
        return NULL;
    }
    /* Refused for regular files and /dev/null, which never make a reader wait. */
    input->polled = uv_poll_init(loop, &input->poll, input->fd) == 0;
    input->poll.data = input;
    return &input->base;
}

/* ---- how far the store has got ---- */

static const char lines_key[] = "input.lines", hash_key[] = "input.hash", done_key[] = "input.done";
static const char batch_key[] = "input.batch", stream_key[] = "input.stream";

static int set_place_damaged(const char *key, struct error *error)
{
    return error_set(error, ERROR_SYSTEM, "the store is damaged: %s is missing or invalid", key);
}

/* The value of a key, terminated, which has less than `size` bytes. */
static int read_place_key(struct store *store, const char *key, char *value, size_t size,
                          bool *found, struct error *error)
{
    struct buf bytes = {0};
    int result = store_key_get(store, key, &bytes, found, error);

    value[0] = '\0';
    if (result == 0 && bytes.length >= size)
        result = set_place_damaged(key, error);
    else if (result == 0 && bytes.length > 0)
        snprintf(value, size, "%.*s", (int)bytes.length, bytes.data);
    buf_free(&bytes);
    return result;
}

static int write_place_key(struct store *store, const char *key, const char *value,
                           struct error *error)
{
    return store_key_set(store, key, (struct iovec){(char *)value, strlen(value)}, error);
}

static int take_line_count(struct input_place *place, const char *text, struct error *error)
{
    uint64_t lines;

    if (!number_read(text, INT64_MAX, &lines))
        return set_place_damaged(lines_key, error);
    place->lines = (int64_t)lines;
    return 0;
}

static int take_done(struct input_place *place, const char *text, struct error *error)
{
    place->done = strcmp(text, "true") == 0;
    return place->done || strcmp(text, "false") == 0 ? 0 : set_place_damaged(done_key, error);
}

static int take_batch(struct input_place *place, const char *text, struct error *error)
{
    return number_read(text, INT64_MAX, &place->batch) ? 0 : set_place_damaged(batch_key, error);
}

/* If some keys are missing, do not start at the beginning: all lines would be delivered again. */
int input_place_open(struct input_place *place, struct store *store, struct error *error)
{
    char lines[24], done[8], batch[24];
    bool has_lines, has_hash, has_done, has_batch, has_stream;

    memset(place, 0, sizeof *place);
    place->store = store;
    if (read_place_key(store, lines_key, lines, sizeof lines, &has_lines, error) != 0 ||
        read_place_key(store, hash_key, place->hash, sizeof place->hash, &has_hash, error) != 0 ||
        read_place_key(store, done_key, done, sizeof done, &has_done, error) != 0 ||
        read_place_key(store, batch_key, batch, sizeof batch, &has_batch, error) != 0 ||
        read_place_key(store, stream_key, place->stream, sizeof place->stream, &has_stream,
                       error) != 0)
        return -1;
    if (has_batch && take_batch(place, batch, error) != 0)
        return -1;
    if (!has_lines && !has_hash && !has_done)
        return 0;
    if (!has_hash)
        return set_place_damaged(hash_key, error);
    return take_line_count(place, lines, error) != 0 ? -1 : take_done(place, done, error);
}

static int write_input_place(struct input_place *place, struct error *error)
{
    char lines[24];

    format_text(lines, sizeof lines, "%" PRId64, place->lines);
    if (write_place_key(place->store, lines_key, lines, error) != 0 ||
        write_place_key(place->store, hash_key, place->hash, error) != 0)
        return -1;
    return write_place_key(place->store, done_key, place->done ? "true" : "false", error);
}

static int keep_stream(struct input_place *place, const char *stream, struct error *error)
{
    if (strcmp(place->stream, stream) == 0)
        return 0;
    snprintf(place->stream, sizeof place->stream, "%s", stream);
    if (stream[0] == '\0')
        return store_key_delete(place->store, stream_key, error);
    return write_place_key(place->store, stream_key, stream, error);
}

bool input_place_is_new(const struct input_place *place)
{
    return place->lines == 0 && place->hash[0] == '\0' && place->stream[0] == '\0';
}

/* Without the time at which it was made. */
static int stream_name_length(const char *stream)
{
    return (int)strcspn(stream, ".");
}

int input_place_check_stream(const struct input_place *place, const char *stream,
                             struct error *error)
{
    const int length = stream_name_length(stream);

    if (strcmp(place->stream, stream) == 0)
        return 0;
    if (place->stream[0] == '\0')
        return error_set(error, ERROR_INPUT,
                         "the store has not come to the end of its file of deliveries; "
                         "--again begins with the stream");
    if (stream_name_length(place->stream) == length &&
        strncmp(place->stream, stream, (size_t)length) == 0)
        return error_set(error, ERROR_INPUT,
                         "the stream %.*s was deleted and created again; --again begins with it",
                         length, stream);
    return error_set(error, ERROR_INPUT,
                     "the store takes its deliveries from the stream %.*s; --again ends that",
                     stream_name_length(place->stream), place->stream);
}

int input_place_begin(struct input_place *place, const char *stream, struct error *error)
{
    place->lines = 0;
    place->hash[0] = '\0';
    place->done = false;
    if (input_place_keep_batch(place, 0, error) != 0 || keep_stream(place, stream, error) != 0)
        return -1;
    return write_input_place(place, error);
}

static int add_to_input_chain(char hash[STORE_HASH_SIZE], const char *text, size_t length,
                              struct error *error)
{
    const struct iovec parts[] = {{hash, strlen(hash)}, {(char *)text, length}};
    char next[FINGERPRINT_HEX_SIZE];

    if (fingerprint_hash_parts(parts, 2, next, error) != 0)
        return -1;
    memcpy(hash, next, sizeof next);
    return 0;
}

int input_place_take(struct input_place *place, int64_t number, const char *text, size_t length,
                     struct error *error)
{
    place->lines = number;
    if (add_to_input_chain(place->hash, text, length, error) != 0)
        return -1;
    return write_input_place(place, error);
}

struct repeated_lines {
    int64_t lines; /* the last line's number */
    const struct input_place *place;
    char hash[STORE_HASH_SIZE];
};

static int add_repeated_line(void *context, const char *text, size_t length, int64_t number,
                             struct error *error)
{
    struct repeated_lines *repeat = context;

    repeat->lines = number;
    return number > repeat->place->lines ? 0
                                         : add_to_input_chain(repeat->hash, text, length, error);
}

int input_place_compare(const struct input_place *place, struct delivery_input *input,
                        enum input_repeat *repeat, struct error *error)
{
    struct repeated_lines lines = {.place = place};

    *repeat = INPUT_OTHER;
    if (!place->done || place->lines == 0 || place->stream[0] != '\0')
        return 0;
    if (file_input_scan(input, add_repeated_line, &lines, error) != 0)
        return -1;
    if (strcmp(lines.hash, place->hash) == 0)
        *repeat = lines.lines > place->lines ? INPUT_GROWN : INPUT_SAME;
    return 0;
}

int input_place_keep_batch(struct input_place *place, uint64_t lines, struct error *error)
{
    char text[24];

    if (place->batch == lines)
        return 0;
    place->batch = lines;
    if (lines == 0)
        return store_key_delete(place->store, batch_key, error);
    snprintf(text, sizeof text, "%" PRIu64, lines);
    return write_place_key(place->store, batch_key, text, error);
}

int input_place_finish(struct input_place *place, struct error *error)
{
    place->done = true;
    return write_input_place(place, error);
}

int input_place_skip(struct input_place *place, int64_t number, const char *text, size_t length,
                     struct error *error)
{
    if (add_to_input_chain(place->skipped, text, length, error) != 0)
        return -1;
    return number == place->lines ? input_place_check(place, error) : 0;
}

int input_place_check(const struct input_place *place, struct error *error)
{
    if (strcmp(place->skipped, place->hash) == 0)
        return 0;
    return error_set(error, ERROR_INPUT,
                     "does not begin with the %" PRId64 " lines that the store has; "
                     "--again starts another file",
                     place->lines);
}
