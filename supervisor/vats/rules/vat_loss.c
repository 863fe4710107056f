/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/vats/rules/vat_loss.h"

static enum vat_loss of_host(enum vat_cause cause)
{
    switch (cause) {
    case VAT_CAUSE_TIME:
    case VAT_CAUSE_MEMORY:
        return VAT_LOSS_SUSPECT;
    case VAT_CAUSE_CRASH:
        return VAT_LOSS_ONCE;
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
    if (!has_past)
        return state == VAT_LOADING ? of_host(reason->cause) : VAT_LOSS_HOST;
    if (reason->cause == VAT_CAUSE_TIME)
        return VAT_LOSS_ONCE;
    return reason->cause == VAT_CAUSE_OTHER ? VAT_LOSS_SUSPECT : of_host(reason->cause);
}

/* No code of the vat runs, but the snapshot is of its heap. An engine's limit is the same again,
 * and a time limit takes minutes. */
static enum vat_loss while_saving(const struct vat_reason *reason)
{
    if (reason->blame == ERROR_DELIVERY || reason->cause == VAT_CAUSE_CRASH ||
        reason->cause == VAT_CAUSE_TIME)
        return VAT_LOSS_ONCE;
    return VAT_LOSS_SUSPECT;
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
