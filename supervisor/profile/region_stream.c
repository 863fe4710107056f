/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/profile/region_stream.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* No worker has so much code, or gets so deep. */
enum { PLACES_MAX = 1 << 22, CELLS_MAX = 1 << 24, FILES_MAX = 4096, DEPTH_MAX = 1024 };

static int not_a_stream(struct error *error)
{
    return error_set(error, ERROR_INPUT, "a worker's counter wrote a profile that is none");
}

/* ---- files ---- */

static int take_file(struct region_stream *stream, const char *path, size_t length,
                     struct error *error)
{
    char **files;

    if (stream->file_count == FILES_MAX || memchr(path, '\0', length) != NULL)
        return not_a_stream(error);
    files =
        array_reserve(stream->files, &stream->file_room, stream->file_count + 1, sizeof(char *));
    if (files == NULL)
        return error_memory(error, "a profile");
    stream->files = files;
    files[stream->file_count] = strndup(path, length);
    if (files[stream->file_count] == NULL)
        return error_memory(error, "a profile");
    stream->file_count++;
    return 0;
}

/* ---- places ---- */

/* The items up to that number are there, those that are new all zeros. */
static struct region_place *reserve(struct region_places *places, uint32_t number)
{
    struct region_place *items =
        array_reserve(places->items, &places->room, (size_t)number + 1, sizeof *items);

    if (items == NULL)
        return NULL;
    places->items = items;
    if (number >= places->count) {
        memset(items + places->count, 0, (number + 1 - places->count) * sizeof *items);
        places->count = (size_t)number + 1;
    }
    return &items[number];
}

static uint32_t depth_of(const struct region_stream *stream, uint32_t chain)
{
    return chain > 0 ? stream->chains.items[chain].length : 0;
}

/* A stretch has a length. A chain comes behind its caller, and is the next one. */
static bool is_good(const struct region_stream *stream, const struct profile_stream_place *told,
                    bool is_chain)
{
    if (told->file > stream->file_count || told->number >= PLACES_MAX)
        return false;
    if (is_chain)
        return told->number == (stream->chains.count > 0 ? stream->chains.count : 1) &&
               told->caller < told->number && depth_of(stream, told->caller) < DEPTH_MAX;
    return told->length > 0;
}

static int take_place(struct region_stream *stream, const struct profile_stream_place *told,
                      bool is_chain, struct error *error)
{
    struct region_place *place;

    if (!is_good(stream, told, is_chain))
        return not_a_stream(error);
    place = reserve(is_chain ? &stream->chains : &stream->stretches, told->number);
    if (place == NULL)
        return error_memory(error, "a profile");
    *place = (struct region_place){
        .offset = told->offset,
        .file = told->file > 0 ? told->file - 1 : REGION_NO_FILE,
        .caller = told->caller,
        .length = is_chain ? depth_of(stream, told->caller) + 1 : told->length,
    };
    return 0;
}

static int take_places(struct region_stream *stream, const char *bytes, uint32_t count,
                       bool is_chain, struct error *error)
{
    struct profile_stream_place told;

    for (uint32_t i = 0; i < count; i++) {
        memcpy(&told, bytes + i * sizeof told, sizeof told);
        if (take_place(stream, &told, is_chain, error) != 0)
            return -1;
    }
    return 0;
}

/* ---- regions ---- */

static bool has_place(const struct region_places *places, uint32_t number)
{
    return number < places->count && places->items[number].length > 0;
}

static bool adds_up(const struct region_stream *stream, const struct region *region)
{
    uint64_t left = region->totals.instructions;

    if (left > INT64_MAX)
        return false;
    for (size_t i = 0; i < region->cell_count; i++) {
        const struct profile_stream_cell *cell = &region->cells[i];

        if (!has_place(&stream->stretches, cell->place) ||
            (cell->chain > 0 && !has_place(&stream->chains, cell->chain)) ||
            cell->instructions > left)
            return false;
        left -= cell->instructions;
    }
    return left == 0;
}

static int take_region(struct region_stream *stream, const char *bytes, uint32_t count,
                       struct error *error)
{
    struct region *region = malloc(sizeof *region + count * sizeof *region->cells);

    if (region == NULL)
        return error_memory(error, "a profile");
    *region = (struct region){.cell_count = count};
    memcpy(&region->totals, bytes, sizeof region->totals);
    memcpy(region->cells, bytes + sizeof region->totals, count * sizeof *region->cells);
    if (!adds_up(stream, region)) {
        free(region);
        return not_a_stream(error);
    }
    if (stream->regions == NULL)
        stream->last = &stream->regions;
    *stream->last = region;
    stream->last = &region->next;
    return 0;
}

void region_stream_forget(struct region_stream *stream, const struct region *upto)
{
    bool more = true;

    while (more && stream->regions != NULL) {
        struct region *region = stream->regions;

        more = region != upto;
        stream->regions = region->next;
        free(region);
    }
}

/* ---- records ---- */

/* How long what follows the head is; SIZE_MAX: there is no such record. */
static size_t body_of(const struct profile_stream_head *head)
{
    switch (head->type) {
    case PROFILE_STREAM_PROCESS:
        return head->count > 0 && head->count <= INT32_MAX ? 0 : SIZE_MAX;
    case PROFILE_STREAM_FILE:
        return head->count < PATH_MAX ? ((size_t)head->count + 7) / 8 * 8 : SIZE_MAX;
    case PROFILE_STREAM_PLACES:
    case PROFILE_STREAM_CHAINS:
        return head->count <= PLACES_MAX ? head->count * sizeof(struct profile_stream_place)
                                         : SIZE_MAX;
    case PROFILE_STREAM_REGION:
        return head->count <= CELLS_MAX ? sizeof(struct profile_stream_region) +
                                              head->count * sizeof(struct profile_stream_cell)
                                        : SIZE_MAX;
    default:
        return SIZE_MAX;
    }
}

static int take_record(struct region_stream *stream, const struct profile_stream_head *head,
                       const char *body, struct error *error)
{
    switch (head->type) {
    case PROFILE_STREAM_PROCESS:
        stream->process = (int32_t)head->count;
        return 0;
    case PROFILE_STREAM_FILE:
        return take_file(stream, body, head->count, error);
    case PROFILE_STREAM_REGION:
        return take_region(stream, body, head->count, error);
    default:
        return take_places(stream, body, head->count, head->type == PROFILE_STREAM_CHAINS, error);
    }
}

/* How many of the bytes were taken; -1 with the error. */
static ssize_t take_records(struct region_stream *stream, const char *bytes, size_t length,
                            struct error *error)
{
    struct profile_stream_head head;
    size_t at = 0, body;

    while (length - at >= sizeof head) {
        memcpy(&head, bytes + at, sizeof head);
        body = body_of(&head);
        if (body == SIZE_MAX)
            return not_a_stream(error);
        if (length - at - sizeof head < body)
            break;
        if (take_record(stream, &head, bytes + at + sizeof head, error) != 0)
            return -1;
        at += sizeof head + body;
    }
    return (ssize_t)at;
}

int region_stream_feed(struct region_stream *stream, const void *bytes, size_t length,
                       struct error *error)
{
    ssize_t taken;

    buf_append(&stream->bytes, bytes, length);
    if (buf_failed(&stream->bytes))
        return error_memory(error, "a profile");
    taken = take_records(stream, stream->bytes.data, stream->bytes.length, error);
    if (taken < 0)
        return -1;
    buf_consume(&stream->bytes, (size_t)taken);
    return 0;
}

void region_stream_free(struct region_stream *stream)
{
    region_stream_forget(stream, NULL);
    for (size_t i = 0; i < stream->file_count; i++)
        free(stream->files[i]);
    free(stream->files);
    free(stream->stretches.items);
    free(stream->chains.items);
    buf_free(&stream->bytes);
    *stream = (struct region_stream){0};
}
