/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/recording/replay_recording.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json/json_text.h"
#include "base/log.h"
#include "base/visible.h"
#include "proto/command.h"
#include "proto/meter.h"
#include "supervisor/process/launcher.h"
#include "supervisor/process/session.h"
#include "supervisor/replay/recording/recording_file.h"

enum { SHOWN_MAX = 400 }; /* bytes of each side of a difference */

struct playback {
    const struct replay_options *options;
    struct recording_head head;
    struct recording_file *file;
    uv_loop_t loop;
    struct launcher launcher;
    struct session *session;
    int64_t frames, commands, requests;
    bool unanswered; /* the last command */
    /* What differs; NULL: nothing so far. */
    const char *aspect;
    struct buf recorded, replayed;
};

/* ---- comparing ---- */

static int differ(struct playback *playback, const char *aspect, struct iovec recorded,
                  struct iovec replayed)
{
    playback->aspect = aspect;
    buf_append(&playback->recorded, recorded.iov_base, recorded.iov_len);
    buf_append(&playback->replayed, replayed.iov_base, replayed.iov_len);
    return 0;
}

static int compare_bytes(struct playback *playback, const char *aspect, struct iovec recorded,
                         struct iovec replayed)
{
    if (recorded.iov_len == replayed.iov_len &&
        (recorded.iov_len == 0 ||
         memcmp(recorded.iov_base, replayed.iov_base, recorded.iov_len) == 0))
        return 0;
    return differ(playback, aspect, recorded, replayed);
}

static void compare_numbers(struct playback *playback, const char *aspect, uint64_t recorded,
                            uint64_t replayed)
{
    if (playback->aspect != NULL || recorded == replayed)
        return;
    playback->aspect = aspect;
    json_text_unsigned(&playback->recorded, recorded);
    json_text_unsigned(&playback->replayed, replayed);
}

/* Results with their meters, in which only times may differ. */
static int compare_done(struct playback *playback, struct iovec recorded, struct iovec replayed,
                        struct error *error)
{
    struct meter before, now;
    struct iovec result_before, result_now;

    /* The answer to COMMAND_READY has no meter. */
    if (recorded.iov_len == 0 || replayed.iov_len == 0)
        return compare_bytes(playback, "result", recorded, replayed);
    if (meter_split(recorded, &before, &result_before, error) != 0)
        return error_prefix(error, "recorded frame %" PRId64, playback->frames);
    if (meter_split(replayed, &now, &result_now, error) != 0) {
        meter_free(&before);
        return -1;
    }
    (void)compare_bytes(playback, "result", result_before, result_now);
    compare_numbers(playback, "computrons", before.compute, now.compute);
    compare_numbers(playback, "allocated bytes", before.allocate, now.allocate);
    compare_numbers(playback, "heap slots", before.heap_count, now.heap_count);
    meter_free(&before);
    meter_free(&now);
    return 0;
}

static int compare_frames(struct playback *playback, struct iovec recorded, struct iovec replayed,
                          struct error *error)
{
    char kind;

    if (recorded.iov_len == 0 || replayed.iov_len == 0 ||
        *(char *)recorded.iov_base != *(char *)replayed.iov_base)
        return differ(playback, "answer", recorded, replayed);
    kind = *(char *)recorded.iov_base;
    if (kind == COMMAND_DONE)
        return compare_done(
            playback, (struct iovec){(char *)recorded.iov_base + 1, recorded.iov_len - 1},
            (struct iovec){(char *)replayed.iov_base + 1, replayed.iov_len - 1}, error);
    return compare_bytes(playback, kind == COMMAND_REQUEST ? "request" : "error", recorded,
                         replayed);
}

/* ---- frames ---- */

static int send_down(struct playback *playback, struct iovec bytes, struct error *error)
{
    /* A snapshot's size is compared; whoever wanted the snapshot has it. */
    static char nowhere[] = "w/dev/null";
    struct iovec parts[] = {bytes};
    char kind = bytes.iov_len > 0 ? *(char *)bytes.iov_base : '\0';

    if (kind == COMMAND_SNAPSHOT)
        parts[0] = (struct iovec){nowhere, sizeof nowhere - 1};
    if (kind != COMMAND_ANSWER && kind != COMMAND_STOP)
        playback->commands++;
    playback->unanswered = kind != COMMAND_QUIT;
    return session_send(playback->session, parts, 1, error);
}

static int take_up(struct playback *playback, struct iovec recorded, struct error *error)
{
    struct session_news news;
    char words[128];

    if (session_wait(playback->session, playback->options->timeout_ms, &news, error) != 0)
        return -1;
    playback->unanswered = false;
    if (recorded.iov_len > 0 && *(char *)recorded.iov_base == COMMAND_REQUEST)
        playback->requests++;
    switch (news.event) {
    case SESSION_FRAME:
        return compare_frames(playback, recorded, news.frame, error);
    case SESSION_GONE:
        snprintf(words, sizeof words, "the worker ended: exit status %d, signal %d",
                 news.exit_status, news.signal_number);
        break;
    case SESSION_BAD:
        snprintf(words, sizeof words, "%s", news.stderr_text);
        break;
    case SESSION_TIMEOUT:
        snprintf(words, sizeof words, "no answer in time");
        break;
    }
    return differ(playback, "answer", recorded, (struct iovec){words, strlen(words)});
}

static int play(struct playback *playback, struct error *error)
{
    struct recorded_frame frame;
    int result = 0;

    while (playback->aspect == NULL &&
           (result = recording_file_next(playback->file, &frame, error)) == 1) {
        playback->frames++;
        if (frame.direction == RECORDING_DOWN)
            result = send_down(playback, frame.bytes, error);
        else
            result = take_up(playback, frame.bytes, error);
        if (result != 0)
            return -1;
    }
    return result < 0 ? -1 : 0;
}

/* ---- what came of it ---- */

static void put_side(struct buf *out, const char *name, struct buf *side)
{
    size_t length = side->length < SHOWN_MAX ? side->length : SHOWN_MAX;

    if (length > 0)
        visible_bytes(side->data, length);
    buf_printf(out, "  %s: ", name);
    buf_append(out, side->data, length);
    buf_append_string(out, side->length > length ? " ...\n" : "\n");
}

static void replay_recording_put_text(struct buf *out, struct playback *playback)
{
    buf_printf(out, "%" PRId64 " commands, %" PRId64 " requests, %" PRId64 " frames",
               playback->commands, playback->requests, playback->frames);
    if (playback->aspect == NULL) {
        buf_append_string(out, playback->unanswered ? ", the same up to a last command without "
                                                      "an answer\n"
                                                    : ", the same\n");
        return;
    }
    buf_printf(out, "; the last one differs: %s\n", playback->aspect);
    put_side(out, "recorded", &playback->recorded);
    put_side(out, "replayed", &playback->replayed);
}

static void put_json(struct buf *out, const struct playback *playback)
{
    buf_printf(out,
               "{\"kind\":\"recording\",\"status\":\"%s\",\"commands\":%" PRId64
               ",\"requests\":%" PRId64 ",\"frames\":%" PRId64 ",\"unanswered\":%s",
               playback->aspect == NULL ? "same" : "differs", playback->commands,
               playback->requests, playback->frames, playback->unanswered ? "true" : "false");
    if (playback->aspect != NULL) {
        buf_printf(out, ",\"aspect\":\"%s\",\"recorded\":", playback->aspect);
        json_text_string(out, playback->recorded.data, playback->recorded.length);
        buf_append_string(out, ",\"replayed\":");
        json_text_string(out, playback->replayed.data, playback->replayed.length);
    }
    buf_append_string(out, "}\n");
}

static int replay_recording_print(struct playback *playback, struct error *error)
{
    struct buf out = {0};
    int result = 0;

    if (recording_file_is_torn(playback->file))
        log_line("%s ends in the midst of a frame; what is before it was replayed",
                 playback->options->sources[0]);
    if (playback->options->json)
        put_json(&out, playback);
    else
        replay_recording_put_text(&out, playback);
    if (buf_failed(&out) || buf_failed(&playback->recorded) || buf_failed(&playback->replayed))
        result = error_memory(error, "the results");
    else if (visible_write(STDOUT_FILENO, out.data, out.length) != 0)
        result = error_system(error, errno, "cannot write the results to stdout");
    buf_free(&out);
    return result;
}

/* ---- the whole ---- */

/* The snapshot that the session went on from; -1 in *fd: from none. */
static int open_snapshot(const struct playback *playback, int *fd, struct error *error)
{
    char path[PATH_MAX];

    *fd = -1;
    if (!playback->head.from_snapshot)
        return 0;
    recording_snapshot_path(path, sizeof path, playback->options->sources[0]);
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    if (*fd >= 0)
        return 0;
    return error_set(error, ERROR_INPUT, "%s: %m; %s went on from this snapshot", path,
                     playback->options->sources[0]);
}

/* Without the sandbox: a recorded command may name files, a script or a snapshot. */
static int start_worker(struct playback *playback, struct error *error)
{
    struct launcher *launcher = &playback->launcher;
    int snapshot;

    if (open_snapshot(playback, &snapshot, error) != 0)
        return -1;
    if (launcher_open(launcher, playback->options->counters, playback->head.compute_limit, error) ==
        0) {
        launcher->instruction_limit = playback->options->instruction_limit;
        launcher->cost_limit = playback->options->cost_limit;
        launcher->compute_interval = playback->head.compute_interval;
        launcher->parser_kb = playback->head.parser_kb;
        playback->session =
            session_start(launcher, &playback->loop, "gaspipe-worker:replay", snapshot, error);
    }
    if (snapshot >= 0)
        close(snapshot);
    return playback->session == NULL ? -1 : 0;
}

static int play_all(struct playback *playback, struct error *error)
{
    playback->file = recording_file_open(playback->options->sources[0], &playback->head, error);
    if (playback->file == NULL || start_worker(playback, error) != 0 ||
        play(playback, error) != 0 || replay_recording_print(playback, error) != 0)
        return -1;
    if (playback->aspect != NULL)
        return ERROR_DELIVERY;
    /* Nothing was compared: that must not look like a check that was passed. */
    if (playback->commands == 0)
        return error_set(error, ERROR_INPUT, "%s: there is no command in it",
                         playback->options->sources[0]);
    return 0;
}

int replay_recording(const struct replay_options *options, struct error *error)
{
    struct playback playback = {.options = options,
                                .launcher = {.program_fd = -1, .others = LAUNCHER_NO_WORKERS}};
    int status;

    if (options->profile != NULL || options->profile_folded != NULL ||
        options->native_profile != NULL || options->native_folded != NULL ||
        options->trace.path != NULL)
        return error_set(error, ERROR_USAGE,
                         "--profile and --trace-functions are for deliveries, and %s is a recorded "
                         "session of frames",
                         options->sources[0]);
    status = uv_loop_init(&playback.loop);
    if (status != 0)
        return error_set(error, ERROR_SYSTEM, "cannot start the event loop: %s",
                         uv_strerror(status));
    status = play_all(&playback, error);
    session_end(playback.session);
    launcher_close(&playback.launcher);
    recording_file_close(playback.file);
    buf_free(&playback.recorded);
    buf_free(&playback.replayed);
    (void)uv_run(&playback.loop, UV_RUN_DEFAULT); /* to the end of what is closing */
    (void)uv_loop_close(&playback.loop);          /* nothing is open on it any more */
    return status;
}
