/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_LEASE_RENEWAL_H
#define GASPIPE_SUPERVISOR_FLEET_LEASE_RENEWAL_H

#include <pthread.h>

#include "supervisor/fleet/transport.h"

/*
 * Extends a lease four times in its length, on a thread of its own, while what a job consists of or
 * has made is moved and hashed, which may take longer than the lease. Nobody else may touch the
 * lease meanwhile. That the job is another worker's by now, or that it cannot be extended, shows
 * when somebody extends it who can do something about it.
 */
struct lease_renewal {
    struct fleet_transport *transport; /* used by both threads, and changed by neither */
    struct fleet_lease *lease;         /* the thread's, until lease_renewal_end() */
    pthread_t thread;
    pthread_mutex_t mutex; /* guards `ends` */
    pthread_cond_t wake;   /* `ends` was set */
    bool ends;
};

/* -1 with ERROR_SYSTEM; if not, lease_renewal_end() has to be called, and the struct stays where it
 * is.
 */
int lease_renewal_begin(struct lease_renewal *renewal, struct fleet_transport *transport,
                        struct fleet_lease *lease, struct error *error);
void lease_renewal_end(struct lease_renewal *renewal);

#endif
