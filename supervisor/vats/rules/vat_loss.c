/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/vats/rules/vat_loss.h"

/* A vat that has a past has started before: that it cannot start now is not its doing. */
static enum vat_loss while_starting(enum error_kind blame, bool has_past)
{
    if (blame == ERROR_SYSTEM)
        return VAT_LOSS_RETRY;
    return has_past || blame == ERROR_INPUT ? VAT_LOSS_HOPELESS : VAT_LOSS_ENDS_VAT;
}

enum vat_loss vat_loss(enum vat_state state, enum error_kind blame, bool has_past)
{
    switch (state) {
    case VAT_PREPARING:
    case VAT_STARTING:
    case VAT_LOADING:
    case VAT_REPLAYING:
        return while_starting(blame, has_past);
    case VAT_DELIVERING:
    case VAT_STOPPING:
        return blame == ERROR_DELIVERY ? VAT_LOSS_ENDS_VAT : VAT_LOSS_RETRY;
    case VAT_SAVING:
        return VAT_LOSS_RETRY; /* no code of the vat runs */
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
