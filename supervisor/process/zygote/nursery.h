/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROCESS_ZYGOTE_NURSERY_H
#define GASPIPE_SUPERVISOR_PROCESS_ZYGOTE_NURSERY_H

#include <stdbool.h>

#include "supervisor/process/zygote/zygote.h"

/*
 * Decides how a worker starts that begins from a snapshot from which others may, too: afresh, or
 * forked by a zygote. A zygote costs the start of one worker, so the first one starts afresh, and
 * the second one has it started, unless it is known before that more are coming. All zeros is the
 * beginning; only nursery.c looks inside.
 */
struct nursery {
    struct zygote *zygote;
    char *words; /* that it was started with */
    unsigned asked;
    unsigned expected; /* that are still going to ask */
    bool given_up;
};

enum nursery_choice {
    NURSERY_AFRESH,
    NURSERY_BREED,  /* a zygote is to be started, and then asked */
    NURSERY_BESIDE, /* a zygote is to be started, and this one afresh beside it */
    NURSERY_FORK,   /* the zygote is to be asked */
};

/* So many more are going to ask for sure, for a zygote that warms up first. */
void nursery_expect(struct nursery *nursery, unsigned count);

/* For a worker that is started with these arguments, which end with NULL. */
enum nursery_choice nursery_choose(struct nursery *nursery, char *const *arguments);

/* Whether others are going to ask. */
bool nursery_expects_more(const struct nursery *nursery);

/* How long the one that has asked last rather waits for the zygote to be warm. */
unsigned nursery_patience_ms(const struct nursery *nursery);

/* After NURSERY_BREED or NURSERY_BESIDE: the zygote, which is owned from now on, or NULL where
 * there is none. */
void nursery_keep(struct nursery *nursery, struct zygote *zygote, char *const *arguments);

/* The zygote is of no more use: from now on all start afresh. */
void nursery_give_up(struct nursery *nursery);

/* It may be used again afterwards. */
void nursery_free(struct nursery *nursery);

#endif
