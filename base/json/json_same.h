/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_JSON_JSON_SAME_H
#define GASPIPE_BASE_JSON_JSON_SAME_H

#include <stdbool.h>

#include "base/json/scan.h"

/*
 * Whether two JSON texts say the same: whatever the order of an object's
 * members, the blanks, and the way that characters and numbers are written.
 * Takes what JSON.stringify writes and strict parsers refuse (\u0000, lone
 * surrogates), and tells one lone surrogate from another. As with scan.h,
 * SCAN_PADDING bytes behind both texts must be readable. Text that is no JSON
 * is the same as nothing but the same bytes.
 */
bool json_same(struct scan_span left, struct scan_span right);

#endif
