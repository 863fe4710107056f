/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_LEASE_RENEWAL_H
#define GASPIPE_SUPERVISOR_FLEET_LEASE_RENEWAL_H

#include <pthread.h>

#include "supervisor/fleet/transport.h"

/*
 * Extends a lease four times in its duration, on a thread of its own, while a job's objects are
 * moved and hashed, which may take longer than the lease. Only this thread may use the lease
 * meanwhile. A lost lease, or an error, shows when the worker itself extends the lease next.
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
