/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/io.h"
#include "base/log.h"
#include "tools/command/compare.h"
#include "tools/command/options.h"
#include "tools/command/report.h"
#include "tools/command/stalls.h"
#include "tools/command/summary.h"

static int (*const commands[COMMAND_COUNT])(const struct options *, struct error *) = {
    [COMMAND_REPORT] = report_run,   [COMMAND_SUMMARY] = summary_run, [COMMAND_MERGE] = merge_run,
    [COMMAND_COMPARE] = compare_run, [COMMAND_STALLS] = stalls_run,
};

int main(int argc, char **argv)
{
    struct options options;
    struct error error;

    log_name("slogreport");
    if (io_open_standard() != 0)
        return ERROR_SYSTEM; /* with nowhere to say so */
    if (options_parse(argc, argv, &options, &error) != 0)
        goto failed;
    if (options.help || options.version) {
        if (fputs(options.help ? options_help : "slogreport " GASPIPE_VERSION "\n", stdout) ==
                EOF ||
            fflush(stdout) != 0)
            return ERROR_SYSTEM;
        return 0;
    }
    if (commands[options.command](&options, &error) != 0)
        goto failed;
    return 0;
failed:
    log_line("%s", error.text);
    return error.kind;
}
