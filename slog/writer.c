/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json_text.h"

/* More than this gathered is written without waiting for a flush. */
enum { FLUSH_AT = 256 * 1024 };

struct slog_writer {
    int fd;
    char *path;
    char session[SLOG_SESSION_SIZE];
    int64_t mono_base;
    bool can_truncate;      /* a regular file, not a pipe or a terminal */
    struct buf lines;       /* whole lines, then the one that is being built */
    size_t line_start;      /* where in `lines` that one begins */
    const char *torn_field; /* its field that held a raw newline; NULL: none */
};

/* ---- fields ------------------------------------------------------------- */

static void field_name(struct slog_writer *writer, const char *name)
{
    struct buf *lines = &writer->lines;

    buf_append(lines, writer->lines.length == writer->line_start ? "{\"" : ",\"", 2);
    buf_append_string(lines, name);
    buf_append(lines, "\":", 2);
}

void slog_field_string(struct slog_writer *writer, const char *name, const char *bytes,
                       size_t length)
{
    field_name(writer, name);
    json_text_string(&writer->lines, bytes, length);
}

void slog_field_text(struct slog_writer *writer, const char *name, const char *text)
{
    slog_field_string(writer, name, text, strlen(text));
}

void slog_field_integer(struct slog_writer *writer, const char *name, int64_t number)
{
    field_name(writer, name);
    json_text_integer(&writer->lines, number);
}

void slog_field_bool(struct slog_writer *writer, const char *name, bool truth)
{
    field_name(writer, name);
    buf_append_string(&writer->lines, truth ? "true" : "false");
}

void slog_field_null(struct slog_writer *writer, const char *name)
{
    field_name(writer, name);
    buf_append_string(&writer->lines, "null");
}

void slog_field_raw(struct slog_writer *writer, const char *name, const char *json, size_t length)
{
    if (memchr(json, '\n', length) != NULL)
        writer->torn_field = name;
    field_name(writer, name);
    buf_append(&writer->lines, json, length);
}

/* ---- lines -------------------------------------------------------------- */

void slog_line_begin(struct slog_writer *writer, const char *type)
{
    writer->line_start = writer->lines.length;
    writer->torn_field = NULL;
    slog_field_text(writer, "type", type);
}

static void delivery_fields(struct slog_writer *writer, const struct slog_delivery *delivery)
{
    if (!delivery->replay)
        slog_field_integer(writer, "crankNum", delivery->crank_num);
    slog_field_text(writer, "vatID", delivery->vat_id);
    slog_field_integer(writer, "deliveryNum", delivery->delivery_num);
}

void slog_line_delivery(struct slog_writer *writer, const char *type,
                        const struct slog_delivery *delivery)
{
    slog_line_begin(writer, type);
    delivery_fields(writer, delivery);
    slog_field_bool(writer, "replay", delivery->replay);
    slog_field_text(writer, "dispatch", delivery->dispatch);
}

void slog_line_syscall(struct slog_writer *writer, const char *type,
                       const struct slog_delivery *delivery, int64_t syscall_num,
                       const char *syscall)
{
    slog_line_begin(writer, type);
    delivery_fields(writer, delivery);
    slog_field_integer(writer, "syscallNum", syscall_num);
    slog_field_bool(writer, "replay", delivery->replay);
    slog_field_text(writer, "syscall", syscall);
}

void slog_line_console(struct slog_writer *writer, const struct slog_delivery *delivery,
                       const char *source, const char *level)
{
    slog_line_begin(writer, "console");
    slog_field_text(writer, "source", source);
    slog_field_text(writer, "state", delivery->replay ? "replay" : "delivery");
    delivery_fields(writer, delivery);
    slog_field_text(writer, "level", level);
}

/* Drops the line that is being built; what gathered before it stays. */
static void drop_line(struct slog_writer *writer)
{
    writer->lines.length = writer->line_start;
    writer->lines.failed = false;
}

static int close_line(struct slog_writer *writer, struct error *error)
{
    buf_append(&writer->lines, "}\n", 2);
    if (buf_failed(&writer->lines)) {
        drop_line(writer);
        return error_memory(error, "a line of the slogfile");
    }
    if (writer->torn_field != NULL) {
        drop_line(writer);
        return error_set(error, ERROR_INPUT, "a newline within the JSON of slog field %s",
                         writer->torn_field);
    }
    writer->line_start = writer->lines.length;
    return writer->lines.length < FLUSH_AT ? 0 : slog_writer_flush(writer, error);
}

static void stamp_fields(struct slog_writer *writer, struct stamp stamp)
{
    field_name(writer, "time");
    json_text_seconds(&writer->lines, stamp.real);
    field_name(writer, "monotime");
    json_text_nanoseconds(&writer->lines, stamp.mono - writer->mono_base);
}

int slog_line_end(struct slog_writer *writer, struct stamp stamp, struct error *error)
{
    stamp_fields(writer, stamp);
    return close_line(writer, error);
}

int slog_line_finish(struct slog_writer *writer, struct stamp started, struct stamp stamp,
                     struct error *error)
{
    stamp_fields(writer, stamp);
    field_name(writer, "seconds");
    json_text_nanoseconds(&writer->lines, stamp.mono - started.mono);
    return close_line(writer, error);
}

/* ---- the file ----------------------------------------------------------- */

/* Writes until done or failed; how many bytes went out, errno when fewer than asked. */
static size_t write_what_fits(int fd, const char *bytes, size_t length)
{
    size_t done = 0;

    while (done < length) {
        ssize_t written = write(fd, bytes + done, length - done);

        if (written > 0)
            done += (size_t)written;
        else if (errno != EINTR)
            break;
    }
    return done;
}

/* How many of the first `length` bytes are whole lines. */
static size_t whole_lines(const char *bytes, size_t length)
{
    const char *newline = memrchr(bytes, '\n', length);

    return newline == NULL ? 0 : (size_t)(newline - bytes) + 1;
}

/*
 * Cuts the half line that a failed write left, so that who reads the file meets
 * whole lines only. Returns how many of the `written` bytes stay in the file;
 * the next write goes on after those, in mid-line where nothing could be cut.
 */
static size_t cut_half_line(struct slog_writer *writer, size_t written)
{
    size_t whole = whole_lines(writer->lines.data, written);
    off_t end;

    if (!writer->can_truncate || whole == written)
        return written;
    end = lseek(writer->fd, 0, SEEK_END);
    if (end < 0 || ftruncate(writer->fd, end - (off_t)(written - whole)) != 0)
        return written;
    return whole;
}

int slog_writer_flush(struct slog_writer *writer, struct error *error)
{
    size_t length = writer->line_start;
    size_t written;
    int cause;

    if (length == 0)
        return 0;
    written = write_what_fits(writer->fd, writer->lines.data, length);
    cause = errno;
    if (written < length)
        written = cut_half_line(writer, written);
    buf_consume(&writer->lines, written);
    writer->line_start -= written;
    if (written < length)
        return error_system(error, cause, "%s: cannot write the slogfile", writer->path);
    return 0;
}

/* The id is unique without anyone keeping count: microseconds and 64 random bits. */
static int make_session(char session[SLOG_SESSION_SIZE], struct stamp stamp, struct error *error)
{
    time_t seconds = (time_t)(stamp.real / 1000000);
    unsigned long long noise;
    char date[24]; /* 15 characters until the year 9999 */
    struct tm utc;

    if (getrandom(&noise, sizeof noise, 0) != (ssize_t)sizeof noise)
        return error_system(error, errno, "random bytes for the session id");
    if (gmtime_r(&seconds, &utc) == NULL || strftime(date, sizeof date, "%Y%m%dT%H%M%S", &utc) == 0)
        return error_set(error, ERROR_SYSTEM, "the clock is set to no date");
    snprintf(session, SLOG_SESSION_SIZE, "%s.%06dZ-%016llx", date, (int)(stamp.real % 1000000),
             noise);
    return 0;
}

static int write_start(struct slog_writer *writer, const struct slog_start *start,
                       struct error *error)
{
    char host[256];

    slog_line_begin(writer, "slog-start");
    slog_field_integer(writer, "version", 1);
    slog_field_text(writer, "session", writer->session);
    slog_field_text(writer, "program", start->program);
    if (gethostname(host, sizeof host) == 0) {
        host[sizeof host - 1] = '\0';
        slog_field_text(writer, "host", host);
    }
    slog_field_integer(writer, "pid", getpid());
    slog_field_integer(writer, "monoBase", start->stamp.mono);
    if (start->fingerprint != NULL)
        slog_field_text(writer, "fingerprint", start->fingerprint);
    if (slog_line_end(writer, start->stamp, error) != 0)
        return -1;
    return slog_writer_flush(writer, error);
}

/* A last line that was torn by a crash is ended, so that ours stand on their own. */
static int end_torn_line(struct slog_writer *writer, off_t size, struct error *error)
{
    char last;

    if (size == 0)
        return 0;
    if (pread(writer->fd, &last, 1, size - 1) != 1)
        return error_system(error, errno, "%s: cannot read the slogfile's end", writer->path);
    if (last != '\n' && buf_append_byte(&writer->lines, '\n') != 0)
        return error_memory(error, "a line of the slogfile");
    return 0;
}

static int prepare_regular_file(struct slog_writer *writer, struct error *error)
{
    struct stat status;

    if (flock(writer->fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK)
            return error_set(error, ERROR_SYSTEM,
                             "%s: another process is writing this slogfile; name another file",
                             writer->path);
        return error_system(error, errno, "%s: cannot lock the slogfile", writer->path);
    }
    /* Its size is asked for under the lock: an earlier writer may just have ended. */
    if (fstat(writer->fd, &status) != 0)
        return error_system(error, errno, "%s", writer->path);
    return end_torn_line(writer, status.st_size, error);
}

static int open_file(struct slog_writer *writer, struct error *error)
{
    struct stat status;

    writer->fd = open(writer->path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (writer->fd < 0)
        return error_system(error, errno, "%s: cannot open the slogfile", writer->path);
    if (fstat(writer->fd, &status) != 0)
        return error_system(error, errno, "%s", writer->path);
    writer->can_truncate = S_ISREG(status.st_mode);
    return writer->can_truncate ? prepare_regular_file(writer, error) : 0;
}

static void free_writer(struct slog_writer *writer)
{
    buf_free(&writer->lines);
    free(writer->path);
    free(writer);
}

struct slog_writer *slog_writer_open(const char *path, const struct slog_start *start,
                                     struct error *error)
{
    struct slog_writer *writer = calloc(1, sizeof *writer);

    if (writer == NULL || (writer->path = strdup(path)) == NULL) {
        error_memory(error, "the slogfile writer");
        goto free;
    }
    writer->fd = -1;
    writer->mono_base = start->stamp.mono;
    if (make_session(writer->session, start->stamp, error) != 0 || open_file(writer, error) != 0 ||
        write_start(writer, start, error) != 0)
        goto close;
    return writer;
close:
    if (writer->fd >= 0)
        close(writer->fd);
free:
    if (writer != NULL)
        free_writer(writer);
    return NULL;
}

const char *slog_writer_session(const struct slog_writer *writer)
{
    return writer->session;
}

int slog_writer_close(struct slog_writer *writer, struct error *error)
{
    int result;

    if (writer == NULL)
        return 0;
    result = slog_writer_flush(writer, error);
    if (close(writer->fd) != 0 && errno != EINTR && result == 0)
        result = error_system(error, errno, "%s: cannot close the slogfile", writer->path);
    free_writer(writer);
    return result;
}
