/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_VAT_H
#define GASPIPE_SUPERVISOR_VAT_H

#include "supervisor/contract_file.h"
#include "supervisor/crank.h"
#include "supervisor/kernel.h"
#include "supervisor/vat_numbers.h"
#include "supervisor/vat_state.h"

/*
 * What kernel.c and the vat_*.c files share: the kernel from within. A vat turns
 * what its worker, its pipe and its timer say into happenings; vat_state.h
 * decides what each leads to.
 */

enum { VAT_WORDS_SIZE = 512 };

struct vat {
    struct kernel *kernel;
    char *name;
    char *path;
    struct contract_file contract; /* its bundle is given back when it was sent */
    struct vat_numbers stored;
    char id_text[24];
    enum vat_state state;
    struct worker_process *process;
    uv_timer_t timer;
    uint64_t limit_ms; /* that the timer was started with */
    struct stamp starting;
    char reason[VAT_WORDS_SIZE];     /* why it ended */
    enum error_kind blame;           /* the vat's own fault, or the host's */
    char last_words[VAT_WORDS_SIZE]; /* that its worker printed, and nobody has seen yet */
};

struct kernel {
    struct kernel_options options;
    struct kernel_listener listener;
    struct vat **vats;
    size_t vat_count, vat_capacity;
    int64_t crank_next;

    struct crank crank;
    struct vat *receiver;             /* of the delivery under way; NULL: none is */
    const struct delivery_line *line; /* of it */
    bool crank_open;                  /* it has begun */
    bool failed, closing;
    uv_idle_t later; /* looks again whether the delivery can begin */
};

/* What happened to a vat, with what came along. */
struct vat_happening {
    enum vat_event event;
    struct iovec payload; /* of a frame, without its first byte */
    struct stamp come;    /* of a frame */
    int exit_status;      /* of VAT_EVENT_GONE */
    int signal_number;    /* of VAT_EVENT_GONE; 0: none */
};

/* ---- vat.c: a vat's life ---- */

/* NULL when memory ran out. The strings are copied. */
struct vat *vat_new(struct kernel *kernel, const char *name, const char *path);

/* As much as there is of it; its worker is gone or never was. */
void vat_free(struct vat *vat);

/* Starts its worker and sends it the runtime. */
int vat_start(struct vat *vat, struct error *error);

void vat_happen(struct vat *vat, const struct vat_happening *happening);

/* Of an event that nothing comes along with. */
static inline void vat_event(struct vat *vat, enum vat_event event)
{
    vat_happen(vat, &(struct vat_happening){.event = event});
}

/* Sends a frame of that first byte. When it was sent. */
struct stamp vat_send_frame(struct vat *vat, char prefix, struct iovec payload);

/* Sends what goes to handleCommand, and gives the message's memory back. */
struct stamp vat_send_message(struct vat *vat, struct buf *message);

/* VAT_EVENT_TIMEOUT comes after that time; 0: never. */
void vat_start_timer(struct vat *vat, uint64_t milliseconds);
void vat_close_timer(struct vat *vat);

/* The slog's line on its creation and start. */
int vat_log_create(struct vat *vat, struct error *error);
int vat_log_startup(struct vat *vat, const char *type, bool finish, struct error *error);

/* ---- vat_delivery.c: what is done on a worker's frames ---- */

void vat_get_ready(struct vat *vat, const struct vat_happening *happening);
void vat_begin_delivery(struct vat *vat, const struct vat_happening *happening);
void vat_answer_request(struct vat *vat, const struct vat_happening *happening);
void vat_finish_delivery(struct vat *vat, const struct vat_happening *happening);

/* ---- vat_words.c: why it ended, what its worker printed ---- */

/* Notes why the vat ends; the first reason stands: it caused the others. */
void vat_set_reason(struct vat *vat, enum error_kind blame, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void vat_set_reason_of_exit(struct vat *vat, int exit_status, int signal_number);

/*
 * Passes on what the worker printed. While it starts that explains its failure,
 * if it comes to one, and is kept.
 */
void vat_show_words(struct vat *vat);

/* Puts the line of a syntax error before its words, as "contract.js:LINE: ". */
void vat_place_syntax_error(struct vat *vat, struct buf *words);

/* ---- kernel.c ---- */

/* The system failed: nothing more is delivered. */
void kernel_fail(struct kernel *kernel, const struct error *error);

/* The delivery under way has ended. */
void kernel_finish_crank(struct kernel *kernel, const struct crank_end *end);

/* The vat has ended, with its reason: so has a delivery to it. */
void kernel_end_delivery_of(struct vat *vat);

/* Begins the delivery that waits for its vat, if it can. */
void kernel_deliver_when_ready(struct kernel *kernel);

/* After kernel_close(), when the last worker has gone. */
void kernel_tell_when_closed(struct kernel *kernel);

#endif
