/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_OTLP_OTLP_H
#define GASPIPE_TOOLS_OTLP_OTLP_H

#include <stdbool.h>

#include "base/error.h"
#include "slog/model/model.h"

/*
 * Deliveries as OpenTelemetry spans, in OTLP/JSON, to a collector or a file.
 *
 * Each block of a chain is a trace; without blocks each crank is, and each replay outside of
 * cranks. A trace contains cranks, these contain deliveries, these contain the hops of delivery
 * and result and the requests (syscalls and console calls), and these contain their hops and the
 * kernel's time. The rest of a delivery is the worker's time. Ids depend only on the slogfile, so
 * a repeated export sends the same spans.
 *
 * The span of a delivery caused by a send has a link to the send's span, which may be in another
 * trace.
 */
struct otlp;

/* As otlp_batch_open(). */
struct otlp *otlp_open(const char *where, bool growing, struct error *error);

/*
 * Takes the next delivery (with labels); its span is exported if `chosen`. Without a deliver line
 * it has no time and no span; if the clock was set in it, its span has no detail. -1 when out of
 * memory or if the file cannot be written.
 */
int otlp_add(struct otlp *otlp, const struct model_delivery *delivery, bool chosen,
             struct error *error);

/*
 * Takes a phase: a span within that of the block or crank, or else the root of a trace. Cranks,
 * replays and deliveries have spans of their own.
 */
void otlp_add_phase(struct otlp *otlp, const struct phase_span *phase);

/* Pass all frames and notes of the model. */
void otlp_frame(struct otlp *otlp, const struct model_frame *frame);
void otlp_note(struct otlp *otlp, const struct model_note *note);

/* Sends what there is; call before waiting for a file to grow. -1 as otlp_add(). */
int otlp_flush(struct otlp *otlp, struct error *error);

/* Sends the rest and frees. -1 as otlp_batch_close(). NULL is allowed. */
int otlp_close(struct otlp *otlp, struct error *error);

#endif
