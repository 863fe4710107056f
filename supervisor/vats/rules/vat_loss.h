/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_VATS_RULES_VAT_LOSS_H
#define GASPIPE_SUPERVISOR_VATS_RULES_VAT_LOSS_H

#include <stdbool.h>

#include "base/error.h"
#include "supervisor/vats/rules/vat_state.h"

/* What it means that a vat's worker ended before its time: the one place where that is decided. */
enum vat_loss {
    VAT_LOSS_NONE,     /* nothing: it was to end */
    VAT_LOSS_IDLE,     /* nothing was under way: it comes back when it is wanted */
    VAT_LOSS_ENDS_VAT, /* its vat's own doing, which would come out the same again */
    VAT_LOSS_RETRY,    /* the host's doing: what was under way is tried again */
    VAT_LOSS_HOPELESS, /* what the vat did before does not come out as it did */
    VAT_LOSSES,
};

/*
 * The state it was in, whose fault it is (ERROR_DELIVERY: the vat's; ERROR_SYSTEM: the
 * host's; ERROR_INPUT: it is not what its transcript tells), and whether its vat has a
 * past to be brought back from. Pure.
 */
enum vat_loss vat_loss(enum vat_state state, enum error_kind blame, bool has_past);

#endif
