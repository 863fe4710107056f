/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_VAT_H
#define GASPIPE_SUPERVISOR_VAT_H

#include "supervisor/runtime/vat_runtime.h"
#include "supervisor/runtime/warm_start.h"
#include "supervisor/transcript/delivery_compare.h"
#include "supervisor/vats/vat_state.h"
#include "supervisor/vats/warehouse.h"

/*
 * What warehouse.c and the vat_*.c files share: the warehouse from within. A vat
 * turns what its worker, its pipe and its timer say into happenings; vat_state.h
 * decides what each leads to.
 */

enum { VAT_WORDS_SIZE = 512, VAT_ID_SIZE = 24 };

/* The transcript's deliveries that are delivered once more. */
struct vat_replay {
    int64_t first_num;                 /* the number of the delivery at position 0 */
    int64_t position, end;             /* of the next one, and behind the last */
    struct recorded_delivery recorded; /* the one in hand */
    struct compare_rules rules;
    struct delivery_compare compare;
    struct buf request; /* of its worker */
    struct stamp began, sent;
};

struct vat {
    struct warehouse *warehouse;
    int64_t id;
    char id_text[VAT_ID_SIZE];
    char *name, *bundle_id; /* owned */
    bool dynamic;
    int64_t incarnation;
    struct kernel_limits limits;
    bool announced; /* the slog has its bundle */
    bool removed;   /* freed when its worker is gone */

    enum vat_state state;
    struct worker_process *process;
    uv_timer_t timer;
    uint64_t limit_ms; /* that the timer was started with */
    uint64_t due;      /* when it is to ring, uv_now() */
    bool overdue;      /* it has rung once */

    bool wanted;        /* a worker is, once there is room for it and the one that goes is gone */
    uint64_t wanted_at; /* of the warehouse's wants, the last one of it */
    const char *vd;     /* of the delivery in hand, borrowed; NULL: none is */
    bool starts;        /* that is startVat */
    bool ahead;         /* its worker was given it before its turn, and may have done it */
    bool quiet;         /* how it comes back is not for the slog */
    struct slog_writer *aside; /* takes its lines meanwhile, owned; NULL: they go to the slog */

    struct buf bundle; /* JSON; only while its worker starts */
    struct vat_runtime runtime;
    bool restored;    /* its worker started from a snapshot of its own */
    int64_t saved_at; /* where its last snapshot stands in the transcript; -1: there is none */
    struct vat_replay replay;
    struct stamp starting;

    char reason[VAT_WORDS_SIZE];     /* why its worker ended; "": it did not */
    enum error_kind blame;           /* whose fault that is, as vat_loss() has it */
    char last_words[VAT_WORDS_SIZE]; /* that its worker printed, and nobody has seen yet */
};

struct warehouse {
    struct warehouse_options options;
    struct warehouse_listener listener;
    struct vat **vats; /* by number; NULL: not known */
    size_t vat_count, vat_capacity;
    struct vat_runtimes runtimes;
    struct warm_starts warm;
    uint64_t wants; /* how often a worker was wanted */
    bool failed, closing, closed;
};

/* What happened to a vat, with what came along. */
struct vat_happening {
    enum vat_event event;
    struct iovec payload; /* of a frame, without its first byte */
    struct stamp come;    /* of a frame */
    int exit_status;      /* of VAT_EVENT_GONE */
    int signal_number;    /* of VAT_EVENT_GONE; 0: none */
};

/* ---- vat.c: a worker's life ---- */

/* Its worker is not wanted any more, nor what that is doing. */
void vat_put_away(struct vat *vat);

/* Its worker is there, and in or behind a delivery that has not had its turn. */
bool vat_is_ahead(const struct vat *vat);

/* NULL when memory ran out. The strings are copied. */
struct vat *vat_new(struct warehouse *warehouse, const struct warehouse_vat *described);

/* Its worker is gone or never was, and its timer is closed. */
void vat_free(struct vat *vat);

void vat_happen(struct vat *vat, const struct vat_happening *happening);

/* Of an event that nothing comes along with. */
static inline void vat_event(struct vat *vat, enum vat_event event)
{
    vat_happen(vat, &(struct vat_happening){.event = event});
}

/* Sends a frame of that first byte. When it was sent. */
struct stamp vat_send_frame(struct vat *vat, char prefix, struct iovec payload);

/* Sends `?["deliver",VD]`. When it was sent. */
struct stamp vat_send_delivery(struct vat *vat, struct iovec vd);

/* VAT_EVENT_TIMEOUT comes after that time; 0: never. */
void vat_start_timer(struct vat *vat, uint64_t milliseconds);
void vat_stop_timer(struct vat *vat);

/* Closes its worker's pipe, on which that ends, or is killed after a while. */
void vat_leave(struct vat *vat);

/* ---- vat_start.c: from no worker to one with the contract ---- */

void vat_start(struct vat *vat, const struct vat_happening *happening);
void vat_evaluate(struct vat *vat, const struct vat_happening *happening);
void vat_load(struct vat *vat, const struct vat_happening *happening);
void vat_answer_loading(struct vat *vat, const struct vat_happening *happening);
void vat_loaded(struct vat *vat, const struct vat_happening *happening);

/* ---- vat_replay.c: to where the vat stands ---- */

void vat_replay(struct vat *vat, const struct vat_happening *happening);
void vat_answer_recorded(struct vat *vat, const struct vat_happening *happening);
void vat_compare(struct vat *vat, const struct vat_happening *happening);
void vat_ready(struct vat *vat, const struct vat_happening *happening);

/* ---- vat_delivery.c: deliveries ---- */

void vat_deliver(struct vat *vat, const struct vat_happening *happening);
void vat_ask(struct vat *vat, const struct vat_happening *happening);
void vat_finish(struct vat *vat, const struct vat_happening *happening);

/* What a worker's `.` frame says of a delivery. All zeros is empty. */
struct vat_ending {
    struct meter meter;
    const char *problem; /* NULL: it went well */
    const char *value;   /* what came with "ok", JSON; NULL: null */
    struct buf text;     /* of either */
};

/* Reads the frame's payload. -1 with the error when it is no such reply. */
int vat_ending_read(struct vat_ending *ending, struct iovec payload, struct error *error);
void vat_ending_free(struct vat_ending *ending);

/* ---- vat_snapshot.c ---- */

void vat_save(struct vat *vat, const struct vat_happening *happening);
void vat_saved(struct vat *vat, const struct vat_happening *happening);

/* ---- vat_slog.c: lines of the slog; each does nothing without one ---- */

int vat_log_create(struct vat *vat, struct error *error);
int vat_log_startup(struct vat *vat, bool finish, struct error *error);
int vat_log_snapshot_load(struct vat *vat, int64_t position, const char *hash, struct error *error);
int vat_log_snapshot_save(struct vat *vat, int64_t position, const struct store_snapshot *snapshot,
                          struct error *error);
int vat_log_replay_start(struct vat *vat, struct error *error);
int vat_log_replay_finish(struct vat *vat, struct error *error);
int vat_log_replay_deliver(struct vat *vat, struct error *error);
int vat_log_replay_syscall(struct vat *vat, struct scan_span syscall, struct scan_span answer,
                           struct stamp come, struct stamp answered, struct error *error);
int vat_log_replay_result(struct vat *vat, const struct vat_ending *ending, struct stamp come,
                          struct error *error);

/* ---- vat_words.c: why it ended, what its worker printed ---- */

/* Notes why the worker ends; the first reason stands: it caused the others. */
void vat_set_reason(struct vat *vat, enum error_kind blame, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void vat_set_reason_of_exit(struct vat *vat, int exit_status, int signal_number);

/* Notes why, and the worker is killed. */
void vat_kill_for(struct vat *vat, enum error_kind blame, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Passes on what the worker printed. While it starts that explains its failure,
 * if it comes to one, and is kept.
 */
void vat_show_words(struct vat *vat);

/* Puts the line of a syntax error before its words, as "contract.js:LINE: ". */
void vat_place_syntax_error(struct vat *vat, struct buf *words);

/* ---- warehouse.c ---- */

/* The system failed: nothing more is told. */
void warehouse_fail(struct warehouse *warehouse, const struct error *error);

/* Its worker has ended, or is about to, with its reason: tells whom it concerns. */
void warehouse_tell_lost(struct vat *vat, enum vat_state before);

/* A vat's worker is gone. */
void warehouse_forget(struct vat *vat);

/* ---- warehouse_room.c ---- */

/*
 * Starts workers for the vats that wait for one, as far as there may be more; for
 * the others, workers that wait for a delivery are put away, the one that was used
 * longest ago first. To be called when a vat begins to wait, when a worker becomes idle
 * and when one is gone.
 */
void warehouse_share_out(struct warehouse *warehouse);

#endif
