/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUN_RUN_OPTIONS_H
#define GASPIPE_SUPERVISOR_RUN_RUN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/option/option.h"
#include "gas/gas_model.h"
#include "slog/write/writer.h"
#include "supervisor/nats.h"
#include "supervisor/process/confinement.h"
#include "supervisor/process/launcher.h"
#include "supervisor/process/placement.h"
#include "supervisor/trace/trace_session.h"

/*
 * Machine instructions of a delivery where they are counted and no other limit is given: several
 * times what 100,000,000 computrons, the default limit, come to. It ends work that computrons
 * do not charge.
 */
#define RUN_COUNTED_INSTRUCTIONS INT64_C(50000000000)

/* NEAR's protocol versions that worker/near/call/parameters.txt has parameters of. */
enum { RUN_NEAR_FIRST = 62, RUN_NEAR_NEWEST = 87, RUN_NEAR_NIGHTLY = 158 };

/* The operator's decisions about vats. Each list has vats' names, or "v7". */
struct operations {
    struct option_list set_limits; /* VAT=NAME:N[,NAME:N...] */
    struct option_list skips, releases, terminations;
    bool from_start; /* of the releases */
};

bool operations_are_none(const struct operations *operations);

/* The command line of `gaspipe run`. Strings are borrowed from argv and `configured`. */
/* --wasm */
enum run_wasm { RUN_WASM_INTERPRETED, RUN_WASM_COMPILED };

struct run_options {
    struct option_list vats;        /* "NAME=FILE" */
    struct option_list new_vats;    /* the same, of vats that a store need not have yet */
    struct option_list upgrades;    /* the same: vats that continue with another contract */
    struct option_list bundles;     /* the same */
    struct option_list vat_options; /* "NAME=JSON", for vats that this run creates */
    const char *config;             /* file with options; NULL: none */
    const char *deliveries;         /* path, or "-"; NULL: none, only operations */
    const char *from;               /* stream that has the deliveries instead; NULL: none */
    const char *results_to;         /* subject that results are published to; NULL: they are not */
    struct nats_access nats;        /* without its URL, which `from` has */
    const char *store;              /* directory; NULL: in memory */
    const char *slog;               /* path; NULL: none */
    struct slog_rotation rotation;
    struct counters counters;
    bool counter_given; /* --counter */
    const char *worker; /* path of another worker; NULL: gaspipe-worker */
    enum placement_kind placement;
    bool placement_given;
    enum confinement_level sandbox;
    const char *profile, *profile_folded;       /* files; NULL: none */
    const char *native_profile, *native_folded; /* likewise */
    struct trace_session_options trace;
    bool json;
    bool release_results;       /* --release-results */
    bool priced;                /* deliveries have a price, by: */
    struct gas_model gas;       /* --gas */
    uint64_t compute_limit;     /* computrons for each delivery; 0: none */
    bool compute_given;         /* --compute-limit */
    uint64_t instruction_limit; /* for each delivery; counted runs only; 0: none */
    bool instructions_given;    /* --max-instructions */
    uint64_t syscall_limit;     /* in a delivery; 0: none */
    int64_t store_limit;        /* bytes in a vatstore; 0: no limit */
    int64_t message_limit;      /* bytes of what a vat sends or stores at a time; 0: none */
    int64_t transfer_limit;     /* bytes that a delivery reads and writes through syscalls */
    bool transfer_given;        /* --max-transfer-bytes */
    int64_t memory_limit;       /* bytes that a worker may write to; 0: none */
    int64_t heap_limit;         /* bytes of a vat's heap; 0: the engine's own limit */
    uint64_t retries;           /* of a crank, after a host failure */
    uint64_t cost_limit;        /* units of block cost for each delivery; 0: none */
    bool cost_given;            /* --max-cost */
    uint64_t timeout_ms;        /* 0: none */
    bool timeout_given;         /* --delivery-timeout */
    uint64_t snapshot_interval; /* deliveries; 0: no snapshots */
    uint64_t snapshot_initial;  /* deliveries to a vat before its first snapshot */
    uint64_t reap_interval;     /* deliveries; 0: garbage is collected only on request */
    uint64_t cranks_per_commit; /* that are committed together; at least 1 */
    uint64_t queue_lines;       /* that are queued together; at least 1 */
    uint64_t max_workers;       /* at a time; 0: one for each vat */
    uint64_t jobs;              /* deliveries in progress at a time; at least 1 */
    enum run_wasm wasm;         /* how contracts in WebAssembly run */
    uint64_t near_protocol;     /* whose parameters new contracts of NEAR have */
    bool again;                 /* the store forgets the input before */
    struct operations operations;
    bool resume;                   /* skip the lines that the store has, even all of them */
    struct option_list configured; /* the options of --config, owned, which others point into */
};

extern const struct option_table run_options_table;

/* argv[0] is "run". The caller calls run_options_free() in any case. */
enum option_result run_options_parse(struct run_options *options, int argc, char **argv,
                                     struct error *error);
void run_options_free(struct run_options *options);

#endif
