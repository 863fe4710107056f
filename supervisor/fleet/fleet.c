/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/fleet.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "supervisor/common_options.h"
#include "supervisor/fleet/transport.h"
#include "supervisor/run/run_options.h"

static const char usage[] = "usage: gaspipe fleet COMMAND [options]\n"
                            "\n"
                            "  submit   cut a source into spans and create a job for each\n"
                            "  work     take jobs, run them, store their results\n"
                            "  status   print the progress of runs\n"
                            "  collect  print the results of a run\n"
                            "  cancel   cancel the unfinished jobs of a run\n"
                            "\n"
                            "gaspipe fleet COMMAND --help lists its options; gaspipe help fleet\n"
                            "opens the manual page.\n";

/* In the order of fleet_options_tables. */
static const struct {
    const char *name;
    int (*run)(const struct fleet_options *options, struct fleet_transport *transport,
               struct error *error);
} commands[] = {{"submit", fleet_submit},
                {"work", fleet_work},
                {"status", fleet_status},
                {"collect", fleet_collect},
                {"cancel", fleet_cancel}};

static struct fleet_transport *open_transport(const struct fleet_options *options, bool make,
                                              struct error *error)
{
    if (options->nats.url != NULL)
        return nats_transport_open(&options->nats, make ? (int)options->replicas : 0,
                                   options->lease_ms, error);
    return directory_transport_open(options->directory, make, options->lease_ms, error);
}

static int run_fleet(size_t command, const struct fleet_options *options, struct error *error)
{
    struct fleet_transport *transport =
        open_transport(options, fleet_options_tables[command].command_bit == FLEET_SUBMIT, error);
    int status;

    if (transport == NULL)
        return -1;
    status = commands[command].run(options, transport, error);
    transport->operations->close(transport);
    return status;
}

static int parse_and_run(size_t command, int argc, char **argv)
{
    const struct option_table *table = &fleet_options_tables[command];
    struct fleet_options options;
    struct error error;
    enum option_result parsed = fleet_options_parse(&options, table, argc, argv, &error);
    int status;

    if (parsed != OPTION_TAKEN) {
        status = option_end(table, parsed, &error);
    } else {
        if (options.is_slot)
            fleet_work_join();
        if (options.slots > 1 && !options.is_slot)
            status = fleet_work_slots(&options, argc, argv, &error);
        else
            status = run_fleet(command, &options, &error);
        if (status < 0) {
            log_line("%s", error.text);
            status = (int)error.kind;
        }
    }
    fleet_options_free(&options);
    return status;
}

int fleet_command(int argc, char **argv)
{
    struct similar similar = {.word = argc < 2 ? "" : argv[1]};

    struct error error;

    if (argc < 2) {
        fputs(usage, stderr);
        return ERROR_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        if (option_print(usage, &error) == 0)
            return 0;
        log_line("%s", error.text);
        return ERROR_SYSTEM;
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(argv[1], commands[i].name) == 0)
            return parse_and_run(i, argc - 1, argv + 1);
        similar_try(&similar, commands[i].name);
    }
    log_line("unknown command 'fleet %s'%s (see gaspipe fleet --help)", argv[1],
             similar_hint(&similar, ""));
    return ERROR_USAGE;
}
