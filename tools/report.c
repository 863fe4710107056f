/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/report.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "slog/model.h"
#include "slog/reader.h"
#include "slog/record.h"

enum {
    FLUSH_AT = 64 * 1024,
    /* Bad lines that are named one by one; more are only counted. */
    NAMED_BAD_LINES = 10,
    /* A file that begins with as many lines that are none of a slog's is no slogfile. */
    LINES_TO_RECOGNISE = 100,
};

struct report {
    const struct options *options;
    const char *path;    /* of the file that is being read */
    uint64_t good_lines; /* of that file */
    uint64_t first_bad;  /* bad lines before its first good one */
    const char *first_why;
    struct tally tally;
    struct buf out;
};

static int flush(struct report *report, struct error *error)
{
    if (buf_failed(&report->out))
        return error_memory(error, "the report");
    if (io_write_all(STDOUT_FILENO, report->out.data, report->out.length) != 0)
        return error_system(error, errno, "cannot write the report");
    buf_clear(&report->out);
    return 0;
}

static int on_delivery(void *context, const struct model_delivery *delivery, struct error *error)
{
    struct report *report = context;

    report->tally.deliveries++;
    report->options->render->delivery(&report->out, delivery);
    return report->out.length < FLUSH_AT ? 0 : flush(report, error);
}

static void on_note(void *context, const struct model_note *note)
{
    struct report *report = context;
    struct tally *tally = &report->tally;

    tally->kernels += note->kind == MODEL_NOTE_KERNEL;
    tally->clock_changes += note->kind == MODEL_NOTE_CLOCK;
    tally->unended += note->kind == MODEL_NOTE_UNENDED;
    tally->unstarted += note->kind == MODEL_NOTE_UNSTARTED;
    report->options->render->note(&report->out, note);
}

static int no_slogfile(const struct report *report, struct error *error)
{
    return error_set(error, ERROR_INPUT,
                     "%s: no slogfile: no line of it is a JSON object with \"type\" and \"time\"",
                     report->path);
}

static void name_bad_line(struct report *report, uint64_t number, const char *why)
{
    if (report->tally.bad_lines++ < NAMED_BAD_LINES)
        log_line("%s:%" PRIu64 ": left out: %s", report->path, number, why);
}

/* Nothing is said of bad lines before a good one has shown that this is a slogfile at all. */
static int bad_beginning(struct report *report, const char *why, struct error *error)
{
    if (report->first_bad++ == 0)
        report->first_why = why;
    return report->first_bad < LINES_TO_RECOGNISE ? 0 : no_slogfile(report, error);
}

static int bad_line(struct report *report, const struct reader_line *line, const char *why,
                    struct error *error)
{
    if (report->good_lines == 0)
        return bad_beginning(report, why, error);
    /* What a crash left of the last line is no fault of the file's. */
    if (line->torn) {
        report->tally.torn_lines++;
        log_line("%s:%" PRIu64 ": the last line is torn and left out", report->path, line->number);
        return 0;
    }
    if (report->options->strict)
        return error_set(error, ERROR_INPUT, "%s:%" PRIu64 ": %s", report->path, line->number, why);
    name_bad_line(report, line->number, why);
    return 0;
}

/* The first good line: what is bad before it, as where a file was cut, is bad lines now. */
static int good_beginning(struct report *report, const struct reader_line *line,
                          struct error *error)
{
    if (report->first_bad == 0)
        return 0;
    if (report->options->strict)
        return error_set(error, ERROR_INPUT, "%s:1: %s", report->path, report->first_why);
    name_bad_line(report, 1, report->first_why);
    if (report->first_bad > 1)
        log_line("%s: left out: all lines before line %" PRIu64, report->path, line->number);
    report->tally.bad_lines += report->first_bad - 1;
    return 0;
}

static bool is_blank(const struct reader_line *line)
{
    return line->length == 0 || (line->length == 1 && line->bytes[0] == '\r');
}

static int take_line(struct report *report, struct model *model, const struct reader_line *line,
                     struct error *error)
{
    struct record record;
    const char *why;

    report->tally.lines++;
    if (is_blank(line))
        return 0;
    if (line->too_long)
        return bad_line(report, line, "longer than 32 MiB", error);
    if (!record_read(line->bytes, line->length, &record, &why))
        return bad_line(report, line, why, error);
    if (report->good_lines++ == 0 && good_beginning(report, line, error) != 0)
        return -1;
    if (model_feed(model, &record, line->number, error) != 0)
        return error_prefix(error, "%s:%" PRIu64, report->path, line->number);
    return 0;
}

static int read_lines(struct report *report, struct model *model, struct reader *reader,
                      struct error *error)
{
    struct reader_line line;
    int got;

    while ((got = reader_next(reader, false, &line, error)) > 0) {
        if (take_line(report, model, &line, error) != 0)
            return -1;
    }
    if (got < 0)
        return -1;
    if (report->good_lines == 0)
        return no_slogfile(report, error);
    if (reader_is_cut(reader))
        log_line("%s: the compressed data ends before its end; what is there is reported",
                 report->path);
    return 0;
}

static int read_file(struct report *report, struct model *model, struct error *error)
{
    struct reader *reader = reader_open(report->path, error);
    int result;

    if (reader == NULL)
        return -1;
    report->good_lines = 0;
    report->first_bad = 0;
    result = read_lines(report, model, reader, error);
    reader_close(reader);
    return result;
}

static int read_files(struct report *report, struct model *model, struct error *error)
{
    for (char **file = report->options->files; *file != NULL; file++) {
        report->path = *file;
        if (read_file(report, model, error) != 0)
            return -1;
    }
    model_finish(model);
    return 0;
}

static void end_report(struct report *report)
{
    uint64_t bad = report->tally.bad_lines;

    if (bad > NAMED_BAD_LINES)
        log_line("%" PRIu64 " more lines left out that are no slog lines", bad - NAMED_BAD_LINES);
    if (report->options->render->end != NULL)
        report->options->render->end(&report->out, &report->tally);
}

int report_run(const struct options *options, struct error *error)
{
    struct report report = {.options = options};
    struct model_sink sink = {.delivery = on_delivery, .note = on_note, .context = &report};
    struct model *model = model_new(&sink, options->render->labels, error);
    int result;

    if (model == NULL)
        return -1;
    result = read_files(&report, model, error);
    if (result == 0) {
        end_report(&report);
        result = flush(&report, error);
    } else {
        /* What was found before the failure is the user's all the same. */
        struct error ignored;

        flush(&report, &ignored);
    }
    model_free(model);
    buf_free(&report.out);
    return result;
}
