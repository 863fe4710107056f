/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_COMMON_OPTIONS_H
#define GASPIPE_SUPERVISOR_COMMON_OPTIONS_H

#include "base/option/option.h"
#include "gas/gas_model.h"
#include "supervisor/process/confinement.h"
#include "supervisor/process/launcher.h"
#include "supervisor/process/placement.h"
#include "supervisor/trace/trace_session.h"

/* The operands of a command that takes a store: DIR, or none after --store DIR. */
int common_options_take_store(const char **store, char **operands, struct error *error);

/* Rows (base/option/option.h), without their braces, of options that several commands have. */

#define COMMON_OPTION_COUNTER(type, member, default_text)                                          \
    "counter", "COUNTERS",                                                                         \
        "count machine instructions (qemu), block cost (compiled, by a worker of make metered), "  \
        "both (qemu,compiled) or neither (none) (default: " default_text ")",                      \
        OPTION_IS_OTHER(type, member, common_options_take_counter),                                \
        .words = common_options_counters

#define COMMON_OPTION_COMPUTE_LIMIT(type, member)                                                  \
    "compute-limit", "N",                                                                          \
        "limit each delivery to N computrons, 0: no limit (default: 100000000; WebAssembly: 0)",   \
        OPTION_IS_NUMBER(type, member, 0, INT32_MAX)

#define COMMON_OPTION_MAX_INSTRUCTIONS(type, member, default_text)                                 \
    "max-instructions", "N",                                                                       \
        "limit each delivery to N machine instructions, 0: no limit; requires --counter qemu "     \
        "(default: " default_text ")",                                                             \
        OPTION_IS_NUMBER(type, member, 0, INT64_MAX)

#define COMMON_OPTION_MAX_COST(type, member, default_text)                                         \
    "max-cost", "N",                                                                               \
        "limit each delivery to N units of block cost, 0: no limit; requires --counter compiled "  \
        "(default: " default_text ")",                                                             \
        OPTION_IS_NUMBER(type, member, 0, INT64_MAX)

/*
 * The block cost of a delivery where the worker has the meter and no other limit is given: several
 * times what 100,000,000 computrons mostly come to, 20 s of the slowest built-in functions
 * (docs/security.md).
 */
#define COMMON_OPTIONS_METERED_COST      INT64_C(20000000000)
#define COMMON_OPTIONS_METERED_COST_TEXT "20000000000"

#define COMMON_OPTION_WORKER(type, member)                                                         \
    "worker", "PATH", "run this worker, such as xsnap-worker, without the counter",                \
        OPTION_IS_TEXT(type, member)

#define COMMON_OPTION_GAS(type, member, given_member)                                              \
    "gas", "MODEL",                                                                                \
        "price each delivery by this gas model, a JSON file with the weights computron, "          \
        "instruction, syscall, byteRead, byteWritten and blockCost",                               \
        OPTION_IS_OTHER(type, member, common_options_take_gas),                                    \
        .given = offsetof(type, given_member)

#define COMMON_OPTION_SANDBOX(type, member)                                                        \
    "sandbox", NULL,                                                                               \
        "confine workers: basic (what Linux offers), strict (fail unless it offers all but "       \
        "control groups), off (default: basic)",                                                   \
        OPTION_IS_CHOICE(type, member, common_options_sandbox_levels)

#define COMMON_OPTION_PLACEMENT(type, member, help_text)                                           \
    "placement", "auto|none|same|spread", help_text, OPTION_IS_CHOICE(type, member, placement_names)

#define COMMON_OPTION_PLACEMENT_HELP                                                               \
    "choose the CPUs of workers: auto (share gaspipe's; with several --jobs one each), none "      \
    "(Linux decides), same (gaspipe's) or spread (another) (default: auto)"

#define COMMON_OPTION_PROFILE(type, member)                                                        \
    "profile", "FILE", "write each delivery's cost by function and line, as JSON lines",           \
        OPTION_IS_TEXT(type, member)

#define COMMON_OPTION_PROFILE_FOLDED(type, member)                                                 \
    "profile-folded", "FILE",                                                                      \
        "write each delivery's computrons as folded stacks, for flame graphs",                     \
        OPTION_IS_TEXT(type, member)

#define COMMON_OPTION_NATIVE_PROFILE(type, member)                                                 \
    "native-profile", "FILE",                                                                      \
        "write each delivery's instructions or block cost by native function, as JSON lines; "     \
        "requires --counter qemu or compiled",                                                     \
        OPTION_IS_TEXT(type, member)

#define COMMON_OPTION_NATIVE_FOLDED(type, member)                                                  \
    "native-folded", "FILE", "write the same as folded stacks, for flame graphs",                  \
        OPTION_IS_TEXT(type, member)

#define COMMON_OPTION_TRACE_FUNCTIONS(type, member)                                                \
    "trace-functions", "FILE",                                                                     \
        "write which functions workers execute and when, for gaspipe trace; requires --counter "   \
        "none or compiled",                                                                        \
        OPTION_IS_TEXT(type, member)

/* The first of enum trace_clock_kind: the others say nothing of deliveries. */
extern const char *const common_options_trace_clocks[];

#define COMMON_OPTION_TRACE_CLOCK(type, member)                                                    \
    "trace-clock", NULL,                                                                           \
        "measure time (tsc) or computrons; requires --trace-functions (default: tsc)",             \
        OPTION_IS_CHOICE(type, member, common_options_trace_clocks)

#define COMMON_OPTION_OVERHEAD(type, member)                                                       \
    "overhead", "PERCENT",                                                                         \
        "exclude the functions that are called most while tracing takes more than PERCENT of the " \
        "program's own time, 1 to 1000 (default: exclude none)",                                   \
        OPTION_IS_OTHER(type, member, common_options_take_overhead)

#define COMMON_OPTION_JSON(type, member)                                                           \
    "json", .help = "print JSON lines", OPTION_IS_FLAG(type, member)

#define COMMON_OPTION_CREDS(type, member)                                                          \
    "creds", "FILE", "authenticate to NATS with these credentials: JWT and seed",                  \
        OPTION_IS_TEXT(type, member)

#define COMMON_OPTION_TLS_CA(type, member)                                                         \
    "tls-ca", "FILE", "connect with TLS; check the server's certificate with those in FILE",       \
        OPTION_IS_TEXT(type, member)

#define COMMON_OPTION_TLS_CERT(type, member)                                                       \
    "tls-cert", "FILE", "present this certificate; requires --tls-key", OPTION_IS_TEXT(type, member)

#define COMMON_OPTION_TLS_KEY(type, member)                                                        \
    "tls-key", "FILE", "use the key of that certificate; requires --tls-cert",                     \
        OPTION_IS_TEXT(type, member)

/* Long for any honest delivery, short for a night's run that hangs. Where neither instructions nor
 * units are counted, only this ends built-in functions that are slow: a tenth of it. */
enum {
    COMMON_OPTIONS_TIMEOUT_MS = 600000,
    COMMON_OPTIONS_UNCOUNTED_TIMEOUT_MS = 60000,
    COMMON_OPTIONS_TIMEOUT_SECONDS_MAX = 1000000
};

#define COMMON_OPTION_DELIVERY_TIMEOUT(type, member, help_text)                                    \
    "delivery-timeout", "SECS", help_text,                                                         \
        OPTION_IS_SECONDS(type, member, COMMON_OPTIONS_TIMEOUT_SECONDS_MAX)

extern const char *const common_options_sandbox_levels[];
extern const char *const common_options_counters[];

/* `place` is a struct counters. */
int common_options_take_counter(void *place, const char *option, char *value, struct error *error);

/* `place` is a struct gas_model. */
int common_options_take_gas(void *place, const char *option, char *value, struct error *error);

/* The units that a delivery may cost: the default where --max-cost is not given. */
uint64_t common_options_cost(bool given, uint64_t limit, struct counters counters);

/* As that option has it. */
const char *common_options_counter_name(struct counters counters);

/* `place` is a uint64_t: "5%" or "5". */
int common_options_take_overhead(void *place, const char *option, char *value, struct error *error);

/* `place` is a double: "0.5%" or "1". */
int common_options_take_percent(void *place, const char *option, char *value, struct error *error);

/* -1 with ERROR_USAGE: only gaspipe-worker runs with the counter. */
int common_options_check_worker(const char *worker, struct counters counters, struct error *error);

/* -1 with ERROR_USAGE: profiles need our worker. */
int common_options_check_profile(const char *worker, bool profiled, struct error *error);

/* Has the meter say which function its units are of, where it counts alone. -1 with ERROR_USAGE:
 * nothing counts. NULL: not asked for. */
int common_options_take_native(const char *profile, const char *folded, struct counters *counters,
                               struct error *error);

/* -1 with ERROR_USAGE: what counts instructions would count the trace, too; a worker is traced or
 * profiled; and without a trace it has no options. */
int common_options_check_trace(const struct trace_session_options *trace, struct counters counters,
                               struct error *error);

/* -1 with ERROR_USAGE: only what is counted can be limited; 0: no limit. */
int common_options_check_limits(uint64_t instructions, uint64_t cost, struct counters counters,
                                struct error *error);

#endif
