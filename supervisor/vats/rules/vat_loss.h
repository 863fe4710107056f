/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_VATS_RULES_VAT_LOSS_H
#define GASPIPE_SUPERVISOR_VATS_RULES_VAT_LOSS_H

#include <stdbool.h>

#include "supervisor/vats/rules/vat_reason.h"
#include "supervisor/vats/rules/vat_state.h"

/* What it means that a vat's worker ended before its time: the one place where that is decided. */
enum vat_loss {
    VAT_LOSS_NONE,     /* nothing: it was to end */
    VAT_LOSS_IDLE,     /* nothing was under way: it comes back when it is wanted */
    VAT_LOSS_ENDS_VAT, /* its vat's own doing, which would come out the same again */
    VAT_LOSS_HOST,     /* the host's doing: it is tried again */
    VAT_LOSS_SUSPECT,  /* the same, but where it does not end, the vat is to blame */
    VAT_LOSS_ONCE,     /* the second time in a row it is the vat's */
    VAT_LOSS_HOPELESS, /* trying again is in vain: the vat cannot be what it was before */
    VAT_LOSSES,
};

/*
 * The state it was in, why it ended (blame is ERROR_DELIVERY: the vat's; ERROR_SYSTEM: the host's;
 * ERROR_INPUT: what the vat is restored from is damaged, or a replay differs), and whether its vat
 * has a past to be restored from. Pure.
 */
enum vat_loss vat_loss(enum vat_state state, const struct vat_reason *reason, bool has_past);

#endif
