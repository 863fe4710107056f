/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_SCHEDULE_SPECULATION_SPECULATION_TRUST_H
#define GASPIPE_SUPERVISOR_SCHEDULE_SPECULATION_SPECULATION_TRUST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Which vats are worth speculating on. After a misprediction the vat's worker must come back
 * by replay, so the vat is passed over for a while, and twice as long after each further
 * misprediction; right predictions make up for wrong ones. All zeros trusts every vat.
 */
struct speculation_trust {
    struct vat_trust *vats; /* by number, owned */
    size_t count, capacity;
};

void speculation_trust_free(struct speculation_trust *trust);

/* Whether to speculate on the vat this time. Counts how often it was passed over. */
bool speculation_trust_allows(struct speculation_trust *trust, int64_t vat);

/* A prediction was right, or wrong, which costs the replay of that many deliveries. */
void speculation_trust_right(struct speculation_trust *trust, int64_t vat);
void speculation_trust_wrong(struct speculation_trust *trust, int64_t vat, int64_t replayed);

#endif
