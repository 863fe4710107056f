/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/write/writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/json/json_text.h"
#include "base/output/spool.h"
#include "slog/read/reader.h"
#include "slog/read/record.h"
#include "slog/write/slog_file.h"

/* The beginning of every line of gaspipe and SwingSet. */
static const char opening[] = "{\"type\":\"";

/* A crash may have left part of the first line, followed by another run. */
static bool begins_slog_line(const struct reader_line *line)
{
    const size_t whole = strlen(opening), length = line->length < whole ? line->length : whole;
    struct record record;
    const char *why;

    if ((length == whole || line->torn) && memcmp(line->bytes, opening, length) == 0)
        return true;
    return !line->torn && !line->too_long && record_read(line->bytes, line->length, &record, &why);
}

/*
 * Fails with ERROR_INPUT if `path` is a regular, non-empty file that does not begin with a slog
 * line, or with part of one if it has no whole line. Then a contract or other input was probably
 * named by mistake. Looks into compressed files. 0 if the file does not exist.
 */
static int slog_beginning_check(const char *path, struct error *error)
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
    /* Compressed, and its writer was killed before the first line. */
    good = got == 0 || (got == 1 && begins_slog_line(&line));
    reader_close(reader);
    if (good)
        return 0;
    return error_set(error, ERROR_INPUT,
                     "%s: is not a slogfile, so --slog does not append to it; name another file",
                     path);
}

/*
 * More than FLUSH_AT bytes are written before a flush; if they cannot be written yet, those over
 * HOLD_MAX go to a temporary file.
 */
enum { FLUSH_AT = 256 * 1024, HOLD_MAX = 4 << 20, PIECE = 1 << 20 };

struct block_end {
    size_t end;        /* where in `held` and `lines` */
    int gaps;          /* open gaps before it */
    struct stamp last; /* of its last line */
};

struct slog_writer {
    struct slog_file *file; /* NULL: not open yet, or a deferred writer */
    char *path;             /* of the first part */
    struct slog_start start;
    char *program, *fingerprint, *sandbox; /* that `start` points to */
    char session[SLOG_SESSION_SIZE];
    struct spool held;          /* whole lines that precede `lines` */
    struct buf lines;           /* whole lines, then the current one */
    size_t line_start;          /* offset of the current line in `lines` */
    const char *torn_field;     /* a field of it with a raw newline, or NULL */
    struct stamp last;          /* of the last line that was ended */
    size_t gaps[SLOG_GAPS_MAX]; /* offsets in `held` and `lines`; nothing after the first gap is
                                   written */
    int gap_count;

    int64_t part;        /* the open one, from 0 */
    int64_t part_blocks; /* flushed into it */
    bool cut_due;        /* the next lines begin another part; */
    struct stamp cut;    /* stamp of the last line before them */

    struct block_end *blocks; /* those that end in `held` and `lines` */
    size_t block_count, block_capacity;
};

static int write_much(struct slog_writer *writer, struct error *error);

/* Bytes of buffered whole lines. */
static size_t gathered_length(const struct slog_writer *writer)
{
    return spool_length(&writer->held) + writer->line_start;
}

/* Moves lines that cannot be written yet from memory to `held`. */
static int writer_hold(struct slog_writer *writer, struct error *error)
{
    if (writer->lines.length < HOLD_MAX)
        return 0;
    spool_append(&writer->held, writer->lines.data, writer->line_start);
    buf_consume(&writer->lines, writer->line_start);
    writer->line_start = 0;
    return spool_check(&writer->held, error);
}

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

/* Drops the current line. */
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
    return write_much(writer, error);
}

static void stamp_fields(struct slog_writer *writer, struct stamp stamp)
{
    writer->last = stamp;
    field_name(writer, "time");
    json_text_seconds(&writer->lines, stamp.real);
    field_name(writer, "monotime");
    json_text_nanoseconds(&writer->lines, stamp.mono - writer->start.stamp.mono);
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

/* ---- parts --------------------------------------------------------------- */

/* Unique without a counter: microseconds and 64 random bits. */
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

/* Buffers the first line of a part. */
static int start_line(struct slog_writer *writer, struct stamp stamp, struct error *error)
{
    const struct slog_start *start = &writer->start;
    char host[256];

    slog_line_begin(writer, "slog-start");
    slog_field_integer(writer, "version", 1);
    slog_field_text(writer, "session", writer->session);
    if (writer->part > 0)
        slog_field_integer(writer, "part", writer->part);
    slog_field_text(writer, "program", start->program);
    if (gethostname(host, sizeof host) == 0) {
        host[sizeof host - 1] = '\0';
        slog_field_text(writer, "host", host);
    }
    slog_field_integer(writer, "pid", getpid());
    slog_field_integer(writer, "monoBase", start->stamp.mono);
    if (start->fingerprint != NULL)
        slog_field_text(writer, "fingerprint", start->fingerprint);
    if (start->sandbox != NULL)
        slog_field_text(writer, "sandbox", start->sandbox);
    return slog_line_end(writer, stamp, error);
}

static bool rotates(const struct slog_writer *writer)
{
    return writer->start.rotation.bytes > 0 || writer->start.rotation.blocks > 0;
}

static bool is_part_full(const struct slog_writer *writer)
{
    const struct slog_rotation *rotation = &writer->start.rotation;

    return (rotation->bytes > 0 && slog_file_size(writer->file) >= rotation->bytes) ||
           (rotation->blocks > 0 && writer->part_blocks >= rotation->blocks);
}

/* Opens a part in place of the open one. */
static int open_part(struct slog_writer *writer, int64_t part, bool *torn, struct error *error)
{
    struct buf name = {0};
    const char *path = slog_parts_path(&name, writer->path, part);
    struct slog_file *file = NULL;
    int result = 0;

    if (path == NULL)
        result = error_memory(error, "the slogfile");
    else if (slog_beginning_check(path, error) == 0)
        file = slog_file_open(path, torn, error);
    buf_free(&name);
    if (file == NULL)
        return -1;
    if (writer->file != NULL)
        result = slog_file_close(writer->file, error);
    writer->file = file;
    writer->part = part;
    writer->part_blocks = 0;
    return result;
}

/* Buffers the first line of the part just opened, after ending a torn line. */
static int writer_begin_part(struct slog_writer *writer, bool torn, struct stamp stamp,
                             struct error *error)
{
    if (torn && buf_append_byte(&writer->lines, '\n') != 0)
        return error_memory(error, "a line of the slogfile");
    return start_line(writer, stamp, error);
}

/* Begins another part; buffered lines go there. */
static int writer_cut(struct slog_writer *writer, struct error *error)
{
    struct buf gathered = writer->lines;
    bool torn;
    int result;

    /* If the other part cannot be opened, the next flush continues in this one. */
    writer->cut_due = false;
    if (open_part(writer, writer->part + 1, &torn, error) != 0)
        return -1;
    writer->lines = (struct buf){0};
    writer->line_start = 0;
    result = writer_begin_part(writer, torn, writer->cut, error);
    for (size_t i = 0; i < writer->block_count; i++)
        writer->blocks[i].end += writer->lines.length;
    for (int i = 0; i < writer->gap_count; i++)
        writer->gaps[i] += writer->lines.length;
    if (spool_length(&writer->held) > 0) {
        spool_insert(&writer->held, 0, writer->lines.data, writer->lines.length);
        buf_clear(&writer->lines);
    }
    buf_append(&writer->lines, gathered.data, gathered.length);
    buf_free(&gathered);
    writer->line_start = writer->lines.length;
    if (buf_failed(&writer->lines))
        return error_memory(error, "a line of the slogfile");
    return spool_check(&writer->held, error) == 0 ? result : -1;
}

/* The first `taken` bytes were written. */
static void forget_written(struct slog_writer *writer, size_t taken)
{
    for (size_t i = 0; i < writer->block_count; i++)
        writer->blocks[i].end -= taken;
    for (int i = 0; i < writer->gap_count; i++)
        writer->gaps[i] -= taken;
}

/* Reads some of the held lines up to `end`: at least one. */
static int read_held(const struct slog_writer *writer, size_t end, struct buf *piece,
                     struct error *error)
{
    const char *newline = NULL;

    while (newline == NULL && piece->length < end) {
        const size_t left = end - piece->length, more = left < PIECE ? left : PIECE;

        if (buf_reserve(piece, more) != 0)
            return error_memory(error, "lines of the slogfile");
        if (spool_read(&writer->held, piece->length, piece->data + piece->length, more, error) != 0)
            return -1;
        piece->length += more;
        newline = memrchr(piece->data, '\n', piece->length);
    }
    if (newline != NULL)
        piece->length = (size_t)(newline - piece->data) + 1;
    return 0;
}

/* Writes the first `end` held bytes, in pieces. */
static int write_held(struct slog_writer *writer, size_t end, struct error *error)
{
    struct buf piece = {0};
    int result = 0;

    while (result == 0 && end > 0) {
        size_t taken = 0;

        buf_clear(&piece);
        result = read_held(writer, end, &piece, error);
        if (result == 0)
            result = slog_file_write(writer->file, piece.data, piece.length, &taken, error);
        spool_consume(&writer->held, taken);
        forget_written(writer, taken);
        end -= taken;
    }
    buf_free(&piece);
    return result;
}

/* Writes buffered lines up to the end of the first block, or all. */
static int write_lines(struct slog_writer *writer, struct error *error)
{
    size_t end, held, taken;
    int result;

    if (writer->cut_due && gathered_length(writer) > 0 && writer_cut(writer, error) != 0)
        return -1;
    end = writer->block_count > 0 ? writer->blocks[0].end : gathered_length(writer);
    held = spool_length(&writer->held);
    if (held > 0 && write_held(writer, end < held ? end : held, error) != 0)
        return -1;
    if (end < held)
        return 0;
    result = slog_file_write(writer->file, writer->lines.data, end - held, &taken, error);
    buf_consume(&writer->lines, taken);
    writer->line_start -= taken;
    forget_written(writer, taken);
    return result;
}

/* The first block was written; if this part is full, the next block begins another. */
static void writer_count_block(struct slog_writer *writer)
{
    const struct stamp last = writer->blocks[0].last;

    writer->block_count--;
    memmove(writer->blocks, writer->blocks + 1, writer->block_count * sizeof *writer->blocks);
    writer->part_blocks++;
    if (!writer->cut_due && is_part_full(writer)) {
        writer->cut_due = true;
        writer->cut = last;
    }
}

/* The number of blocks that end before the first gap. */
static size_t complete_blocks(const struct slog_writer *writer)
{
    size_t count = 0;

    while (count < writer->block_count &&
           (writer->gap_count == 0 || writer->blocks[count].gaps == 0))
        count++;
    return count;
}

/* Joins the first `count` blocks for one write: no part can end between them. */
static void join_blocks(struct slog_writer *writer, size_t count)
{
    const size_t joined = count - 1;

    writer->block_count -= joined;
    memmove(writer->blocks, writer->blocks + joined, writer->block_count * sizeof *writer->blocks);
}

int slog_writer_flush_blocks(struct slog_writer *writer, struct error *error)
{
    size_t count = complete_blocks(writer);

    if (count > 1 && !rotates(writer)) {
        join_blocks(writer, count);
        count = 1;
    }
    for (; count > 0; count--) {
        if (write_lines(writer, error) != 0)
            return -1;
        writer_count_block(writer);
    }
    return 0;
}

/* Writes everything buffered that is not after a gap. */
static int writer_write_out(struct slog_writer *writer, struct error *error)
{
    if (slog_writer_flush_blocks(writer, error) != 0)
        return -1;
    return writer->gap_count > 0 ? 0 : write_lines(writer, error);
}

/* The same if much is buffered and no block waits for a flush. */
static int write_much(struct slog_writer *writer, struct error *error)
{
    if (writer->lines.length < FLUSH_AT)
        return 0;
    if (writer->file != NULL && writer->block_count == 0 && writer_write_out(writer, error) != 0)
        return -1;
    return writer_hold(writer, error);
}

int slog_writer_end_block(struct slog_writer *writer, struct error *error)
{
    const size_t count = writer->block_count;
    struct block_end *blocks;

    if (gathered_length(writer) == (count > 0 ? writer->blocks[count - 1].end : 0))
        return 0;
    blocks = array_reserve(writer->blocks, &writer->block_capacity, count + 1, sizeof *blocks);
    if (blocks == NULL)
        return error_memory(error, "the slogfile writer");
    writer->blocks = blocks;
    blocks[count] = (struct block_end){gathered_length(writer), writer->gap_count, writer->last};
    writer->block_count++;
    return 0;
}

int slog_writer_flush(struct slog_writer *writer, struct error *error)
{
    if (slog_writer_end_block(writer, error) != 0)
        return -1;
    return slog_writer_flush_blocks(writer, error);
}

/* ---- opening and closing -------------------------------------------------- */

/* A split slogfile continues in its last part, or after it if that is full. */
static int open_first(struct slog_writer *writer, bool *torn, struct error *error)
{
    int64_t part = 0;

    if (rotates(writer) && slog_parts_last(writer->path, &part, error) != 0)
        return -1;
    if (open_part(writer, part, torn, error) != 0)
        return -1;
    if (rotates(writer) && !slog_file_is_regular(writer->file))
        return error_set(error, ERROR_USAGE, "%s: only a regular file can be cut into parts",
                         writer->path);
    return is_part_full(writer) ? open_part(writer, part + 1, torn, error) : 0;
}

static int copy_start(struct slog_writer *writer, const char *path, const struct slog_start *start,
                      struct error *error)
{
    writer->start = *start;
    writer->path = strdup(path);
    writer->start.program = writer->program = strdup(start->program);
    if (start->fingerprint != NULL)
        writer->start.fingerprint = writer->fingerprint = strdup(start->fingerprint);
    if (start->sandbox != NULL)
        writer->start.sandbox = writer->sandbox = strdup(start->sandbox);
    if (writer->path == NULL || writer->program == NULL ||
        (start->fingerprint != NULL && writer->fingerprint == NULL) ||
        (start->sandbox != NULL && writer->sandbox == NULL))
        return error_memory(error, "the slogfile writer");
    return 0;
}

static void free_writer(struct slog_writer *writer)
{
    free(writer->blocks);
    spool_free(&writer->held);
    buf_free(&writer->lines);
    free(writer->sandbox);
    free(writer->fingerprint);
    free(writer->program);
    free(writer->path);
    free(writer);
}

struct slog_writer *slog_writer_open(const char *path, const struct slog_start *start,
                                     struct error *error)
{
    struct slog_writer *writer = calloc(1, sizeof *writer);
    struct error ignored;
    bool torn;

    if (writer == NULL) {
        error_memory(error, "the slogfile writer");
        return NULL;
    }
    if (copy_start(writer, path, start, error) == 0 &&
        make_session(writer->session, start->stamp, error) == 0 &&
        open_first(writer, &torn, error) == 0 &&
        writer_begin_part(writer, torn, start->stamp, error) == 0 &&
        writer_write_out(writer, error) == 0)
        return writer;
    if (writer->file != NULL)
        (void)slog_file_close(writer->file, &ignored); /* the first error is reported */
    free_writer(writer);
    return NULL;
}

struct slog_writer *slog_writer_deferred(const struct slog_writer *writer)
{
    struct slog_writer *deferred = calloc(1, sizeof *deferred);

    if (deferred != NULL)
        deferred->start.stamp = writer->start.stamp;
    return deferred;
}

static int join_held(void *context, struct iovec piece)
{
    spool_append(context, piece.iov_base, piece.iov_len);
    return 0;
}

static int join_lines(struct slog_writer *writer, struct slog_writer *deferred, struct error *error)
{
    if (spool_length(&deferred->held) > 0) {
        spool_append(&writer->held, writer->lines.data, writer->line_start);
        buf_consume(&writer->lines, writer->line_start);
        writer->line_start = 0;
        if (spool_each(&deferred->held, join_held, &writer->held, error) != 0 ||
            spool_check(&writer->held, error) != 0)
            return -1;
    }
    if (buf_append(&writer->lines, deferred->lines.data, deferred->line_start) != 0) {
        drop_line(writer);
        return error_memory(error, "lines of the slogfile");
    }
    writer->line_start = writer->lines.length;
    return write_much(writer, error);
}

int slog_writer_join(struct slog_writer *writer, struct slog_writer *deferred, struct error *error)
{
    int result = 0;

    if (deferred != NULL && writer != NULL && gathered_length(deferred) > 0) {
        writer->last = deferred->last;
        result = join_lines(writer, deferred, error);
    }
    if (deferred != NULL)
        free_writer(deferred);
    return result;
}

bool slog_gap_leave(struct slog_writer *writer)
{
    if (writer->gap_count == SLOG_GAPS_MAX)
        return false;
    writer->gaps[writer->gap_count++] = gathered_length(writer);
    return true;
}

/* Inserts bytes between buffered lines. */
static int writer_insert(struct slog_writer *writer, size_t place, const char *bytes, size_t length,
                         struct error *error)
{
    const size_t held = spool_length(&writer->held);
    struct buf *lines = &writer->lines;

    if (place < held) {
        spool_insert(&writer->held, place, bytes, length);
        return spool_check(&writer->held, error);
    }
    place -= held;
    if (buf_reserve(lines, length) != 0)
        return error_memory(error, "a line of the slogfile");
    memmove(lines->data + place + length, lines->data + place, lines->length - place);
    memcpy(lines->data + place, bytes, length);
    lines->length += length;
    writer->line_start += length;
    return 0;
}

int slog_gap_fill(struct slog_writer *writer, struct slog_writer *lines, struct error *error)
{
    size_t length = lines->line_start;
    int result = 0;

    if (length > 0)
        result = writer_insert(writer, writer->gaps[0], lines->lines.data, length, error);
    if (result != 0)
        length = 0;
    writer->gap_count--;
    for (int i = 0; i < writer->gap_count; i++)
        writer->gaps[i] = writer->gaps[i + 1] + length;
    for (size_t i = 0; i < writer->block_count; i++) {
        struct block_end *block = &writer->blocks[i];

        if (block->gaps > 0) {
            block->gaps--;
            block->end += length;
        }
    }
    free_writer(lines);
    return result;
}

int slog_writer_close(struct slog_writer *writer, struct error *error)
{
    struct error second;
    int result;

    if (writer == NULL)
        return 0;
    writer->gap_count = 0; /* their lines never came */
    result = writer_write_out(writer, error);
    if (slog_file_close(writer->file, result == 0 ? error : &second) != 0)
        result = -1;
    free_writer(writer);
    return result;
}
