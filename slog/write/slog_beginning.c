/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/write/slog_beginning.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "slog/read/reader.h"
#include "slog/read/record.h"

/* How every line of ours and SwingSet's begins. */
static const char opening[] = "{\"type\":\"";

/* A crash may have left a part of the first line, behind which another run has gone on. */
static bool begins_slog_line(const struct reader_line *line)
{
    const size_t whole = strlen(opening), length = line->length < whole ? line->length : whole;
    struct record record;
    const char *why;

    if ((length == whole || line->torn) && memcmp(line->bytes, opening, length) == 0)
        return true;
    return !line->torn && !line->too_long && record_read(line->bytes, line->length, &record, &why);
}

int slog_beginning_check(const char *path, struct error *error)
{
    struct stat status;
    struct reader *reader;
    struct reader_line line;
    bool good;
    int got;

    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0)
        return 0;
    reader = reader_open(path, error);
    if (reader == NULL)
        return -1;
    got = reader_next(reader, false, &line, error);
    /* Compressed, and killed before a line was out. */
    good = got == 0 || (got == 1 && begins_slog_line(&line));
    reader_close(reader);
    if (good)
        return 0;
    return error_set(error, ERROR_INPUT,
                     "%s: is not a slogfile, so --slog does not append to it; name another file",
                     path);
}
