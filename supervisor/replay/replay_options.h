/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_REPLAY_OPTIONS_H
#define GASPIPE_SUPERVISOR_REPLAY_REPLAY_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/option/option.h"
#include "gas/gas_model.h"
#include "supervisor/process/confinement.h"
#include "supervisor/process/launcher.h"
#include "supervisor/process/placement.h"
#include "supervisor/replay/source/source.h"
#include "supervisor/trace/trace_session.h"

/* The command line of `gaspipe replay`. Strings are borrowed from argv. */
struct replay_options {
    struct option_list vats;           /* IDs or names; none: all vats */
    struct source_selection selection; /* with those vats */
    struct option_list bundles;        /* "[VAT=]PATH" */
    char **sources;                    /* paths, or "-"; borrowed from argv; none with `store` */
    size_t source_count;
    struct archive_files archived; /* the files of a directory that is a source, */
    char **archived_paths;         /* and `sources` then; owned */
    const char *archive;           /* that directory; NULL: none */
    const char *store;             /* directory; NULL: none */
    const char *stored_vat;        /* ID or name of the vat in it */
    const char *export;  /* where its transcript is written to instead of replayed; NULL: not */
    bool from_start;     /* not from the last snapshot */
    bool list;           /* list the source's contents, and replay nothing */
    const char *worker;  /* path of another worker; NULL: gaspipe-worker */
    const char *against; /* path of a second worker to compare with; NULL: none */
    const char *lockdown,
        *supervisor;       /* paths of SwingSet's runtime; NULL: as recorded, or gaspipe's */
    const char *snapshots; /* directory of archived snapshots; NULL: none */
    struct counters counters;
    enum confinement_level sandbox;
    enum placement_kind placement;
    int slot; /* of a part: as of placement_open() */
    bool json;
    uint64_t compute_limit;     /* computrons for each delivery; 0: none */
    bool compute_given;         /* --compute-limit; else prepaid gas alone limits WebAssembly */
    uint64_t instruction_limit; /* machine instructions for each delivery; 0: none */
    uint64_t cost_limit;        /* units of block cost for each delivery; 0: none */
    bool cost_given;            /* --max-cost */
    uint64_t timeout_ms;        /* for a delivery; 0: none */
    uint64_t jobs;              /* vats or spans that are replayed at the same time; at least 1 */
    unsigned tolerated;         /* 1 << COMPARE_...: what may differ */
    bool compares_allocation;
    bool tolerates_gc; /* so may the reads of supervisor/transcript/delivery_compare.c */
    bool priced;       /* deliveries, by this: */
    struct gas_model gas;
    bool deliveries;                            /* with `json`: a line for each delivery */
    const char *profile, *profile_folded;       /* files; NULL: none */
    const char *native_profile, *native_folded; /* likewise */
    struct trace_session_options trace;
    char *only;                /* the one vat of a part that is a span; NULL: none */
    int64_t only_span;         /* with `only`: where that span begins */
    bool is_part;              /* of the work of another gaspipe replay; replay.c */
    uint64_t part, part_count; /* which, from 0, and of how many; 0 of 1: all */
};

extern const struct option_table replay_options_table;

/* ---- for commands that have options of replay's: what replay_options_parse() does ---- */

struct replay_options replay_options_defaults(void);

/* After the command line was read; `operands` ends with NULL. -1 with ERROR_USAGE, ERROR_INPUT or
 * ERROR_SYSTEM. */
int replay_options_check(struct replay_options *options, char **operands, struct error *error);

/* For option rows; `place` is the struct replay_options. */
int replay_options_take_tolerance(void *place, const char *option, char *value,
                                  struct error *error);
int replay_options_take_strict(void *place, const char *option, char *value, struct error *error);

/* argv[0] is "replay". The caller calls replay_options_free() in any case. */
enum option_result replay_options_parse(struct replay_options *options, int argc, char **argv,
                                        struct error *error);
void replay_options_free(struct replay_options *options);

/* Returns true if the command line names a swing-store. */
bool replay_source_is_swing_store(const struct replay_options *options);

/* The source that the command line names, whatever kind it is. NULL as for each kind. */
struct replay_source *replay_source_open(const struct replay_options *options, struct error *error);

/* `gaspipe replay --list`: prints the source's vats, their spans from one start of a worker to the
 * next, each span's bundle or snapshot, and which of these are missing. -1 with ERROR_INPUT or
 * ERROR_SYSTEM. */
int replay_list(const struct replay_options *options, struct error *error);

#endif
