/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/profile/native/cost_stream.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "supervisor/count/compiled/cost_profile.h"

/* No region has so much to say, in no such line: one that does not end is looked through again with
 * all that comes. */
#define REGION_BYTES_MAX ((size_t)1 << 28)
#define LINE_BYTES_MAX   ((size_t)1 << 20)

static int not_a_profile(struct error *error)
{
    return error_set(error, ERROR_INPUT, "a worker's meter wrote a profile that is none");
}

/* region BEGAN ENDED COST PID PROGRAM; *rest is PROGRAM and what follows. */
static bool take_head(const char *text, uint64_t numbers[4], const char **rest)
{
    static const char word[] = "region ";

    if (strncmp(text, word, sizeof word - 1) != 0)
        return false;
    text += sizeof word - 1;
    for (int i = 0; i < 4; i++)
        if (!number_take(&text, &numbers[i]) || *text++ != ' ' || numbers[i] > INT64_MAX)
            return false;
    *rest = text;
    return numbers[3] > 0 && numbers[3] <= INT32_MAX;
}

static int add_region(struct cost_stream *stream, const char *text, struct error *error)
{
    struct cost_region *region;
    uint64_t numbers[4];
    const char *rest;

    if (!take_head(text, numbers, &rest))
        return not_a_profile(error);
    region = calloc(1, sizeof *region);
    if (region == NULL)
        return error_memory(error, "a profile");
    region->began = (int64_t)numbers[0];
    region->ended = (int64_t)numbers[1];
    region->cost = numbers[2];
    stream->process = (pid_t)numbers[3];
    buf_printf(&region->text, "process %" PRIu64 " %s", region->cost, rest);
    if (stream->regions == NULL)
        stream->end = &stream->regions;
    *stream->end = region;
    stream->end = &region->next;
    return buf_string(&region->text) != NULL ? 0 : error_memory(error, "a profile");
}

/* Behind the first region's last line, at whose beginning *last is; 0: it is not whole yet. */
static size_t end_of_region(struct cost_stream *stream, size_t *last)
{
    const char *line, *end;

    while ((end = memchr(stream->bytes.data + stream->looked, '\n',
                         stream->bytes.length - stream->looked)) != NULL) {
        line = stream->bytes.data + stream->looked;
        *last = stream->looked;
        stream->looked = (size_t)(end + 1 - stream->bytes.data);
        if (end - line == 3 && memcmp(line, "end", 3) == 0)
            return stream->looked;
    }
    return 0;
}

int cost_stream_feed(struct cost_stream *stream, const void *bytes, size_t length,
                     struct error *error)
{
    size_t last, end;

    buf_append(&stream->bytes, bytes, length);
    if (buf_failed(&stream->bytes))
        return error_memory(error, "a profile");
    while ((end = end_of_region(stream, &last)) > 0) {
        stream->bytes.data[last] = '\0';
        if (strlen(stream->bytes.data) != last)
            return not_a_profile(error);
        if (add_region(stream, stream->bytes.data, error) != 0)
            return -1;
        buf_consume(&stream->bytes, end);
        stream->looked = 0;
    }
    return stream->bytes.length <= REGION_BYTES_MAX &&
                   stream->bytes.length - stream->looked <= LINE_BYTES_MAX
               ? 0
               : not_a_profile(error);
}

int cost_stream_profile(struct count_profile *profile, struct cost_region *region,
                        struct error *error)
{
    uint64_t sum = 0;

    if (cost_profile_take(profile, region->text.data, error) != 0)
        return -1;
    for (size_t i = 0; i < profile->stack_count; i++)
        sum += profile->stacks[i].self;
    if (sum == region->cost)
        return 0;
    count_profile_free(profile);
    return not_a_profile(error);
}

void cost_stream_forget(struct cost_stream *stream, const struct cost_region *upto)
{
    bool more = true;

    while (more && stream->regions != NULL) {
        struct cost_region *region = stream->regions;

        more = region != upto;
        stream->regions = region->next;
        buf_free(&region->text);
        free(region);
    }
}

void cost_stream_free(struct cost_stream *stream)
{
    cost_stream_forget(stream, NULL);
    buf_free(&stream->bytes);
    *stream = (struct cost_stream){0};
}
