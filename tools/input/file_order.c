/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/input/file_order.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/log.h"
#include "slog/read/reader.h"
#include "slog/read/record.h"

/* So many lines at a file's beginning may be bad ones, as where it was cut in a line. */
enum { LINES_TO_LOOK_AT = 100 };

struct candidate {
    char *path;
    size_t place; /* among the files as they came */
    int64_t time; /* of the first line, nanoseconds since the epoch */
};

static bool find_first_time(struct reader *reader, int64_t *time)
{
    struct reader_line line;
    struct record record;
    struct error ignored;
    const char *why;

    for (int i = 0; i < LINES_TO_LOOK_AT && reader_next(reader, false, &line, &ignored) > 0; i++) {
        if (!line.too_long && record_read(line.bytes, line.length, &record, &why)) {
            *time = record.time;
            return true;
        }
    }
    return false;
}

typedef bool file_begin(const char *path, int64_t *time);

static bool slog_begin(const char *path, int64_t *time)
{
    struct error ignored;
    struct reader *reader = reader_open(path, &ignored);
    bool found;

    if (reader == NULL)
        return false;
    found = find_first_time(reader, time);
    reader_close(reader);
    return found;
}

static int by_time(const void *left, const void *right)
{
    const struct candidate *one = left, *other = right;

    if (one->time != other->time)
        return one->time < other->time ? -1 : 1;
    return one->place < other->place ? -1 : 1;
}

/* What is no regular file could be read only once. */
static bool is_regular(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* Whether all files tell when they begin, and each not before the one before it. */
static bool look_at_all(struct candidate *candidates, char *const *files, size_t count,
                        file_begin *begin, bool *in_order)
{
    *in_order = true;
    for (size_t i = 0; i < count; i++) {
        candidates[i] = (struct candidate){.path = files[i], .place = i};
        if (!is_regular(files[i]) || !begin(files[i], &candidates[i].time))
            return false;
        *in_order &= i == 0 || candidates[i - 1].time <= candidates[i].time;
    }
    return true;
}

static void sort(char **ordered, struct candidate *candidates, size_t count)
{
    qsort(candidates, count, sizeof *candidates, by_time);
    for (size_t i = 0; i < count; i++)
        ordered[i] = candidates[i].path;
    log_line("the files are read in the order in which they begin, %s first and %s last",
             ordered[0], ordered[count - 1]);
}

char **file_order_by(char *const *files, file_begin *begin, struct error *error)
{
    struct candidate *candidates;
    size_t count = 0;
    char **ordered;
    bool in_order;

    while (files[count] != NULL)
        count++;
    ordered = calloc(count + 1, sizeof *ordered);
    candidates = calloc(count + 1, sizeof *candidates);
    if (ordered == NULL || candidates == NULL) {
        error_memory(error, "the list of files");
        free(ordered);
        ordered = NULL;
        goto done;
    }
    for (size_t i = 0; i < count; i++)
        ordered[i] = files[i];
    if (count > 1 && look_at_all(candidates, files, count, begin, &in_order) && !in_order)
        sort(ordered, candidates, count);
done:
    free(candidates);
    return ordered;
}

char **file_order(char *const *files, struct error *error)
{
    return file_order_by(files, slog_begin, error);
}
