/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proto/command.h"
#include "supervisor/vats/vat.h"

/* ---- what its worker tells, as events ---- */

static void on_frame(void *context, struct iovec frame, struct stamp come)
{
    struct vat *vat = context;
    struct vat_happening happening = {.event = VAT_EVENT_BAD, .come = come};
    const char *bytes = frame.iov_base;

    if (frame.iov_len > 0) {
        happening.payload = (struct iovec){(char *)bytes + 1, frame.iov_len - 1};
        if (bytes[0] == COMMAND_DONE)
            happening.event = VAT_EVENT_DONE;
        else if (bytes[0] == COMMAND_FAILED)
            happening.event = VAT_EVENT_FAILED;
        else if (bytes[0] == COMMAND_REQUEST)
            happening.event = VAT_EVENT_REQUEST;
    }
    if (happening.event == VAT_EVENT_BAD)
        vat_set_reason(vat, ERROR_SYSTEM, "its worker sent a frame that is no reply");
    vat_happen(vat, &happening);
}

static void on_bad_frame(void *context, const struct error *error)
{
    vat_kill_for(context, ERROR_SYSTEM, "its worker's frames are broken: %s", error->text);
}

/* The last line waits: if the worker ends now, it says why. */
static void on_words(void *context, const char *line)
{
    struct vat *vat = context;

    vat_show_words(vat);
    snprintf(vat->last_words, sizeof vat->last_words, "%s", line);
}

static void on_gone(void *context, int exit_status, int signal_number)
{
    struct vat_happening happening = {
        .event = VAT_EVENT_GONE,
        .exit_status = exit_status,
        .signal_number = signal_number,
    };

    vat_happen(context, &happening);
}

/* ---- from where it starts ---- */

/* A file with the vat's own last snapshot; -1 where it has none, or with the error. */
static int open_own_snapshot(struct vat *vat, struct error *error)
{
    struct store *store = vat->warehouse->options.store;
    struct store_snapshot snapshot;
    int fd;

    vat->restored = false;
    vat->saved_at = -1;
    if (store_snapshot_last(store, vat->id, vat->incarnation, &vat->replay.position, &snapshot,
                            &vat->restored, error) != 0 ||
        !vat->restored)
        return -1;
    vat->saved_at = vat->replay.position;
    fd = memfd_create("gaspipe-snapshot", MFD_CLOEXEC);
    if (fd < 0)
        return error_system(error, errno, "cannot make a file for a snapshot");
    if (store_snapshot_read(store, snapshot.hash, fd, error) == 0 &&
        vat_log_snapshot_load(vat, vat->replay.position, snapshot.hash, error) == 0)
        return fd;
    close(fd);
    return -1;
}

static int read_bundle(struct vat *vat, struct error *error)
{
    struct warehouse *warehouse = vat->warehouse;
    bool found = false;

    buf_clear(&vat->bundle);
    if (store_bundle_get(warehouse->options.store, vat->bundle_id, &vat->bundle, &found, error) !=
        0)
        return -1;
    if (!found)
        return error_set(error, ERROR_SYSTEM, "the store has no bundle %.200s", vat->bundle_id);
    /* The zeros terminate it, too. */
    if (buf_reserve(&vat->bundle, SCAN_PADDING) != 0)
        return error_memory(error, "a bundle");
    memset(vat->bundle.data + vat->bundle.length, 0, SCAN_PADDING);
    return vat_runtime_choose(&warehouse->runtimes,
                              (struct scan_span){vat->bundle.data, vat->bundle.length},
                              &vat->runtime, error);
}

static int find_past(struct vat *vat, struct error *error)
{
    int64_t first;

    vat->replay.position = 0;
    return store_transcript_bounds(vat->warehouse->options.store, vat->id, vat->incarnation, &first,
                                   &vat->replay.end, error);
}

static int start_process(struct vat *vat, int snapshot_fd, struct error *error)
{
    const struct warehouse_options *options = &vat->warehouse->options;
    const struct worker_listener listener = {
        .context = vat,
        .frame = on_frame,
        .bad_frame = on_bad_frame,
        .words = on_words,
        .gone = on_gone,
    };
    struct launcher launcher = vat_runtime_launcher(&vat->runtime, options->launcher);
    char title[64];

    launcher.compute_limit = (uint32_t)vat->limits.compute;
    launcher.instruction_limit = (uint64_t)vat->limits.instructions;
    snprintf(title, sizeof title, "gaspipe-worker:%.16s:%.24s", vat->id_text, vat->name);
    vat->process =
        launcher_start_from(&launcher, options->loop, title, snapshot_fd, &listener, error);
    return vat->process == NULL ? -1 : 0;
}

/* A file with the heap that its worker starts from; else as warm_start_open(). */
static int open_heap(struct vat *vat, struct error *error)
{
    struct warehouse *warehouse = vat->warehouse;
    struct error none = {0};
    int fd;

    if (read_bundle(vat, error) != 0 || vat_log_create(vat, error) != 0 ||
        vat_log_startup(vat, false, error) != 0 || find_past(vat, error) != 0)
        return -1;
    fd = open_own_snapshot(vat, &none);
    *error = none;
    if (none.kind == ERROR_NONE && fd < 0)
        fd = warm_start_open(&warehouse->warm, warehouse->options.launcher,
                             warehouse->options.timeout_ms, warehouse->options.store, &vat->runtime,
                             error);
    return fd;
}

/* Its state is AWAY again. */
static void fail_to_open(struct vat *vat, struct error *error)
{
    error_prefix(error, "vat %s", vat->name[0] != '\0' ? vat->name : vat->id_text);
    warehouse_fail(vat->warehouse, error);
}

/* The same; another process may be had a little later. */
static void fail_to_launch(struct vat *vat, const struct error *error)
{
    vat_set_reason(vat, ERROR_SYSTEM, "%s", error->text);
    warehouse_tell_lost(vat, VAT_STARTING);
}

void vat_start(struct vat *vat, const struct vat_happening *happening)
{
    struct error error;
    int fd;

    (void)happening;
    vat->reason[0] = '\0';
    vat->last_words[0] = '\0';
    vat->ahead = false;
    fd = open_heap(vat, &error);
    if (fd >= 0 && start_process(vat, fd, &error) == 0) {
        vat_start_timer(vat, launcher_start_limit(vat->warehouse->options.timeout_ms));
        vat_send_frame(vat, COMMAND_READY, (struct iovec){0});
    } else {
        vat->state = VAT_AWAY;
        buf_free(&vat->bundle);
        if (fd == WARM_START_FAILED)
            fail_to_open(vat, &error);
        else
            fail_to_launch(vat, &error);
    }
    if (fd >= 0)
        close(fd);
}

void vat_evaluate(struct vat *vat, const struct vat_happening *happening)
{
    (void)happening;
    vat_event(vat, vat->restored ? VAT_EVENT_RESTORED : VAT_EVENT_STARTED);
}

/* ---- its contract ---- */

void vat_load(struct vat *vat, const struct vat_happening *happening)
{
    struct buf message = {0};
    struct error error;

    (void)happening;
    vat_message_set_bundle(&message, vat->id_text, vat->bundle.data, vat->runtime.options);
    buf_free(&vat->bundle);
    if (buf_failed(&message)) {
        error_memory(&error, "a message to a vat");
        warehouse_fail(vat->warehouse, &error);
    } else {
        vat_send_frame(vat, COMMAND_DELIVER, (struct iovec){message.data, message.length});
    }
    buf_free(&message);
}

void vat_answer_loading(struct vat *vat, const struct vat_happening *happening)
{
    struct vat_request request;
    struct error error;

    if (vat_request_parse(&request, happening->payload.iov_base, happening->payload.iov_len,
                          &error) != 0) {
        vat_kill_for(vat, ERROR_DELIVERY, "%s", error.text);
        return;
    }
    if (request.kind == VAT_REQUEST_CONSOLE)
        vat_send_frame(vat, COMMAND_ANSWER,
                       (struct iovec){(char *)vat->runtime.console_answer,
                                      strlen(vat->runtime.console_answer)});
    else
        vat_kill_for(vat, ERROR_DELIVERY, "it asked for %s while it was loaded",
                     request.syscall.name);
    vat_request_free(&request);
}

static int check_loaded(struct vat *vat, struct iovec payload, struct error *error)
{
    struct vat_reply reply;
    struct meter meter;
    struct iovec text;

    if (meter_split(payload, &meter, &text, error) != 0)
        return -1;
    meter_free(&meter);
    if (vat_reply_parse(&reply, text.iov_base, text.iov_len, error) != 0)
        return -1;
    if (reply.kind != VAT_REPLY_READY)
        vat_set_reason(vat, ERROR_DELIVERY, "the contract was not taken: %.*s",
                       (int)reply.text.length, reply.text.bytes);
    vat_reply_free(&reply);
    return 0;
}

void vat_loaded(struct vat *vat, const struct vat_happening *happening)
{
    struct error error;

    if (check_loaded(vat, happening->payload, &error) != 0)
        vat_set_reason(vat, ERROR_SYSTEM, "%s", error.text);
    if (vat->reason[0] != '\0')
        vat_event(vat, VAT_EVENT_BAD);
    else
        vat_replay(vat, happening);
}
