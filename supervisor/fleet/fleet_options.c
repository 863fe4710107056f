/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "supervisor/common_options.h"
#include "supervisor/fleet/fleet.h"
#include "supervisor/fleet/transport.h"
#include "supervisor/run/run_options.h"

enum { SLOTS_MAX = 1024, REPLICAS_MAX = 5, LEASE_SECONDS_MAX = 86400, LEASE_MS = 30000 };

static const char *const kinds[] = {"replay", "estimate", "summary", "rows", NULL};

static const struct option_row rows[] = {
    {"Fleet", .kind = OPTION_HEADING},

    {"to", "DIR", "put the jobs into DIR, which is created if absent", .commands = FLEET_SUBMIT,
     OPTION_IS_TEXT(struct fleet_options, directory)},
    {"from", "DIR", "use the fleet in DIR",
     .commands = FLEET_WORK | FLEET_STATUS | FLEET_COLLECT | FLEET_CANCEL,
     OPTION_IS_TEXT(struct fleet_options, directory)},
    {"nats", "URL", "use NATS servers with JetStream in place of DIR; separate several with commas",
     OPTION_IS_TEXT(struct fleet_options, nats.url)},
    {COMMON_OPTION_CREDS(struct fleet_options, nats.credentials)},
    {COMMON_OPTION_TLS_CA(struct fleet_options, nats.ca)},
    {COMMON_OPTION_TLS_CERT(struct fleet_options, nats.certificate)},
    {COMMON_OPTION_TLS_KEY(struct fleet_options, nats.key)},
    {"replicas", "N", "keep each new NATS stream on N servers, 1 to 5 (default: 1)",
     .commands = FLEET_SUBMIT, OPTION_IS_NUMBER(struct fleet_options, replicas, 1, REPLICAS_MAX)},
    {"run", "NAME",
     "name or select the run; submit prints its name (default: derived from its jobs; all runs)",
     .commands = FLEET_SUBMIT | FLEET_STATUS | FLEET_COLLECT | FLEET_CANCEL,
     OPTION_IS_TEXT(struct fleet_options, run)},
    {"Jobs", .kind = OPTION_HEADING, .commands = FLEET_SUBMIT},

    {"kind",
     .help = "create jobs from spans to replay, operations of a suite to estimate, or slogfiles "
             "to report on (default: replay)",
     .commands = FLEET_SUBMIT, OPTION_IS_CHOICE(struct fleet_options, kind, kinds)},
    {"only", "PATTERN", "select operations, as in gaspipe estimate; requires --kind estimate",
     .commands = FLEET_SUBMIT, OPTION_IS_TEXT(struct fleet_options, only)},
    {"near-protocol", "N",
     "charge as NEAR's protocol version N, 62 to 87, or up to 158 for what is not released; "
     "requires --kind estimate (default: 87)",
     .commands = FLEET_SUBMIT,
     OPTION_IS_NUMBER(struct fleet_options, near_protocol, RUN_NEAR_FIRST, RUN_NEAR_NIGHTLY)},
    {"Source", .kind = OPTION_HEADING, .commands = FLEET_SUBMIT},

    {"vat", "VAT", "replay only this vat, given by ID or name (may be repeated)",
     .commands = FLEET_SUBMIT, OPTION_IS_LIST(struct fleet_options, replay.vats)},
    {"span", "N", "replay only the spans that begin at position N", .commands = FLEET_SUBMIT,
     OPTION_IS_PLACE(struct fleet_options, replay.selection.span)},
    {"bundle", "[VAT=]FILE|DIR", "add bundles that the recording lacks (may be repeated)",
     .commands = FLEET_SUBMIT, OPTION_IS_LIST(struct fleet_options, replay.bundles)},
    {"snapshots", "DIR", "add snapshots that the recording lacks", .commands = FLEET_SUBMIT,
     OPTION_IS_TEXT(struct fleet_options, replay.snapshots)},
    {"store", "DIR", "replay the transcript of a vat in this store of gaspipe run",
     .commands = FLEET_SUBMIT, OPTION_IS_TEXT(struct fleet_options, replay.store)},
    {"from-start", .help = "replay all, not only from the last snapshot; requires --store",
     .commands = FLEET_SUBMIT, OPTION_IS_FLAG(struct fleet_options, replay.from_start)},
    {"Comparison and limits", .kind = OPTION_HEADING, .commands = FLEET_SUBMIT},

    {"tolerate", "WHAT", "count differences in WHAT and continue, as in gaspipe replay",
     .commands = FLEET_SUBMIT, .kind = OPTION_OTHER, .take = replay_options_take_tolerance},
    {"strict", "WHAT", "stop at a difference in WHAT, as in gaspipe replay",
     .commands = FLEET_SUBMIT, .kind = OPTION_OTHER, .take = replay_options_take_strict},
    {COMMON_OPTION_COUNTER(struct fleet_options, replay.counters, "none; qemu for estimates"),
     .given = offsetof(struct fleet_options, counter_given), .commands = FLEET_SUBMIT},
    {COMMON_OPTION_COMPUTE_LIMIT(struct fleet_options, replay.compute_limit),
     .given = offsetof(struct fleet_options, replay.compute_given), .commands = FLEET_SUBMIT},
    {COMMON_OPTION_MAX_INSTRUCTIONS(struct fleet_options, replay.instruction_limit, "0"),
     .commands = FLEET_SUBMIT},
    {COMMON_OPTION_MAX_COST(struct fleet_options, replay.cost_limit,
                            COMMON_OPTIONS_METERED_COST_TEXT),
     .given = offsetof(struct fleet_options, replay.cost_given), .commands = FLEET_SUBMIT},
    {COMMON_OPTION_DELIVERY_TIMEOUT(
         struct fleet_options, replay.timeout_ms,
         "report a delivery that takes longer than SECS seconds as different, 0: no limit "
         "(default: 600)"),
     .commands = FLEET_SUBMIT},
    {"Work", .kind = OPTION_HEADING, .commands = FLEET_SUBMIT | FLEET_WORK},

    {"slots", "N", "run N jobs at a time (default: 1)", .commands = FLEET_WORK,
     OPTION_IS_NUMBER(struct fleet_options, slots, 1, SLOTS_MAX)},
    {"job", "FILE", "run only this job, a file of DIR/jobs; requires --from",
     .commands = FLEET_WORK, OPTION_IS_TEXT(struct fleet_options, job)},
    {"stay", .help = "wait for more jobs when all are done", .commands = FLEET_WORK,
     OPTION_IS_FLAG(struct fleet_options, stay)},
    {"lease", "SECS",
     "give the job of a worker that is silent for SECS seconds to another (default: 30)",
     .commands = FLEET_WORK, OPTION_IS_SECONDS(struct fleet_options, lease_ms, LEASE_SECONDS_MAX)},
    {"worker", "PATH", "run this worker, such as xsnap-worker; submit and work must agree",
     .commands = FLEET_SUBMIT | FLEET_WORK, OPTION_IS_TEXT(struct fleet_options, replay.worker)},
    {"shared", "DIR", "leave sources in DIR and name them in jobs; work takes its own path of DIR",
     .commands = FLEET_SUBMIT | FLEET_WORK, OPTION_IS_TEXT(struct fleet_options, shared)},
    {COMMON_OPTION_SANDBOX(struct fleet_options, replay.sandbox), .commands = FLEET_WORK},
    {COMMON_OPTION_PLACEMENT(struct fleet_options, replay.placement, COMMON_OPTION_PLACEMENT_HELP),
     .commands = FLEET_WORK},
    /* Passed by work to its own processes; not for users. */
    {"slot", "N", .given = offsetof(struct fleet_options, is_slot), .commands = FLEET_WORK,
     OPTION_IS_NUMBER(struct fleet_options, slot, 0, SLOTS_MAX)},
    {"Results", .kind = OPTION_HEADING, .commands = FLEET_SUBMIT | FLEET_STATUS | FLEET_COLLECT},

    {"by", "GROUPS",
     "print these groups, as in slogreport summary; requires a run of --kind summary",
     .commands = FLEET_SUBMIT | FLEET_COLLECT, OPTION_IS_TEXT(struct fleet_options, by)},
    {COMMON_OPTION_GAS(struct fleet_options, replay.gas, replay.priced), .commands = FLEET_SUBMIT},
    {"deliveries", .help = "keep a line for each delivery", .commands = FLEET_SUBMIT,
     OPTION_IS_FLAG(struct fleet_options, replay.deliveries)},
    {"spans", .help = "print a line for each span, not for each vat", .commands = FLEET_COLLECT,
     OPTION_IS_FLAG(struct fleet_options, spans)},
    {"partial", .help = "collect finished spans before all are done", .commands = FLEET_COLLECT,
     OPTION_IS_FLAG(struct fleet_options, partial)},
    {"out", "DIR", "write the tables into DIR; requires a run of rows", .commands = FLEET_COLLECT,
     OPTION_IS_TEXT(struct fleet_options, out)},
    {COMMON_OPTION_JSON(struct fleet_options, replay.json),
     .commands = FLEET_SUBMIT | FLEET_STATUS | FLEET_COLLECT},
};

/* clang-tidy's advice of parentheses does not hold for strings that are put together. */
#define TABLE(name, bit, usage_text, ending_text)                                                  \
    {                                                                                              \
        .program = "gaspipe", .command = "fleet " name, /* NOLINT(bugprone-macro-parentheses) */   \
            .usage = (usage_text), .ending = (ending_text), .rows = rows,                          \
        .row_count = sizeof rows / sizeof *rows, .command_bit = (bit),                             \
        .command_title = "fleet " name, /* NOLINT(bugprone-macro-parentheses) */                   \
            .commands = fleet_options_tables,                                                      \
        .command_count = sizeof fleet_options_tables / sizeof *fleet_options_tables,               \
    }

const struct option_table fleet_options_tables[] = {
    TABLE("submit", FLEET_SUBMIT,
          "usage: gaspipe fleet submit [options] --to DIR|--nats URL SOURCE...\n"
          "       gaspipe fleet submit [options] --to DIR|--nats URL --store DIR VAT\n"
          "       gaspipe fleet submit --kind estimate [options] --to DIR|--nats URL SUITE\n"
          "       gaspipe fleet submit --kind summary|rows [options] --to DIR|--nats URL "
          "SLOGFILE...\n"
          "\n"
          "Cuts the transcripts of a source of gaspipe replay into spans that can be replayed "
          "independently, and writes a job and its data for each into a directory or NATS. Other "
          "kinds create a job for each operation of a suite of gaspipe estimate, or for each "
          "slogfile of slogreport. A job that was submitted before is not submitted again.\n",
          "Exit status: 0 submitted, 2 usage, 3 bad input, 4 system failure."),
    TABLE("work", FLEET_WORK,
          "usage: gaspipe fleet work [options] --from DIR|--nats URL\n"
          "\n"
          "Takes jobs of a fleet, runs them and stores the results until no job is left. Any "
          "number of workers share the jobs, on all machines that reach the directory or the "
          "servers. Workers may be started, stopped and killed at any time.\n",
          "Exit status: 0 no job is left, 2 usage, 3 a job is for another worker, or bad input, "
          "4 system failure."),
    TABLE("status", FLEET_STATUS,
          "usage: gaspipe fleet status [options] --from DIR|--nats URL\n"
          "\n"
          "Prints the progress of each run: spans and deliveries done, deliveries per second, and "
          "the time left at that rate; likewise operations and calls, slogfiles and bytes.\n",
          "Exit status: 0 printed, 2 usage, 3 bad input, 4 system failure."),
    TABLE("collect", FLEET_COLLECT,
          "usage: gaspipe fleet collect [options] --from DIR|--nats URL\n"
          "\n"
          "Prints the results of a run in the order of its source, as gaspipe replay does: the "
          "first difference of each vat, a line for each vat, a sum. Prints costs as gaspipe "
          "estimate does, the worst first, and summaries as slogreport merge does.\n",
          "Exit status: 0 all the same, 1 something differs, 2 usage, 3 bad input or spans that "
          "are not done, 4 system failure or a failed span."),
    TABLE(
        "cancel", FLEET_CANCEL,
        "usage: gaspipe fleet cancel [options] --from DIR|--nats URL\n"
        "\n"
        "Cancels those jobs of a run that are not done. Submitting the run again restores them.\n",
        "Exit status: 0 cancelled, 2 usage, 3 bad input, 4 system failure."),
};

const struct job_kind *fleet_options_kind(const struct fleet_options *options)
{
    return job_kind_find(kinds[options->kind]);
}

/* Refuses options that the other kinds would ignore silently. */
static bool has_replays_own(const struct replay_options *replay)
{
    return replay->vats.count > 0 || replay->bundles.count > 0 || replay->snapshots != NULL ||
           replay->store != NULL || replay->from_start || replay->worker != NULL ||
           replay->tolerated != 0 || replay->tolerates_gc || replay->compares_allocation ||
           replay->selection.span >= 0 || replay->compute_given || replay->cost_given ||
           replay->instruction_limit > 0 || replay->deliveries;
}

static int check_other_kind(struct fleet_options *options, char **operands, struct error *error)
{
    const struct job_kind *kind = fleet_options_kind(options);
    const bool estimates = kind == &job_kind_estimate;

    if (has_replays_own(&options->replay) || (!estimates && options->counter_given))
        return error_set(error, ERROR_USAGE, "--kind %s does not go with options of a replay",
                         kind->name);
    if (operands[0] == NULL || (estimates && operands[1] != NULL))
        return error_set(error, ERROR_USAGE, "--kind %s takes %s", kind->name,
                         estimates ? "one suite" : "slogfiles");
    options->replay.sources = operands;
    while (operands[options->replay.source_count] != NULL)
        options->replay.source_count++;
    if (estimates && !options->counter_given)
        options->replay.counters = (struct counters){.qemu = true};
    return 0;
}

static int check_submit(struct fleet_options *options, char **operands, struct error *error)
{
    const struct job_kind *kind = fleet_options_kind(options);

    if (kind != &job_kind_estimate && (options->only != NULL || options->near_protocol > 0))
        return error_set(error, ERROR_USAGE, "--only and --near-protocol go with --kind estimate");
    if (kind != &job_kind_summary && options->by != NULL)
        return error_set(error, ERROR_USAGE, "--by goes with --kind summary");
    if (kind == &job_kind_estimate && options->shared != NULL)
        return error_set(error, ERROR_USAGE, "--shared does not go with --kind estimate");
    if (kind == &job_kind_replay)
        return replay_options_check(&options->replay, operands, error);
    return check_other_kind(options, operands, error);
}

static int check_fleet_options(struct fleet_options *options, unsigned command, char **operands,
                               struct error *error)
{
    if ((options->directory == NULL) == (options->nats.url == NULL))
        return error_set(error, ERROR_USAGE,
                         "give the fleet's directory with %s DIR, or --nats URL",
                         command == FLEET_SUBMIT ? "--to" : "--from");
    if (options->job != NULL && options->directory == NULL)
        return error_set(error, ERROR_USAGE, "--job goes with --from DIR");
    if ((options->nats.certificate == NULL) != (options->nats.key == NULL))
        return error_set(error, ERROR_USAGE, "--tls-cert and --tls-key go together");
    if (command == FLEET_SUBMIT)
        return check_submit(options, operands, error);
    if (operands[0] != NULL)
        return error_set(error, ERROR_USAGE, "'%s' is no option", operands[0]);
    return 0;
}

enum option_result fleet_options_parse(struct fleet_options *options,
                                       const struct option_table *table, int argc, char **argv,
                                       struct error *error)
{
    enum option_result result;
    char **operands;

    *options = (struct fleet_options){
        .replay = replay_options_defaults(), .slots = 1, .replicas = 1, .lease_ms = LEASE_MS};
    result = option_parse(table, argc, argv, options, &operands, error);
    if (result == OPTION_TAKEN &&
        check_fleet_options(options, table->command_bit, operands, error) != 0)
        return OPTION_FAILED;
    return result;
}

void fleet_options_free(struct fleet_options *options)
{
    replay_options_free(&options->replay);
}
