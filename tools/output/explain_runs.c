/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/output/explain_runs.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/log.h"
#include "tools/output/units.h"

static void append_run(struct buf *words, const struct runs *runs, uint64_t number)
{
    buf_printf(words, "%s run %" PRIu64 " begins at ", number > 0 ? "," : "", number + 2);
    if (runs->named[number].file != NULL)
        buf_printf(words, "%s:%" PRIu64, runs->named[number].file, runs->named[number].line);
    else
        buf_printf(words, "line %" PRIu64, runs->named[number].line);
    buf_append_string(words, " (");
    units_append_moment(words, runs->named[number].time);
    buf_append_byte(words, ')');
}

void explain_runs(const struct runs *runs, const char *input, const char *what)
{
    struct buf words = {0};

    if (runs->more == 0)
        return;
    if (input != NULL)
        buf_printf(&words, "%s: ", input);
    buf_printf(&words, "%" PRIu64 " runs of the kernel %s; --run 1 takes the first alone;",
               runs->more + 1, what);
    for (uint64_t i = 0; i < runs->more && i < RUNS_NAMED; i++)
        append_run(&words, runs, i);
    if (runs->more > RUNS_NAMED)
        buf_append_string(&words, ", and so on");
    if (buf_string(&words) != NULL)
        log_line("%s", words.data);
    buf_free(&words);
}
