/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_OPTIONS_H
#define GASPIPE_COUNTER_QEMU_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "counter/gasmark.h"

/* What stands behind the plugin's name: `-plugin libgascount.so,NAME=VALUE,...`. */
struct options {
    enum gasmark_precision precision; /* precision=block|instruction */
    bool precision_is_forced;         /* not with precision=auto, the default */
    bool repeat_once;                 /* rep=once */
    bool repeat_each;                 /* rep=iterations, the default where QEMU can tell */
    bool pin_random;                  /* random=pinned: getrandom(2) gives the same bytes */
    bool kinds;                       /* kinds=on: instructions by kind, too */
    bool follow;                      /* follow=exec: programs that the guest becomes, too */
    uint64_t limit;                   /* limit=N instructions of the whole program; 0: none */
    const char *profile;              /* profile=PATH, likewise */
    uint64_t profile_fd;              /* profile-fd=N: of each region, to that descriptor; 0: no */
    const char *report;               /* report=PATH, borrowed from the arguments; or NULL */
};

/* False when one of them is not known: says so on stderr. */
bool options_parse(struct options *options, int count, char **arguments);

#endif
