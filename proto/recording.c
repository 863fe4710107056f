/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/recording.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json_text.h"

static const char magic[] = "gaspipe-recording ";

void recording_put_head(struct buf *buf, const struct recording_head *head)
{
    buf_printf(buf, "%s%d %" PRIu32 " %" PRIu32 " %" PRIu32 " %d\n", magic, RECORDING_VERSION,
               head->compute_limit, head->compute_interval, head->parser_kb, head->from_snapshot);
}

size_t recording_put_prefix(char at[RECORDING_PREFIX_SIZE], enum recording_direction direction,
                            struct stamp stamp)
{
    char *end = at;

    *end++ = (char)direction;
    *end++ = ' ';
    end = json_text_put_integer(end, stamp.mono);
    *end++ = ' ';
    end = json_text_put_integer(end, stamp.real);
    *end++ = ' ';
    return (size_t)(end - at);
}

/* A number up to max and the byte after it; where the next one begins, or NULL. */
static const char *recording_take_number(const char *at, const char *end, uint64_t max, char after,
                                         uint64_t *number)
{
    const char *first = at;

    *number = 0;
    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        uint64_t digit = (uint64_t)(*at - '0');

        if (digit > max || *number > (max - digit) / 10)
            return NULL;
        *number = *number * 10 + digit;
    }
    return at > first && at < end && *at == after ? at + 1 : NULL;
}

void recording_snapshot_path(char *path, size_t size, const char *recording)
{
    static const char suffix[] = ".frames";
    size_t length = strlen(recording);

    if (length >= sizeof suffix - 1 &&
        strcmp(recording + length - (sizeof suffix - 1), suffix) == 0)
        length -= sizeof suffix - 1;
    snprintf(path, size, "%.*s.snapshot", (int)length, recording);
}

bool recording_begins(const char *bytes, size_t length)
{
    const char *colon = memchr(bytes, ':', length < 8 ? length : 8);
    size_t left = colon != NULL ? length - (size_t)(colon + 1 - bytes) : 0;

    return colon != NULL && left >= sizeof magic - 1 &&
           memcmp(colon + 1, magic, sizeof magic - 1) == 0;
}

int recording_take_head(struct recording_head *head, struct iovec payload, struct error *error)
{
    static const uint64_t most[] = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, 1};
    static const char after[] = {' ', ' ', ' ', ' ', '\n'};
    const char *at = payload.iov_base, *end = at + payload.iov_len;
    uint64_t numbers[5];

    if (payload.iov_len < sizeof magic - 1 || memcmp(at, magic, sizeof magic - 1) != 0)
        return error_set(error, ERROR_INPUT, "not a recorded session");
    at += sizeof magic - 1;
    for (int i = 0; i < 5; i++) {
        at = recording_take_number(at, end, most[i], after[i], &numbers[i]);
        if (i == 0 && at != NULL && numbers[0] != RECORDING_VERSION)
            return error_set(error, ERROR_INPUT,
                             "a recorded session of version %" PRIu64 "; version %d can be read",
                             numbers[0], RECORDING_VERSION);
        if (at == NULL)
            return error_set(error, ERROR_INPUT, "a recorded session whose head is broken");
    }
    *head = (struct recording_head){
        .compute_limit = (uint32_t)numbers[1],
        .compute_interval = (uint32_t)numbers[2],
        .parser_kb = (uint32_t)numbers[3],
        .from_snapshot = numbers[4] == 1,
    };
    return 0;
}

int recording_take_frame(struct recorded_frame *frame, struct iovec payload, struct error *error)
{
    const char *at = payload.iov_base, *end = at + payload.iov_len;
    uint64_t mono = 0, real = 0;

    if (payload.iov_len < 2 || (at[0] != RECORDING_DOWN && at[0] != RECORDING_UP) || at[1] != ' ')
        return error_set(error, ERROR_INPUT, "a record that is not a frame");
    frame->direction = (enum recording_direction)at[0];
    at = recording_take_number(at + 2, end, INT64_MAX, ' ', &mono);
    if (at != NULL)
        at = recording_take_number(at, end, INT64_MAX, ' ', &real);
    if (at == NULL)
        return error_set(error, ERROR_INPUT, "a frame without its times");
    frame->stamp = (struct stamp){.real = (int64_t)real, .mono = (int64_t)mono};
    frame->bytes = (struct iovec){(char *)at, (size_t)(end - at)};
    return 0;
}
