/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/log.h"
#include "tools/options.h"
#include "tools/report.h"

static const char help[] =
    "usage: slogreport [options] FILE|- ...\n"
    "\n"
    "Says for each delivery of a slogfile, SwingSet's or gaspipe's, where its time\n"
    "went: the pipe, the worker or the kernel. Files may be plain, gzip or\n"
    "Zstandard; several are read in their order as one story.\n"
    "\n"
    "  --json      one JSON object for each delivery, for programs\n"
    "  --strict    a line that is no slog line is an error, not left out\n"
    "  --help      this text\n"
    "  --version   the version\n"
    "\n"
    "Exit status: 0 all well, 2 usage, 3 bad input, 4 the system failed us.\n"
    "See slogreport(1).\n";

int main(int argc, char **argv)
{
    struct options options;
    struct error error;

    log_name("slogreport");
    if (options_parse(argc, argv, &options, &error) != 0)
        goto failed;
    if (options.help || options.version) {
        if (fputs(options.help ? help : "slogreport " GASPIPE_VERSION "\n", stdout) == EOF ||
            fflush(stdout) != 0)
            return ERROR_SYSTEM;
        return 0;
    }
    if (report_run(&options, &error) != 0)
        goto failed;
    return 0;
failed:
    log_line("%s", error.text);
    return error.kind;
}
