/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/input/feed.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/json/scan.h"
#include "base/log.h"
#include "base/service.h"
#include "slog/read/decoder.h"
#include "slog/read/reader.h"
#include "slog/read/record.h"

/* Lines to search for the first time: where a file was cut, it may begin with bad ones. */
enum { LINES_TO_LOOK_AT = 100 };

struct candidate {
    char *path;
    size_t place; /* among the files as given */
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

static int by_first_time(const void *left, const void *right)
{
    const struct candidate *one = left, *other = right;

    if (one->time != other->time)
        return one->time < other->time ? -1 : 1;
    return one->place < other->place ? -1 : 1;
}

/* Other files could be read only once. */
static bool is_regular(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* Finds when the files begin, and whether they are in order. False if one cannot be read so. */
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

static void sort_files(char **ordered, struct candidate *candidates, size_t count)
{
    qsort(candidates, count, sizeof *candidates, by_first_time);
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
        sort_files(ordered, candidates, count);
done:
    free(candidates);
    return ordered;
}

/*
 * The files (ended by NULL) in the order of their first lines' times, equal ones as given. In the
 * given order if one is not a regular file or does not begin as a slogfile, which its reader will
 * report. Logs a change of the order. Free the list; its strings are borrowed. NULL when out of
 * memory.
 */
static char **file_order(char *const *files, struct error *error)
{
    return file_order_by(files, slog_begin, error);
}

enum { INTERVAL_SECONDS = 2, SECOND = 1000 * 1000 * 1000 };

static int64_t monotonic_now(void)
{
    struct timespec time = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * SECOND + time.tv_nsec;
}

/* `wanted`: false if standard output shows the progress. */
static void progress_begin(struct progress *progress, bool wanted)
{
    progress->wanted = wanted && isatty(STDERR_FILENO);
    progress->next = monotonic_now() + (int64_t)INTERVAL_SECONDS * SECOND;
}

/* `position` of the file's `size` bytes (0: not known) have been read, and `lines` in all files. */
static void progress_show(struct progress *progress, const char *path, uint64_t position,
                          uint64_t size, uint64_t lines)
{
    if (!progress->wanted || monotonic_now() < progress->next)
        return;
    progress->next = monotonic_now() + (int64_t)INTERVAL_SECONDS * SECOND;
    if (size > 0)
        log_line("%s: %" PRIu64 " %% read, %" PRIu64 " lines so far", path,
                 position >= size ? 100 : position * 100 / size, lines);
    else
        log_line("%s: %" PRIu64 " MB read, %" PRIu64 " lines so far", path, position / 1000000,
                 lines);
}

static int cannot_follow(const char *path, struct error *error)
{
    return error_system(error, errno, "%s: cannot follow", path);
}

static int watch_file(int watch, const char *path, struct error *error)
{
    const uint32_t events = IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF;

    return inotify_add_watch(watch, path, events) < 0 ? cannot_follow(path, error) : 0;
}

static int block_signals(struct follow *follow, const char *path, struct error *error)
{
    sigset_t ends;

    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    follow->signals = signalfd(-1, &ends, SFD_CLOEXEC);
    if (follow->signals < 0)
        return cannot_follow(path, error);
    pthread_sigmask(SIG_BLOCK, &ends, &follow->before);
    return 0;
}

/*
 * Call before reading to the file's end, so that no change is missed. -1 with ERROR_SYSTEM, and
 * then there is nothing to end.
 */
static int follow_begin(struct follow *follow, const char *path, struct error *error)
{
    follow->watch = inotify_init1(IN_CLOEXEC);
    if (follow->watch < 0)
        return cannot_follow(path, error);
    if (watch_file(follow->watch, path, error) == 0 && block_signals(follow, path, error) == 0) {
        service_ready();
        return 0;
    }
    close(follow->watch);
    return -1;
}

static void follow_end(struct follow *follow)
{
    close(follow->watch);
    close(follow->signals);
    pthread_sigmask(SIG_SETMASK, &follow->before, NULL);
}

/* Removing a file that is open does not delete it; it shows as a change of its attributes. */
static bool is_gone(const struct inotify_event *event, const char *path)
{
    if ((event->mask & (IN_MOVE_SELF | IN_DELETE_SELF | IN_IGNORED)) != 0)
        return true;
    return (event->mask & IN_ATTRIB) != 0 && access(path, F_OK) != 0;
}

/* 1 after a change of the file, 0 after a signal. */
static int wait_for_either(const struct follow *follow)
{
    struct pollfd ready[] = {{.fd = follow->watch, .events = POLLIN},
                             {.fd = follow->signals, .events = POLLIN}};
    const int period = service_watchdog_ms();
    int count;

    do {
        service_alive();
        count = poll(ready, sizeof ready / sizeof ready[0], period > 0 ? period : -1);
    } while (count == 0 || (count < 0 && errno == EINTR));
    if (count < 0)
        return -1;
    return (ready[1].revents & POLLIN) == 0;
}

/*
 * Consumes the signal, which would end the program once unblocked. One sent by a process stays
 * blocked: timeout(1) sends it to its child and to the child's group, and the second must not end
 * what the first lets finish. A key sends it once, and again only if the user repeats it.
 */
static int take_signal(struct follow *follow)
{
    struct signalfd_siginfo taken;

    if (read(follow->signals, &taken, sizeof taken) != (ssize_t)sizeof taken)
        return -1;
    if (taken.ssi_code == SI_USER)
        sigaddset(&follow->before, (int)taken.ssi_signo);
    return 0;
}

static int take_events(const struct follow *follow, const char *path)
{
    /* Events of a watched file have no name. */
    struct inotify_event events[64];
    ssize_t got = read(follow->watch, events, sizeof events);

    if (got <= 0)
        return -1;
    for (size_t i = 0; i < (size_t)got / sizeof events[0]; i++) {
        if (is_gone(&events[i], path))
            return 0;
    }
    return 1;
}

/*
 * 1: there may be more to read; 0: the file was moved or removed, or a signal came; -1:
 * ERROR_SYSTEM.
 */
static int follow_wait(struct follow *follow, const char *path, struct error *error)
{
    int result = wait_for_either(follow);

    if (result == 0)
        result = take_signal(follow);
    else if (result > 0)
        result = take_events(follow, path);
    if (result < 0)
        return error_system(error, errno, "cannot wait for the slogfile to grow");
    return result;
}

enum {
    /* Bad lines reported one by one; more are only counted. */
    NAMED_BAD_LINES = 10,
    /* A file that begins with this many bad lines is not a slogfile. */
    LINES_TO_RECOGNISE = 100,
};

struct feeding {
    const struct feed *feed;
    struct tally *tally;
    struct model *model;
    /* The current file: */
    const char *path;
    struct decoder *decoder;
    uint64_t number; /* of the line */
    uint64_t good_lines;
    uint64_t first_bad; /* bad lines before its first good one */
    const char *first_why;
    struct progress progress;
};

static const struct source *feed_source(const struct feeding *feeding)
{
    return reader_source(decoder_reader(feeding->decoder));
}

/* ---- bad lines ---------------------------------------------------------- */

static int no_slogfile(const struct feeding *feeding, struct error *error)
{
    if (feeding->first_why != NULL && strcmp(feeding->first_why, SCAN_BOM_WHY) == 0)
        return error_set(error, ERROR_INPUT, "%s: %s", feeding->path, feeding->first_why);
    if (feeding->number == 0)
        return error_set(error, ERROR_INPUT, "%s: not a slogfile: it is empty", feeding->path);
    return error_set(error, ERROR_INPUT,
                     "%s: not a slogfile: no line is a JSON object with \"type\" and \"time\"",
                     feeding->path);
}

static void name_bad_line(struct feeding *feeding, uint64_t number, const char *why)
{
    if (feeding->tally->bad_lines++ < NAMED_BAD_LINES)
        log_line("%s:%" PRIu64 ": left out: %s", feeding->path, number, why);
}

/* Bad lines are not reported until a good one shows that this is a slogfile. */
static int bad_beginning(struct feeding *feeding, const char *why, struct error *error)
{
    if (feeding->first_bad++ == 0)
        feeding->first_why = why;
    return feeding->first_bad < LINES_TO_RECOGNISE ? 0 : no_slogfile(feeding, error);
}

static int feed_bad_line(struct feeding *feeding, const struct decoder_line *line,
                         struct error *error)
{
    if (feeding->good_lines == 0)
        return bad_beginning(feeding, line->why, error);
    /* A torn last line is what a crash leaves, and no error. */
    if (line->torn) {
        feeding->tally->torn_lines++;
        log_line("%s:%" PRIu64 ": the last line is torn and left out", feeding->path,
                 feeding->number);
        return 0;
    }
    if (feeding->feed->strict)
        return error_set(error, ERROR_INPUT, "%s:%" PRIu64 ": %s", feeding->path, feeding->number,
                         line->why);
    name_bad_line(feeding, feeding->number, line->why);
    return 0;
}

/* The first good line: those before it, as where a file was cut, count as bad. */
static int good_beginning(struct feeding *feeding, struct error *error)
{
    if (feeding->first_bad == 0)
        return 0;
    if (feeding->feed->strict)
        return error_set(error, ERROR_INPUT, "%s:1: %s", feeding->path, feeding->first_why);
    name_bad_line(feeding, 1, feeding->first_why);
    if (feeding->first_bad > 1)
        log_line("%s: left out: all lines before line %" PRIu64, feeding->path, feeding->number);
    feeding->tally->bad_lines += feeding->first_bad - 1;
    return 0;
}

/* ---- reading ------------------------------------------------------------ */

static int feed_take_line(struct feeding *feeding, const struct decoder_line *line,
                          struct error *error)
{
    feeding->tally->lines++;
    feeding->number++;
    if (line->blank)
        return 0;
    if (line->why != NULL)
        return feed_bad_line(feeding, line, error);
    if (feeding->good_lines++ == 0 && good_beginning(feeding, error) != 0)
        return -1;
    if (feeding->feed->line != NULL &&
        feeding->feed->line(feeding->feed->sink.context, &line->record, error) != 0)
        return -1;
    if (model_feed(feeding->model, &line->record, feeding->number, error) != 0)
        return error->kind == ERROR_INPUT
                   ? error_prefix(error, "%s:%" PRIu64, feeding->path, feeding->number)
                   : -1;
    return 0;
}

static int feed_read_lines(struct feeding *feeding, bool follow, struct error *error)
{
    struct decoder_batch batch;
    int got;

    while ((got = decoder_next(feeding->decoder, follow, &batch, error)) > 0) {
        for (size_t i = 0; i < batch.count; i++)
            for (uint64_t j = 0; j < batch.lines[i].count; j++)
                if (feed_take_line(feeding, &batch.lines[i], error) != 0)
                    return -1;
        service_alive();
        progress_show(&feeding->progress, feeding->path, batch.position,
                      source_size(feed_source(feeding)), feeding->tally->lines);
    }
    return got;
}

/* Restarts if the file was truncated, as log rotation by copying does. */
static int restart_if_truncated(struct feeding *feeding, struct error *error)
{
    int went_back = reader_go_back(decoder_reader(feeding->decoder), error);

    if (went_back <= 0)
        return went_back;
    log_line("%s was truncated and is read again from the beginning", feeding->path);
    feeding->number = 0;
    return 0;
}

/* Reads and waits for more, until the file is gone. */
static int follow_lines(struct feeding *feeding, struct follow *follow, struct error *error)
{
    const struct feed *feed = feeding->feed;

    for (;;) {
        int grown;

        if (feed_read_lines(feeding, true, error) != 0 ||
            (feed->idle != NULL && feed->idle(feed->sink.context, error) != 0))
            return -1;
        grown = follow_wait(follow, feeding->path, error);
        if (grown <= 0)
            return grown;
        if (restart_if_truncated(feeding, error) != 0)
            return -1;
    }
}

static int follow_file(struct feeding *feeding, struct error *error)
{
    struct follow follow;
    int result;

    if (follow_begin(&follow, feeding->path, error) != 0)
        return -1;
    result = follow_lines(feeding, &follow, error);
    follow_end(&follow);
    return result;
}

/* `growing`: its writer may still be writing. */
static int feed_read_file(struct feeding *feeding, bool growing, struct error *error)
{
    if (feed_read_lines(feeding, false, error) != 0)
        return -1;
    if (feeding->good_lines == 0)
        return no_slogfile(feeding, error);
    if (source_is_cut(feed_source(feeding)) && !growing)
        log_line("%s: the compressed data is incomplete; the report covers what is there",
                 feeding->path);
    return 0;
}

static int open_and_read(struct feeding *feeding, bool follow, struct error *error)
{
    int result = 0;

    feeding->good_lines = 0;
    feeding->first_bad = 0;
    feeding->number = 0;
    model_begin_file(feeding->model, feeding->feed->files[1] != NULL ? feeding->path : NULL);
    feeding->decoder = decoder_open(feeding->path, follow ? 1 : feeding->feed->jobs, error);
    if (feeding->decoder == NULL)
        return -1;
    /* Reading a pipe follows it. */
    if (follow && strcmp(feeding->path, "-") != 0)
        result = follow_file(feeding, error);
    if (result == 0)
        result = feed_read_file(feeding, follow, error);
    if (source_losses(feed_source(feeding)) > 0)
        log_line("%s: records are missing, since the node wrote faster than they were read, or "
                 "stopped within one",
                 feeding->path);
    decoder_close(feeding->decoder);
    return result;
}

static int read_files_of(struct feeding *feeding, char *const *files, struct error *error)
{
    for (char *const *file = files; *file != NULL; file++) {
        feeding->path = *file;
        if (open_and_read(feeding, feeding->feed->follow && file[1] == NULL, error) != 0)
            return -1;
    }
    model_finish(feeding->model);
    return 0;
}

/* The followed file is the last one given, so these are not reordered. */
static int read_files(struct feeding *feeding, struct error *error)
{
    const struct feed *feed = feeding->feed;
    char **ordered;
    int result;

    if (feed->follow)
        return read_files_of(feeding, feed->files, error);
    ordered = file_order(feed->files, error);
    if (ordered == NULL)
        return -1;
    result = read_files_of(feeding, ordered, error);
    free(ordered);
    return result;
}

static void report_unknown_vat(const struct model *model, const char *word)
{
    struct similar similar = {.word = word};
    const char *id, *name, *hint;

    for (size_t i = 0; (id = model_vat(model, i, &name)) != NULL; i++) {
        if (strcmp(word, id) == 0 || strcmp(word, name) == 0)
            return;
        similar_try(&similar, id);
        similar_try(&similar, name);
    }
    hint = similar_hint(&similar, "");
    log_line("--vat %s: no such vat%s", word,
             hint[0] != '\0' ? hint : "; slogreport summary --by vat lists them");
}

int feed_run(const struct feed *feed, struct tally *tally, struct error *error)
{
    struct feeding feeding = {.feed = feed, .tally = tally};
    int result;

    *tally = (struct tally){0};
    feeding.model = model_new(&feed->sink, feed->labels, error);
    if (feeding.model == NULL)
        return -1;
    model_set_gas(feeding.model, feed->gas);
    if (feed->client_stamps)
        model_set_client_stamps(feeding.model);
    if (feed->words)
        model_set_words(feeding.model);
    progress_begin(&feeding.progress, feed->progress);
    result = read_files(&feeding, error);
    if (tally->bad_lines > NAMED_BAD_LINES)
        log_line("%" PRIu64 " more lines left out that are not slog lines",
                 tally->bad_lines - NAMED_BAD_LINES);
    for (size_t i = 0; result == 0 && feed->vats != NULL && i < feed->vats->count; i++)
        report_unknown_vat(feeding.model, feed->vats->items[i]);
    tally->totals = model_take_totals(feeding.model);
    model_free(feeding.model);
    return result;
}

void tally_free(struct tally *tally)
{
    model_totals_free(&tally->totals);
}
