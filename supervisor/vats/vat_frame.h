/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_VATS_VAT_FRAME_H
#define GASPIPE_SUPERVISOR_VATS_VAT_FRAME_H

#include <sys/uio.h>

#include "base/buf.h"
#include "base/stamp.h"
#include "proto/meter.h"
#include "proto/vat_message.h"
#include "supervisor/vats/vat_state.h"

/* A frame from a vat's worker; the vat's state decides which members are read. */
struct vat_frame {
    enum vat_event event; /* VAT_EVENT_DONE, _FAILED, _REQUEST, _STOPPED or _BAD */
    struct iovec payload; /* after the first byte; borrowed */
    struct stamp come;
    /* DONE in DELIVERING and CATCHING_UP, and STOPPED in DELIVERING: */
    struct meter meter;
    /* DONE in DELIVERING and CATCHING_UP: */
    const char *problem; /* NULL: the delivery went well */
    const char *value;   /* what came with "ok", JSON; NULL: null */
    struct buf text;     /* of either */
    const char *stack;   /* that came with the problem; NULL: none did */
    struct buf stack_text;
    /* REQUEST in DELIVERING and LOADING: */
    struct vat_request request;
};

/*
 * Reads a frame that came in that state. A frame that cannot be read, or does not answer what was
 * sent, is VAT_EVENT_BAD with its reason, which is a host failure. A malformed request is the vat's
 * fault, and in DELIVERING VAT_EVENT_REFUSED.
 */
void vat_frame_read(struct vat_frame *frame, enum vat_state state, struct iovec bytes,
                    struct stamp come, struct vat_reason *reason);
void vat_frame_free(struct vat_frame *frame);

#endif
