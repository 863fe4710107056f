/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/run/input_place.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/text/format.h"
#include "supervisor/process/fingerprint.h"

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

static int take_lines(struct input_place *place, const char *text, struct error *error)
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
    return take_lines(place, lines, error) != 0 ? -1 : take_done(place, done, error);
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
                         "--new-input begins with the stream");
    if (stream_name_length(place->stream) == length &&
        strncmp(place->stream, stream, (size_t)length) == 0)
        return error_set(error, ERROR_INPUT,
                         "the stream %.*s was deleted and made anew; --new-input begins with it",
                         length, stream);
    return error_set(error, ERROR_INPUT,
                     "the store takes its deliveries from the stream %.*s; --new-input ends that",
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

static int add_to_chain(char hash[STORE_HASH_SIZE], const char *text, size_t length,
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
    if (add_to_chain(place->hash, text, length, error) != 0)
        return -1;
    return write_input_place(place, error);
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
    if (add_to_chain(place->skipped, text, length, error) != 0)
        return -1;
    return number == place->lines ? input_place_check(place, error) : 0;
}

int input_place_check(const struct input_place *place, struct error *error)
{
    if (strcmp(place->skipped, place->hash) == 0)
        return 0;
    return error_set(error, ERROR_INPUT,
                     "does not begin with the %" PRId64 " lines that the store has; "
                     "--new-input starts another file",
                     place->lines);
}
