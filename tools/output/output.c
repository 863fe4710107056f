/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/output/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json/json_text.h"
#include "base/log.h"
#include "base/visible.h"

static void scaled(char text[UNITS_SIZE], double number, const char *unit)
{
    int decimals = number < 9.995 ? 2 : number < 99.95 ? 1 : 0;

    snprintf(text, UNITS_SIZE, "%.*f %s", decimals, number, unit);
}

void units_time(char text[UNITS_SIZE], uint64_t nanoseconds)
{
    double number = (double)nanoseconds;

    if (number < 1e3)
        snprintf(text, UNITS_SIZE, "%d ns", (int)nanoseconds);
    else if (number < 999.5e3)
        scaled(text, number / 1e3, "µs");
    else if (number < 999.5e6)
        scaled(text, number / 1e6, "ms");
    else
        scaled(text, number / 1e9, "s");
}

void units_count(char text[UNITS_SIZE], uint64_t count)
{
    double number = (double)count;

    if (number < 1e3)
        snprintf(text, UNITS_SIZE, "%d", (int)count);
    else if (number < 999.5e3)
        scaled(text, number / 1e3, "k");
    else if (number < 999.5e6)
        scaled(text, number / 1e6, "M");
    else
        scaled(text, number / 1e9, "G");
}

/* How many columns UTF-8 text takes, of characters one column wide. */
static size_t columns_of(const char *text)
{
    size_t columns = 0;

    for (; *text != '\0'; text++)
        columns += ((unsigned char)*text & 0xc0) != 0x80;
    return columns;
}

void units_pad(struct buf *out, const char *text, size_t width)
{
    for (size_t columns = columns_of(text); columns < width; columns++)
        buf_append_byte(out, ' ');
    buf_append_string(out, text);
}

void units_csv_text(struct buf *out, const char *text)
{
    bool formula = text[0] != '\0' && strchr("=+-@", text[0]) != NULL;

    if (!formula && strpbrk(text, "\",\r\n") == NULL) {
        buf_append_string(out, text);
        return;
    }
    buf_append_string(out, formula ? "\"'" : "\"");
    for (; *text != '\0'; text++) {
        if (*text == '"')
            buf_append_byte(out, '"');
        buf_append_byte(out, *text);
    }
    buf_append_byte(out, '"');
}

void units_append_moment(struct buf *out, int64_t nanoseconds)
{
    time_t seconds = (time_t)(nanoseconds / 1000000000);
    struct tm utc;
    char date[32];

    if (nanoseconds < 0 || gmtime_r(&seconds, &utc) == NULL ||
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc) == 0) {
        json_text_seconds(out, nanoseconds / 1000);
        return;
    }
    buf_printf(out, "%s.%06dZ", date, (int)(nanoseconds / 1000 % 1000000));
}

static void append_run(struct buf *words, const struct runs *runs, uint64_t number)
{
    buf_printf(words, "%s run %" PRIu64 " begins at ", number > 0 ? "," : "", number + 2);
    if (runs->named[number].file != NULL)
        buf_printf(words, "%s:%" PRIu64, runs->named[number].file, runs->named[number].line);
    else
        buf_printf(words, "line %" PRIu64, runs->named[number].line);
    buf_append_string(words, " (");
    units_append_moment(words, runs->named[number].time);
    buf_append_byte(words, ')');
}

void explain_runs(const struct runs *runs, const char *input, const char *what)
{
    struct buf words = {0};

    if (runs->more == 0)
        return;
    if (input != NULL)
        buf_printf(&words, "%s: ", input);
    buf_printf(&words, "%" PRIu64 " runs of the kernel %s; --run 1 takes the first alone;",
               runs->more + 1, what);
    for (uint64_t i = 0; i < runs->more && i < RUNS_NAMED; i++)
        append_run(&words, runs, i);
    if (runs->more > RUNS_NAMED)
        buf_append_string(&words, ", and so on");
    if (buf_string(&words) != NULL)
        log_line("%s", words.data);
    buf_free(&words);
}

enum { FLUSH_AT = 64 * 1024 };

int output_flush(struct buf *out, struct error *error)
{
    if (buf_failed(out))
        return error_memory(error, "the report");
    if (visible_write(STDOUT_FILENO, out->data, out->length) != 0)
        return error_system(error, errno, "cannot write the report");
    buf_clear(out);
    return 0;
}

int output_flush_if_much(struct buf *out, struct error *error)
{
    return out->length < FLUSH_AT && !buf_failed(out) ? 0 : output_flush(out, error);
}
