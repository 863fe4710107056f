/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_OTLP_OTLP_H
#define GASPIPE_TOOLS_OTLP_OTLP_H

#include <stdbool.h>

#include "base/error.h"
#include "slog/model/model.h"

/*
 * Deliveries as OpenTelemetry spans, in OTLP/JSON, to a collector or a file.
 *
 * Each block of a chain is a trace; without blocks each crank is, and a replay
 * outside of cranks. Within are the cranks, in these the deliveries, in these
 * the hops of delivery and result and the requests (syscalls and consoles), and
 * in these their hops and the kernel's time. What is left open in a delivery is
 * the worker's time. Ids depend on what the slogfile says and on nothing else,
 * so what is sent again is the same again.
 *
 * The span of a delivery that a send caused has a link to the span of the send,
 * which can be in another trace.
 */
struct otlp;

/* As otlp_batch_open(). */
struct otlp *otlp_open(const char *where, bool growing, struct error *error);

/*
 * Takes a delivery (with labels) in its turn; its span is given when it is
 * `chosen`. One without its deliver line has no time and so no span; one that
 * the clock was set in has a span without detail. -1 when memory ran out or the
 * file cannot be written.
 */
int otlp_add(struct otlp *otlp, const struct model_delivery *delivery, bool chosen,
             struct error *error);

/*
 * Takes a phase that has ended: a span within the block's or the crank's, or outside of both the
 * root of its own trace. Cranks, replays and deliveries have spans of their own.
 */
void otlp_add_phase(struct otlp *otlp, const struct phase_span *phase);

/* What the model says besides; all of it is to be passed on. */
void otlp_frame(struct otlp *otlp, const struct model_frame *frame);
void otlp_note(struct otlp *otlp, const struct model_note *note);

/* Gives on what there is, before waiting for a file to grow; -1 as otlp_add(). */
int otlp_flush(struct otlp *otlp, struct error *error);

/* Gives all that is left and frees; -1 as otlp_batch_close(). NULL is allowed. */
int otlp_close(struct otlp *otlp, struct error *error);

#endif
