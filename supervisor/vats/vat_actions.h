/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_VATS_VAT_ACTIONS_H
#define GASPIPE_SUPERVISOR_VATS_VAT_ACTIONS_H

#include "supervisor/vats/vat.h"

/*
 * What vat.c does a vat's actions with. An action is done when the vat is in the state that
 * follows, and returns the event that it leads to, or VAT_EVENT_NONE.
 */

/* What an event brings along. */
struct vat_input {
    enum vat_event event;
    const struct vat_frame *frame; /* of DONE, FAILED, REQUEST, STOPPED; else NULL */
    int exit_status;               /* of GONE */
    int signal_number;             /* of GONE; 0: none */
};

/* ---- vat_worker.c: the hold on a worker ---- */

/* Reports an event of this vat to the warehouse's owner, unless that is to receive none. */
void vat_report(const struct vat *vat, const struct warehouse_event *event);

/* The system failed what was in progress: notifies the owner. Returns VAT_EVENT_BAD. */
enum vat_event vat_fail(struct vat *vat, const struct error *error);

/* What the store has of this vat is damaged, which is no failure of the others: notes the reason.
 * Its worker is of no use: VAT_EVENT_BAD. */
enum vat_event vat_lose_past(struct vat *vat, const struct error *error);

/* Starts one from the snapshot in this file; -1: a new one. It is
 * forked where `policy`, which may be NULL, can do that, and tells `listener`. NULL with
 * ERROR_SYSTEM. */
struct worker_process *vat_launch(const struct vat *vat, int snapshot_fd,
                                  struct zygote_policy *policy,
                                  const struct worker_listener *listener, struct error *error);

/* Sends a frame of that first byte. When it was sent. */
struct stamp vat_send_frame(struct vat *vat, char command, struct iovec payload);

/* Sends `?["deliver",VD]`. When it was sent. */
struct stamp vat_send_delivery(struct vat *vat, struct iovec vd);

void vat_answer_console(struct vat *vat);

/* Its worker is done: stops its clock and shows what it has printed. */
void vat_show_last_words(struct vat *vat);

/* The same, and closes its worker's pipe, on which that ends, or is killed after a while. */
void vat_leave(struct vat *vat);

/* Its worker's process is gone, or never was: gives back what it had. */
void vat_release(struct vat *vat);

/*
 * Shows what the worker printed last. While a worker starts, that explains its failure, if it
 * comes to one, and is dropped; so is what it prints in a replay, which was shown before.
 */
void vat_show_stderr(struct vat *vat);

/* ---- vat_start.c: from no worker to one with the contract ---- */

enum vat_event vat_prepare(struct vat *vat, const struct vat_input *input);
/* After MAKING: what the making of its warm snapshot came to, and why. PREPARED or UNSTARTED. */
enum vat_event vat_prepared(struct vat *vat, enum warm_start_result result,
                            const struct error *made);
/* `listener`: of the worker's process. */
enum vat_event vat_start(struct vat *vat, const struct worker_listener *listener);
enum vat_event vat_started(struct vat *vat, const struct vat_input *input);
enum vat_event vat_load(struct vat *vat, const struct vat_input *input);
enum vat_event vat_answer_loading(struct vat *vat, const struct vat_input *input);

/* ---- vat_replay.c: to where the vat stands ---- */

enum vat_event vat_catch_up(struct vat *vat, const struct vat_input *input);
enum vat_event vat_answer_recorded(struct vat *vat, const struct vat_input *input);
enum vat_event vat_compare(struct vat *vat, const struct vat_input *input);
enum vat_event vat_ready(struct vat *vat, const struct vat_input *input);

/* ---- vat_snapshot.c ---- */

enum vat_event vat_snapshot(struct vat *vat, const struct vat_input *input);

/* Before the worker's DONE is taken for true: puts the snapshot into the store. The event that
 * it is: DONE, or BAD with its reason. */
enum vat_event vat_keep_snapshot(struct vat *vat, struct iovec payload);
enum vat_event vat_restart(struct vat *vat, const struct vat_input *input);

#endif
