/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_WARM_START_H
#define GASPIPE_SUPERVISOR_WARM_START_H

#include <stdint.h>

#include "base/error.h"
#include "store/store.h"
#include "supervisor/process/launcher.h"
#include "supervisor/runtime/vat_runtime.h"

/*
 * Snapshots of workers that have evaluated a runtime and nothing else, from which
 * vats start: loading one takes a tenth of the time of evaluating.
 *
 * A worker writes the same bytes with and without the counter, so one that runs
 * natively is asked for them, in either case.
 */
struct warm_starts {
    int fds[VAT_RUNTIME_KINDS]; /* one more than the descriptor; 0: not asked for yet */
};

/* Both with ERROR_SYSTEM. */
enum {
    WARM_START_FAILED = -1,
    WARM_START_LOST = -2, /* the worker met trouble: it may go better another time */
};

/*
 * A descriptor with this runtime's snapshot, read from its beginning by whom it is
 * given to; the caller's to close. It comes from the store (NULL: there is none), where
 * it is under the hash of runtime and worker, or is made and put there. Negative as above.
 * Its worker may take as long as launcher_start_limit() lets another take, and five
 * minutes at most: nothing else is heard meanwhile.
 */
int warm_start_open(struct warm_starts *starts, const struct launcher *launcher,
                    uint64_t timeout_ms, struct store *store, const struct vat_runtime *runtime,
                    struct error *error);

/* All zeros may be freed. */
void warm_starts_free(struct warm_starts *starts);

#endif
