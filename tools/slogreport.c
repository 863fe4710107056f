/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <string.h>

#include "base/io.h"
#include "base/log.h"
#include "base/option/manual.h"
#include "tools/command/commands.h"
#include "tools/command/options.h"

/* Merges histograms, or with --out tables. */
static int run_merge(const struct options *options, struct error *error)
{
    return (options->out != NULL ? rows_merge_run : merge_run)(options, error);
}

static int (*const commands[COMMAND_COUNT])(const struct options *, struct error *) = {
    [COMMAND_REPORT] = report_run,
    [COMMAND_SUMMARY] = summary_run,
    [COMMAND_MERGE] = run_merge,
    [COMMAND_COMPARE] = compare_run,
    [COMMAND_STALLS] = stalls_run,
    [COMMAND_RUNS] = runs_run,
    [COMMAND_EXTRACT] = extract_run,
    [COMMAND_ROWS] = rows_run,
    [COMMAND_PROFILE] = profile_report_run,
    [COMMAND_WAITS] = waits_run,
};

/* `slogreport help [COMMAND]`. Without man(1) it prints --help. */
static int help(int argc, char **argv)
{
    const enum command command = argc == 3 ? options_command(argv[2]) : COMMAND_REPORT;
    struct similar similar = {.word = argc == 3 ? argv[2] : ""};
    struct error error;

    if (argc > 3 || command == COMMAND_COUNT) {
        log_line("unknown command '%s'%s (see slogreport --help)", argv[2],
                 options_command_hint(&similar));
        return ERROR_USAGE;
    }
    (void)manual_open("slogreport", options_tables[command].command, &error);
    log_line("%s", error.text);
    return option_help(&options_tables[command]) == 0 ? 0 : ERROR_SYSTEM;
}

int main(int argc, char **argv)
{
    struct options options;
    struct error error;
    enum option_result parsed;
    int status = 0;

    log_name("slogreport");
    if (io_open_standard() != 0)
        return ERROR_SYSTEM; /* with nowhere to say so */
    /* A file that has reached its limit fails with EFBIG, which is reported. */
    signal(SIGXFSZ, SIG_IGN);
    status = options_complete(argc, argv);
    if (status >= 0)
        return status;
    if (argc > 1 && strcmp(argv[1], "help") == 0)
        return help(argc, argv);
    status = 0;
    parsed = options_parse(argc, argv, &options, &error);
    if (parsed != OPTION_TAKEN) {
        status = option_end(&options_tables[options.command], parsed, &error);
    } else if (commands[options.command](&options, &error) != 0) {
        log_line("%s", error.text);
        status = (int)error.kind;
    }
    options_free(&options);
    return status;
}
