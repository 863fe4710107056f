/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/count/count_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/json/json_text.h"

void count_text_end(struct buf *out, int status, const char *over_limit)
{
    if (over_limit != NULL)
        buf_printf(out, "over the %s limit", over_limit);
    else if (WIFSIGNALED(status))
        buf_printf(out, "ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        buf_printf(out, "exit status %d", WEXITSTATUS(status));
}

void count_text_heading(struct buf *out, const char *const *arguments, int status,
                        const char *over_limit)
{
    buf_append_string(out, "\ncounted:");
    for (size_t i = 0; arguments[i] != NULL; i++)
        buf_printf(out, " %s", arguments[i]);
    buf_append_string(out, " (");
    count_text_end(out, status, over_limit);
    buf_append_string(out, ")\n\n");
}

void count_text_grouped(struct buf *out, int width, uint64_t number)
{
    char digits[24];

    snprintf(digits, sizeof digits, "%" PRIu64, number);
    buf_append_grouped(out, width, digits);
}

void count_text_number(struct buf *out, uint64_t number, const char *what)
{
    count_text_grouped(out, 22, number);
    buf_printf(out, "  %s\n", what);
}

void count_text_more_regions(struct buf *out, size_t count)
{
    if (count > COUNT_REGIONS_SHOWN)
        buf_printf(out, "%22s  and %zu more, see --json\n", "...", count - COUNT_REGIONS_SHOWN);
}

void count_text_run(struct buf *out, size_t index, int status)
{
    buf_printf(out, "{\"kind\":\"run\",\"run\":%zu", index + 1);
    if (WIFSIGNALED(status))
        buf_printf(out, ",\"status\":null,\"signal\":%d", WTERMSIG(status));
    else
        buf_printf(out, ",\"status\":%d,\"signal\":null", WEXITSTATUS(status));
}

void count_text_summary(struct buf *out, const char *const *arguments, size_t runs, bool agree)
{
    buf_append_string(out, "{\"kind\":\"summary\",\"program\":[");
    for (size_t i = 0; arguments[i] != NULL; i++) {
        if (i > 0)
            buf_append_byte(out, ',');
        count_text_string(out, arguments[i]);
    }
    buf_printf(out, "],\"runs\":%zu,\"agree\":%s", runs, agree ? "true" : "false");
}

void count_text_string(struct buf *out, const char *string)
{
    json_text_string(out, string, strlen(string));
}
