/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_JSON_JSON_SAME_H
#define GASPIPE_BASE_JSON_JSON_SAME_H

#include <stdbool.h>

#include "base/json/scan.h"

/* Returns true if two JSON texts have the same value, whatever the order of members, the blanks,
 * and how characters and numbers are written. It accepts what JSON.stringify writes and strict
 * parsers refuse (\u0000, lone surrogates). Different lone surrogates differ. SCAN_PADDING bytes
 * after both texts must be readable. Text that is not JSON equals only the same bytes. */
bool json_same(struct scan_span left, struct scan_span right);

#endif
