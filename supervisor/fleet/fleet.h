/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_FLEET_H
#define GASPIPE_SUPERVISOR_FLEET_FLEET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/option/option.h"
#include "supervisor/fleet/fleet_job.h"
#include "supervisor/fleet/transport.h"
#include "supervisor/nats.h"
#include "supervisor/replay/replay_options.h"

/* The commands of gaspipe fleet, as bits for option rows. */
enum {
    FLEET_SUBMIT = 1,
    FLEET_WORK = 2,
    FLEET_STATUS = 4,
    FLEET_COLLECT = 8,
    FLEET_CANCEL = 16,
};

/* Their command line. Strings are borrowed from argv. */
struct fleet_options {
    struct replay_options replay; /* of submit: the source and how to replay it. First: option
                                   * rows of replay's set it by its place */
    const char *directory;        /* of the fleet; NULL: it is over NATS, */
    struct nats_access nats;      /* like this */
    uint64_t replicas;            /* of submit: of each stream that it makes */
    int kind;                     /* of submit: index of fleet_options_kinds */
    const char *run;              /* its name; NULL: the only one, or one of submit's choice */
    const char *job;              /* of work: the file of the one job to do; NULL: all */
    uint64_t slots;               /* of work: jobs at the same time */
    uint64_t lease_ms;            /* how long a worker may be silent */
    bool is_slot;                 /* of work: one of several processes, */
    uint64_t slot;                /* from 0 */
    bool stay;                    /* of work: wait for more jobs */
    bool spans;                   /* of collect: a line for each span */
    bool partial;                 /* of collect: those that are done */
    bool counter_given;           /* of submit: --counter */
    const char *only;             /* of submit, kind estimate: pattern; NULL: all operations */
    uint64_t near_protocol;       /* likewise; 0: the newest */
    const char *by;               /* groups of a summary; NULL: the usual ones */
    const char *shared;           /* directory whose files jobs name; NULL: none */
    const char *out;              /* of collect, kind rows: the tables' directory */
};

extern const struct option_table fleet_options_tables[5];

/* The kind of the jobs that are submitted. */
const struct job_kind *fleet_options_kind(const struct fleet_options *options);

/* argv[0] is "submit" or another command. fleet_options_free() in any case. */
enum option_result fleet_options_parse(struct fleet_options *options,
                                       const struct option_table *table, int argc, char **argv,
                                       struct error *error);
void fleet_options_free(struct fleet_options *options);

/* `gaspipe fleet submit`. The exit status, or -1 with the error filled. */
int fleet_submit(const struct fleet_options *options, struct fleet_transport *transport,
                 struct error *error);

/* `gaspipe fleet work` with one slot: takes jobs and does them until none is left. The exit status,
 * or -1 with the error filled. */
int fleet_work(const struct fleet_options *options, struct fleet_transport *transport,
               struct error *error);

/* With several: as many processes of one slot, each with argv. Likewise. */
int fleet_work_slots(const struct fleet_options *options, int argc, char **argv,
                     struct error *error);

/* In such a process: ends when its parent does. */
void fleet_work_join(void);

/* `gaspipe fleet status` and `gaspipe fleet cancel`. The exit status, or -1 with the error
 * filled. */
int fleet_status(const struct fleet_options *options, struct fleet_transport *transport,
                 struct error *error);
int fleet_cancel(const struct fleet_options *options, struct fleet_transport *transport,
                 struct error *error);

/* `gaspipe fleet collect`. The exit status, or -1 with the error filled. */
int fleet_collect(const struct fleet_options *options, struct fleet_transport *transport,
                  struct error *error);

/* `gaspipe fleet submit|work|status|collect|cancel`; argv[0] is "fleet". Returns the exit
 * status. */
int fleet_command(int argc, char **argv);

#endif
