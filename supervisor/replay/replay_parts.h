/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_PARTS_H
#define GASPIPE_SUPERVISOR_REPLAY_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "supervisor/replay/replay_vat.h"

/*
 * A replay in several processes, of which each reads the whole file and has some of its vats:
 * those whose index, in the order in which they come, leaves the part's number when it is
 * divided by that of all.
 */

/* What one part found; in the process of its own. */
struct replay_part {
    struct replay_vat **vats; /* all that it came by, with those of other parts; owned array */
    size_t vat_count;
    uint64_t line; /* of the file, where it failed */
};

struct replay_parts {
    void *context;
    size_t count;
    /* In a process of the part's own: what it found is the context's until close(). */
    int (*replay)(void *context, size_t number, struct replay_part *part, struct error *error);
    void (*close)(void *context);
};

/*
 * Gathers the vats of all parts in their order, to be given back with replay_part_free(). -1
 * with the error of the part that failed first in the file, or of the system.
 */
int replay_in_parts(const struct replay_parts *parts, struct replay_part *all, struct error *error);

/* Gives the vats back. One that is all zeros may be freed. */
void replay_part_free(struct replay_part *part);

#endif
