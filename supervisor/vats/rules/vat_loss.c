/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/vats/rules/vat_loss.h"

static enum vat_loss of_host(enum vat_cause cause)
{
    switch (cause) {
    case VAT_CAUSE_TIME:
    case VAT_CAUSE_MEMORY:
        return VAT_LOSS_SUSPECT;
    case VAT_CAUSE_CRASH:
        return VAT_LOSS_CRASH;
    case VAT_CAUSE_OTHER:
    case VAT_CAUSE_NO_PROCESS:
        break;
    }
    return VAT_LOSS_HOST;
}

/* No vat's code runs up to LOADING. What a vat with a past needs to start is its own. */
static enum vat_loss while_starting(enum vat_state state, const struct vat_reason *reason,
                                    bool has_past)
{
    if (reason->blame == ERROR_INPUT)
        return VAT_LOSS_HOPELESS;
    if (reason->blame == ERROR_DELIVERY)
        return has_past ? VAT_LOSS_HOPELESS : VAT_LOSS_ENDS_VAT;
    if (has_past && reason->cause == VAT_CAUSE_OTHER)
        return VAT_LOSS_SUSPECT;
    return has_past || state == VAT_LOADING ? of_host(reason->cause) : VAT_LOSS_HOST;
}

/* No code of the vat runs, but the snapshot is of its heap. An engine's limit is the same again. */
static enum vat_loss while_saving(const struct vat_reason *reason)
{
    return reason->blame == ERROR_DELIVERY || reason->cause == VAT_CAUSE_CRASH ? VAT_LOSS_CRASH
                                                                               : VAT_LOSS_SUSPECT;
}

enum vat_loss vat_loss(enum vat_state state, const struct vat_reason *reason, bool has_past)
{
    switch (state) {
    case VAT_PREPARING:
    case VAT_STARTING:
    case VAT_LOADING:
    case VAT_REPLAYING:
        return while_starting(state, reason, has_past);
    case VAT_DELIVERING:
    case VAT_STOPPING:
        return reason->blame == ERROR_DELIVERY ? VAT_LOSS_ENDS_VAT : of_host(reason->cause);
    case VAT_SAVING:
        return while_saving(reason);
    case VAT_IDLE:
        return VAT_LOSS_IDLE;
    case VAT_AWAY:
    case VAT_ENDING:
    case VAT_LEAVING:
    case VAT_STATES:
        break;
    }
    return VAT_LOSS_NONE;
}
