/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/kernel.h"

#include <ctype.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/json_text.h"
#include "base/log.h"
#include "proto/command.h"
#include "supervisor/crank.h"
#include "supervisor/runtime.h"
#include "supervisor/vat_state.h"

enum {
    CONTRACT_SIZE_MAX = 32 << 20, /* bytes; with its JSON it must fit in a frame */
    REASON_SIZE = 512,
    CLOSING_MS = 2000, /* for a worker to end by itself */
};

struct vat {
    struct kernel *kernel;
    char *name;
    char *path;
    struct buf bundle; /* JSON; given back when it was sent */
    int lines;         /* of the contract's file */
    struct store_vat stored;
    char id_text[24];
    enum vat_state state;
    struct worker_process *process;
    uv_timer_t timer;
    struct stamp starting;
    char reason[REASON_SIZE];     /* why it ended */
    enum error_kind blame;        /* the vat's own fault, or the host's */
    char last_words[REASON_SIZE]; /* that its worker printed, and nobody has seen yet */
};

struct kernel {
    struct kernel_options options;
    struct kernel_listener listener;
    struct vat **vats;
    size_t vat_count;
    int64_t crank_next;

    struct crank crank;
    struct vat *receiver;             /* of the delivery under way; NULL: none is */
    const struct delivery_line *line; /* of it */
    bool crank_open;                  /* it has begun */
    bool failed, closing;
    uv_idle_t later; /* looks again whether the delivery can begin */
};

/* What happened to a vat, with what came along. */
struct happening {
    enum vat_event event;
    struct iovec payload; /* of a frame, without its first byte */
    struct stamp come;    /* of a frame */
    int exit_status;      /* of VAT_EVENT_GONE */
    int signal_number;    /* of VAT_EVENT_GONE; 0: none */
};

static void happen(struct vat *vat, const struct happening *happening);

static void happen_event(struct vat *vat, enum vat_event event)
{
    happen(vat, &(struct happening){.event = event});
}

/* ---- the system fails ---- */

static void kernel_fail(struct kernel *kernel, const struct error *error)
{
    if (kernel->failed)
        return;
    kernel->failed = true;
    if (kernel->crank_open)
        crank_abandon(&kernel->crank);
    kernel->crank_open = false;
    kernel->receiver = NULL;
    kernel->listener.failed(kernel->listener.context, error);
}

/* ---- a delivery's end ---- */

static void tell_delivered(struct kernel *kernel, const struct delivery_report *report)
{
    kernel->crank_open = false;
    kernel->receiver = NULL;
    kernel->listener.delivered(kernel->listener.context, report);
}

static void finish_crank(struct kernel *kernel, const struct crank_end *end)
{
    struct delivery_report report;
    struct error error;

    kernel->crank_next++;
    kernel->receiver->stored.delivery_next++;
    if (crank_finish(&kernel->crank, end, &report, &error) != 0) {
        kernel_fail(kernel, &error);
        return;
    }
    tell_delivered(kernel, &report);
}

/* A delivery to a vat that has ended never becomes a crank. */
static void refuse_delivery(struct kernel *kernel)
{
    struct vat *vat = kernel->receiver;
    struct delivery_line line = {0};
    struct crank_vat of = {.id = vat->stored.id, .name = vat->name};
    struct buf words = {0};
    struct delivery_report report;
    struct error error;

    if (kernel->line != NULL) {
        line = *kernel->line;
        line.wants_result = false;
    }
    buf_printf(&words, "the vat has ended: %s", vat->reason);
    if (buf_string(&words) == NULL ||
        crank_refuse(&kernel->crank, &of, kernel->line != NULL ? &line : NULL, &report, &error) !=
            0) {
        error_memory(&error, "a delivery");
        kernel_fail(kernel, &error);
    } else {
        report.error = words.data;
        report.blame = vat->blame;
        tell_delivered(kernel, &report);
    }
    buf_free(&words);
}

/* The vat has ended, with its reason: so has a delivery to it. */
static void end_delivery_of(struct vat *vat)
{
    struct kernel *kernel = vat->kernel;
    struct crank_end end = {
        .returned = stamp_now(),
        .problem = vat->reason,
        .blame = vat->blame,
        .vat_ended = true,
    };

    if (kernel->receiver != vat || kernel->failed || kernel->closing)
        return;
    if (kernel->crank_open)
        finish_crank(kernel, &end);
    else
        refuse_delivery(kernel);
}

/* ---- reasons ---- */

static void __attribute__((format(printf, 3, 4)))
set_reason(struct vat *vat, enum error_kind blame, const char *format, ...)
{
    va_list args;

    if (vat->reason[0] != '\0')
        return; /* the first one caused the others */
    vat->blame = blame;
    va_start(args, format);
    vsnprintf(vat->reason, sizeof vat->reason, format, args);
    va_end(args);
}

/* Exits that tell of the vat; in SwingSet's words where it has some. */
static const char *words_of_exit(int exit_status)
{
    switch (exit_status) {
    case WORKER_EXIT_COMPUTATION:
        return "Compute meter exceeded";
    case WORKER_EXIT_STACK:
        return "Stack meter exceeded";
    case WORKER_EXIT_MEMORY:
        return "Allocate meter exceeded";
    case WORKER_EXIT_KEYS:
        return "Too many property names";
    case WORKER_EXIT_INSTRUCTIONS:
        return "Instruction limit exceeded";
    default:
        return NULL;
    }
}

static void set_reason_of_exit(struct vat *vat, int exit_status, int signal_number)
{
    const char *words = words_of_exit(exit_status);
    const char *said = vat->last_words;

    if (signal_number != 0)
        set_reason(vat, ERROR_SYSTEM, "its worker was killed by signal %d (%s)", signal_number,
                   strsignal(signal_number));
    else if (words != NULL)
        set_reason(vat, ERROR_DELIVERY, "%s", words);
    else
        set_reason(vat, ERROR_SYSTEM, "its worker ended with exit status %d%s%s", exit_status,
                   said[0] != '\0' ? ": " : "", said);
}

/* ---- sending ---- */

static struct stamp send_frame(struct vat *vat, char prefix, struct iovec payload)
{
    struct iovec parts[] = {{&prefix, 1}, payload};
    struct stamp sent;
    struct error error;

    if (worker_process_send(vat->process, parts, 2, &sent, &error) != 0)
        kernel_fail(vat->kernel, &error);
    return sent;
}

static void timer_rang(uv_timer_t *timer)
{
    struct vat *vat = timer->data;

    set_reason(vat, ERROR_SYSTEM, "it took longer than %g s",
               (double)vat->kernel->options.timeout_ms / 1000);
    happen_event(vat, VAT_EVENT_TIMEOUT);
}

static void start_timer(struct vat *vat, uint64_t milliseconds)
{
    /* Cannot fail: the callback is there. */
    if (milliseconds > 0)
        (void)uv_timer_start(&vat->timer, timer_rang, milliseconds, 0);
}

static void load(struct vat *vat, const struct happening *happening)
{
    struct buf message = {0};
    struct error error;

    (void)happening;
    vat_message_set_bundle(&message, vat->id_text, buf_string(&vat->bundle), "{}");
    buf_free(&vat->bundle);
    if (buf_failed(&message)) {
        error_memory(&error, "a contract");
        kernel_fail(vat->kernel, &error);
    } else {
        send_frame(vat, COMMAND_DELIVER, (struct iovec){message.data, message.length});
    }
    buf_free(&message);
}

/* ---- a delivery's beginning ---- */

static void begin_crank(struct vat *vat, const struct happening *happening)
{
    struct kernel *kernel = vat->kernel;
    struct crank_vat of = {
        .id = vat->stored.id,
        .delivery_num = vat->stored.delivery_next,
        .name = vat->name,
    };
    struct buf message = {0};
    struct stamp sent;
    struct error error;

    (void)happening;
    kernel->crank_open = true;
    if (crank_begin(&kernel->crank, kernel->crank_next, &of, kernel->line, &error) != 0) {
        kernel_fail(kernel, &error);
        return;
    }
    vat_message_deliver(&message, buf_string(&kernel->crank.vd));
    start_timer(vat, kernel->options.timeout_ms);
    sent = send_frame(vat, COMMAND_DELIVER, (struct iovec){message.data, message.length});
    buf_free(&message);
    if (!kernel->failed && crank_sent(&kernel->crank, sent, &error) != 0)
        kernel_fail(kernel, &error);
}

static void deliver_when_ready(struct kernel *kernel)
{
    struct vat *vat = kernel->receiver;

    if (vat == NULL || kernel->crank_open)
        return;
    if (vat->state == VAT_IDLE)
        happen_event(vat, VAT_EVENT_DELIVER);
    else if (vat->state == VAT_ENDING || vat->state == VAT_ENDED)
        refuse_delivery(kernel);
}

static void deliver_later(uv_idle_t *later)
{
    uv_idle_stop(later);
    deliver_when_ready(later->data);
}

void kernel_deliver(struct kernel *kernel, int vat, const struct delivery_line *line)
{
    kernel->receiver = kernel->vats[vat];
    kernel->line = line;
    if (kernel->receiver->state == VAT_IDLE)
        deliver_when_ready(kernel);
    else
        /* A refusal is told out of the loop: an owner who delivers again on being
         * told would otherwise make the stack grow. Cannot fail: the callback is there. */
        (void)uv_idle_start(&kernel->later, deliver_later);
}

/* ---- what a worker sends ---- */

static int log_startup(struct vat *vat, const char *type, bool finish, struct error *error)
{
    struct slog_writer *slog = vat->kernel->options.slog;
    struct stamp now = stamp_now();

    if (slog == NULL)
        return 0;
    slog_line_begin(slog, type);
    slog_field_text(slog, "vatID", vat->id_text);
    if (finish)
        return slog_line_finish(slog, vat->starting, now, error);
    vat->starting = now;
    return slog_line_end(slog, now, error);
}

/* The worker has answered setBundle. */
static void get_ready(struct vat *vat, const struct happening *happening)
{
    struct vat_reply reply;
    struct meter meter;
    struct iovec text;
    struct error error;

    uv_timer_stop(&vat->timer);
    if (meter_split(happening->payload, &meter, &text, &error) != 0) {
        set_reason(vat, ERROR_SYSTEM, "%s", error.text);
        happen_event(vat, VAT_EVENT_BAD);
        return;
    }
    meter_free(&meter);
    if (vat_reply_parse(&reply, text.iov_base, text.iov_len, &error) != 0) {
        set_reason(vat, ERROR_SYSTEM, "%s", error.text);
        happen_event(vat, VAT_EVENT_BAD);
        return;
    }
    if (reply.kind != VAT_REPLY_READY) {
        set_reason(vat, ERROR_DELIVERY, "the contract was not taken: %.*s", (int)reply.text.length,
                   reply.text.bytes);
        happen_event(vat, VAT_EVENT_BAD);
    } else {
        if (log_startup(vat, "vat-startup-finish", true, &error) != 0)
            kernel_fail(vat->kernel, &error);
        deliver_when_ready(vat->kernel);
    }
    vat_reply_free(&reply);
}

/* Passes on what a worker printed. While it starts that explains its failure, if
 * it comes to one, and is kept. */
static void show_words(struct vat *vat)
{
    bool starting = vat->state == VAT_STARTING || vat->state == VAT_LOADING ||
                    (vat->kernel->receiver == vat && vat->kernel->line == NULL);

    if (vat->last_words[0] != '\0' && !starting)
        log_line("%s: %s", vat->name, vat->last_words);
    vat->last_words[0] = '\0';
}

/* A syntax error's line is only on the worker's stderr (worker/engine_xs_platform.c). */
static void place_syntax_error(struct vat *vat, struct buf *words)
{
    static const char mark[] = "gaspipe-worker: line ";
    long line;

    worker_process_read_words(vat->process);
    if (strncmp(buf_string(words), "SyntaxError", strlen("SyntaxError")) != 0 ||
        strncmp(vat->last_words, mark, strlen(mark)) != 0)
        return;
    line = strtol(vat->last_words + strlen(mark), NULL, 10);
    /* What is missing at the end is missed in a line that the runtime appended. */
    if (line > vat->lines)
        line = vat->lines;
    buf_clear(words);
    buf_printf(words, "contract.js:%ld: SyntaxError%s", line,
               strchrnul(vat->last_words + strlen(mark), ':'));
}

/* What the worker said of the delivery: NULL for well, else words in *words. */
static const char *problem_of(struct vat *vat, struct iovec result, struct buf *words,
                              struct error *error)
{
    struct vat_reply reply;

    if (result.iov_len == 0)
        return "the method's promise was not settled when nothing was left to do";
    if (vat_reply_parse(&reply, result.iov_base, result.iov_len, error) != 0)
        return NULL;
    if (reply.kind == VAT_REPLY_ERROR) {
        buf_append(words, reply.text.bytes, reply.text.length);
        if (vat->kernel->line == NULL && buf_string(words) != NULL)
            place_syntax_error(vat, words);
    } else if (reply.kind != VAT_REPLY_OK) {
        error_set(error, ERROR_INPUT, "it answered a delivery with \"dispatchReady\"");
    }
    vat_reply_free(&reply);
    return words->length > 0 ? buf_string(words) : NULL;
}

static void finish_delivery(struct vat *vat, const struct happening *happening)
{
    struct error error = {0};
    struct buf words = {0};
    struct iovec result;
    struct meter meter = {0};
    struct crank_end end = {
        .returned = happening->come,
        .blame = ERROR_DELIVERY,
        .meter = &meter,
    };

    uv_timer_stop(&vat->timer);
    if (meter_split(happening->payload, &meter, &result, &error) == 0)
        end.problem = problem_of(vat, result, &words, &error);
    if (error.kind != ERROR_NONE) {
        set_reason(vat, ERROR_SYSTEM, "%s", error.text);
        happen_event(vat, VAT_EVENT_BAD);
    } else {
        show_words(vat);
        finish_crank(vat->kernel, &end);
    }
    buf_free(&words);
    meter_free(&meter);
}

/* A console call, for the person at the terminal. */
static void print_console(const struct vat *vat, const struct vat_console *console)
{
    struct buf line = {0};
    const json_t *argument;
    size_t i;

    json_array_foreach(console->arguments, i, argument)
    {
        buf_append_byte(&line, ' ');
        if (json_is_string(argument))
            buf_append(&line, json_string_value(argument), json_string_length(argument));
    }
    if (buf_string(&line) != NULL)
        log_line("%s:%s", vat->name, line.data);
    buf_free(&line);
}

static void answer_parsed(struct vat *vat, const struct vat_request *request, struct stamp come)
{
    struct kernel *kernel = vat->kernel;
    const struct buf *answer = &kernel->crank.answer;
    struct stamp answered;
    struct error error;

    switch (crank_request(&kernel->crank, request, &error)) {
    case CRANK_OK:
        /* The worker waits: the answer goes before the slog's lines are made. */
        answered = send_frame(vat, COMMAND_ANSWER, (struct iovec){answer->data, answer->length});
        if (!kernel->failed && crank_answered(&kernel->crank, request, come, answered, &error) != 0)
            kernel_fail(kernel, &error);
        break;
    case CRANK_SENSELESS:
        set_reason(vat, ERROR_DELIVERY, "%s", error.text);
        happen_event(vat, VAT_EVENT_BAD);
        break;
    case CRANK_BROKEN:
        kernel_fail(kernel, &error);
        break;
    }
}

static void answer_request(struct vat *vat, const struct happening *happening)
{
    struct vat_request request;
    struct error error;

    if (vat_request_parse(&request, happening->payload.iov_base, happening->payload.iov_len,
                          &error) != 0) {
        set_reason(vat, ERROR_DELIVERY, "%s", error.text);
        happen_event(vat, VAT_EVENT_BAD);
        return;
    }
    answer_parsed(vat, &request, happening->come);
    if (request.kind == VAT_REQUEST_CONSOLE)
        print_console(vat, &request.console);
    vat_request_free(&request);
}

/* ---- the end of a vat ---- */

static void kill_worker(struct vat *vat, const struct happening *happening)
{
    if (happening->event == VAT_EVENT_FAILED)
        set_reason(vat, ERROR_SYSTEM, "its worker threw out of a command: %.*s",
                   (int)happening->payload.iov_len, (const char *)happening->payload.iov_base);
    else
        set_reason(vat, ERROR_SYSTEM, "its worker spoke out of turn");
    uv_timer_stop(&vat->timer);
    worker_process_kill(vat->process);
    end_delivery_of(vat);
}

static void hang_up(struct vat *vat, const struct happening *happening)
{
    (void)happening;
    uv_timer_stop(&vat->timer);
    start_timer(vat, CLOSING_MS);
    worker_process_hang_up(vat->process);
}

static void close_vat_timer(struct vat *vat)
{
    if (!uv_is_closing((uv_handle_t *)&vat->timer))
        uv_close((uv_handle_t *)&vat->timer, NULL);
}

static void tell_when_closed(struct kernel *kernel)
{
    if (!kernel->closing)
        return;
    for (size_t i = 0; i < kernel->vat_count; i++)
        if (kernel->vats[i]->state != VAT_ENDED)
            return;
    for (size_t i = 0; i < kernel->vat_count; i++)
        close_vat_timer(kernel->vats[i]);
    if (!uv_is_closing((uv_handle_t *)&kernel->later)) {
        uv_close((uv_handle_t *)&kernel->later, NULL);
        kernel->listener.closed(kernel->listener.context);
    }
}

static void forget(struct vat *vat, const struct happening *happening)
{
    (void)happening;
    uv_timer_stop(&vat->timer);
    worker_process_free(vat->process);
    vat->process = NULL;
    tell_when_closed(vat->kernel);
}

static void bury(struct vat *vat, const struct happening *happening)
{
    set_reason_of_exit(vat, happening->exit_status, happening->signal_number);
    forget(vat, happening);
    end_delivery_of(vat);
}

/* ---- happenings into actions ---- */

static void do_nothing(struct vat *vat, const struct happening *happening)
{
    (void)vat;
    (void)happening;
}

static void forbidden(struct vat *vat, const struct happening *happening)
{
    log_line("%s: event %d in state %d cannot be", vat->name, happening->event, vat->state);
    abort();
}

static void happen(struct vat *vat, const struct happening *happening)
{
    static void (*const actions[])(struct vat *, const struct happening *) = {
        [VAT_ACT_NOTHING] = do_nothing,
        [VAT_ACT_LOAD] = load,
        [VAT_ACT_READY] = get_ready,
        [VAT_ACT_DELIVER] = begin_crank,
        [VAT_ACT_ANSWER] = answer_request,
        [VAT_ACT_FINISH] = finish_delivery,
        [VAT_ACT_KILL] = kill_worker,
        [VAT_ACT_HANG_UP] = hang_up,
        [VAT_ACT_BURY] = bury,
        [VAT_ACT_FORGET] = forget,
        [VAT_ACT_FORBIDDEN] = forbidden,
    };
    struct vat_step step = vat_step(vat->state, happening->event);

    vat->state = step.next;
    actions[step.action](vat, happening);
}

static void on_frame(void *context, struct iovec frame, struct stamp come)
{
    struct vat *vat = context;
    struct happening happening = {.event = VAT_EVENT_BAD, .come = come};
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
        set_reason(vat, ERROR_SYSTEM, "its worker sent a frame that is no reply");
    happen(vat, &happening);
}

static void on_bad_frame(void *context, const struct error *error)
{
    struct vat *vat = context;

    set_reason(vat, ERROR_SYSTEM, "its worker's frames are broken: %s", error->text);
    happen_event(vat, VAT_EVENT_BAD);
}

/* The last line waits: if the worker ends now, it says why. */
static void on_words(void *context, const char *line)
{
    struct vat *vat = context;

    show_words(vat);
    snprintf(vat->last_words, sizeof vat->last_words, "%s", line);
}

static void on_gone(void *context, int exit_status, int signal_number)
{
    struct happening happening = {
        .event = VAT_EVENT_GONE,
        .exit_status = exit_status,
        .signal_number = signal_number,
    };

    happen(context, &happening);
}

/* ---- vats ---- */

static int check_name(const struct kernel *kernel, const char *name, struct error *error)
{
    const char *at = name;

    while (isalnum((unsigned char)*at) || *at == '_' || *at == '-' || *at == '.')
        at++;
    if (at == name || *at != '\0')
        return error_set(error, ERROR_USAGE,
                         "a vat's name is made of letters, digits, '_', '-' and '.', not '%s'",
                         name);
    if (kernel_find_vat(kernel, name) >= 0)
        return error_set(error, ERROR_USAGE, "there are two vats called '%s'", name);
    return 0;
}

static int count_lines(const struct buf *text)
{
    int lines = text->length > 0 && text->data[text->length - 1] != '\n';

    for (size_t i = 0; i < text->length; i++)
        lines += text->data[i] == '\n';
    return lines;
}

/* The contract as the bundle that the plain runtime takes. */
static int read_bundle(struct vat *vat, struct error *error)
{
    struct buf source = {0};
    json_t *text = NULL;
    char *json = NULL;
    int result = -1;

    if (io_read_file(vat->path, CONTRACT_SIZE_MAX, &source, error) != 0)
        goto out;
    vat->lines = count_lines(&source);
    text = json_stringn(source.data != NULL ? source.data : "", source.length);
    if (text == NULL) {
        error_set(error, ERROR_INPUT, "%s: is not UTF-8 text", vat->path);
        goto out;
    }
    json = json_dumps(text, JSON_ENCODE_ANY);
    if (json == NULL ||
        buf_printf(&vat->bundle, "{\"moduleFormat\":\"gaspipePlain\",\"source\":%s}", json) != 0)
        error_memory(error, "a contract");
    else
        result = 0;
out:
    free(json);
    json_decref(text);
    buf_free(&source);
    return result;
}

static int log_create(struct vat *vat, struct error *error)
{
    struct slog_writer *slog = vat->kernel->options.slog;

    if (slog == NULL)
        return 0;
    slog_line_begin(slog, "create-vat");
    slog_field_text(slog, "vatID", vat->id_text);
    slog_field_bool(slog, "dynamic", false);
    slog_field_text(slog, "description", vat->name);
    slog_field_text(slog, "name", vat->name);
    slog_field_text(slog, "managerType", "xsnap");
    slog_field_raw(slog, "vatSourceBundle", vat->bundle.data, vat->bundle.length);
    if (slog_line_end(slog, stamp_now(), error) != 0)
        return -1;
    return log_startup(vat, "vat-startup-start", false, error);
}

static int start_worker(struct vat *vat, struct error *error)
{
    const struct kernel_options *options = &vat->kernel->options;
    struct worker_listener listener = {
        .context = vat,
        .frame = on_frame,
        .bad_frame = on_bad_frame,
        .words = on_words,
        .gone = on_gone,
    };
    char title[64];

    snprintf(title, sizeof title, "gaspipe-worker:%s:%s", vat->id_text, vat->name);
    vat->process = launcher_start(options->launcher, options->loop, title, &listener, error);
    if (vat->process == NULL)
        return -1;
    vat->state = VAT_STARTING;
    start_timer(vat, options->timeout_ms);
    send_frame(vat, COMMAND_EVALUATE, runtime_plain());
    return 0;
}

/* As much as there is of it; its worker is gone or never was. */
static void free_vat(struct vat *vat)
{
    buf_free(&vat->bundle);
    free(vat->name);
    free(vat->path);
    free(vat);
}

static struct vat *new_vat(struct kernel *kernel, const char *name, const char *path)
{
    struct vat *vat = calloc(1, sizeof *vat);

    if (vat == NULL)
        return NULL;
    vat->kernel = kernel;
    vat->state = VAT_ENDED;
    vat->name = strdup(name);
    vat->path = strdup(path);
    if (vat->name != NULL && vat->path != NULL)
        return vat;
    free_vat(vat);
    return NULL;
}

/* The vat's place in the kernel, before anything of it runs. */
static int append_vat(struct kernel *kernel, struct vat *vat, struct error *error)
{
    struct vat **vats = reallocarray(kernel->vats, kernel->vat_count + 1, sizeof *vats);

    if (vats == NULL)
        return error_memory(error, "a vat");
    kernel->vats = vats;
    vats[kernel->vat_count++] = vat;
    /* Cannot fail in any libuv 1. */
    (void)uv_timer_init(kernel->options.loop, &vat->timer);
    vat->timer.data = vat;
    return 0;
}

int kernel_add_vat(struct kernel *kernel, const char *name, const char *path, struct error *error)
{
    struct vat *vat;

    if (check_name(kernel, name, error) != 0)
        return -1;
    vat = new_vat(kernel, name, path);
    if (vat == NULL)
        return error_memory(error, "a vat");
    if (read_bundle(vat, error) != 0 ||
        store_provide_vat(kernel->options.store, name, &vat->stored, error) != 0 ||
        append_vat(kernel, vat, error) != 0) {
        free_vat(vat);
        return -1;
    }
    snprintf(vat->id_text, sizeof vat->id_text, "v%" PRId64, vat->stored.id);
    if (log_create(vat, error) != 0)
        return -1;
    return start_worker(vat, error);
}

int kernel_find_vat(const struct kernel *kernel, const char *name)
{
    for (size_t i = 0; i < kernel->vat_count; i++)
        if (strcmp(kernel->vats[i]->name, name) == 0)
            return (int)i;
    return -1;
}

const char *kernel_vat_path(const struct kernel *kernel, int vat)
{
    return kernel->vats[vat]->path;
}

/* ---- the kernel ---- */

struct kernel *kernel_new(const struct kernel_options *options,
                          const struct kernel_listener *listener, struct error *error)
{
    struct kernel *kernel = calloc(1, sizeof *kernel);

    if (kernel == NULL) {
        error_memory(error, "the kernel");
        return NULL;
    }
    kernel->options = *options;
    kernel->listener = *listener;
    if (store_crank_next(options->store, &kernel->crank_next, error) != 0) {
        free(kernel);
        return NULL;
    }
    crank_init(&kernel->crank, options->store, options->slog);
    /* Cannot fail in any libuv 1. */
    (void)uv_idle_init(options->loop, &kernel->later);
    kernel->later.data = kernel;
    return kernel;
}

void kernel_close(struct kernel *kernel)
{
    if (kernel->closing)
        return;
    kernel->closing = true;
    if (kernel->crank_open)
        crank_abandon(&kernel->crank);
    kernel->crank_open = false;
    kernel->receiver = NULL;
    uv_idle_stop(&kernel->later);
    for (size_t i = 0; i < kernel->vat_count; i++)
        happen_event(kernel->vats[i], VAT_EVENT_CLOSE);
    tell_when_closed(kernel);
}

void kernel_free(struct kernel *kernel)
{
    if (kernel == NULL)
        return;
    for (size_t i = 0; i < kernel->vat_count; i++)
        free_vat(kernel->vats[i]);
    free(kernel->vats);
    crank_free(&kernel->crank);
    free(kernel);
}
