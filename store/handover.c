/* SPDX-License-Identifier: Apache-2.0 */
#include "store/handover.h"

#include <stddef.h>

/* The one whose database is this thread's, NULL: none is. */
static _Thread_local const struct handover *taken;

void handover_init(struct handover *handover)
{
    *handover = (struct handover){.lent = false};
    (void)pthread_mutex_init(&handover->mutex, NULL);   /* cannot fail with these attributes, */
    (void)pthread_cond_init(&handover->returned, NULL); /* nor this */
}

void handover_destroy(struct handover *handover)
{
    (void)pthread_cond_destroy(&handover->returned); /* nobody waits */
    (void)pthread_mutex_destroy(&handover->mutex);
}

void handover_lend(struct handover *handover)
{
    handover->lent = handover->out = true;
}

void handover_take(const struct handover *handover)
{
    taken = handover;
}

void handover_return(struct handover *handover)
{
    taken = NULL;
    (void)pthread_mutex_lock(&handover->mutex); /* cannot fail: it is no recursive one */
    handover->out = false;
    (void)pthread_cond_signal(&handover->returned);
    (void)pthread_mutex_unlock(&handover->mutex);
}

bool handover_is_taken_here(const struct handover *handover)
{
    return taken == handover;
}

void handover_wait(struct handover *handover)
{
    if (handover_is_taken_here(handover) || !handover->lent)
        return;
    (void)pthread_mutex_lock(&handover->mutex); /* as above */
    while (handover->out)
        (void)pthread_cond_wait(&handover->returned, &handover->mutex);
    (void)pthread_mutex_unlock(&handover->mutex);
    handover->lent = false;
}
