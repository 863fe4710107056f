/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NEAR_HOLDINGS_H
#define GASPIPE_WORKER_NEAR_HOLDINGS_H

#include <jansson.h>
#include <stdint.h>

#include "worker/near/vat.h"

/* A vat keeps this of its account between deliveries, in the vatstore under "near.account". */

struct near_holdings {
    uint64_t usage; /* the bytes that its records take */
    unsigned __int128 balance;
    json_t *yields; /* owned: promises that wait to be resumed (message.h) */
    uint64_t yielded;
};

/* Reads them. An account that has none yet has its code, and 10^27 yoctoNEAR. Free them and copies
 * with near_holdings_free(). */
struct near_holdings near_holdings_read(struct near_vat *vat, uint64_t code_size);
struct near_holdings near_holdings_copy(const struct near_holdings *holdings);
void near_holdings_free(struct near_holdings *holdings);

/* Writes `after`, if anything changed. */
void near_holdings_write(struct near_vat *vat, const struct near_holdings *before,
                         const struct near_holdings *after);

#endif
