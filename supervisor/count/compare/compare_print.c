/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/count/compare/compare_print.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/json/json_text.h"
#include "supervisor/count/count_text.h"

struct compare_summary compare_summarise(const struct compare_times *times)
{
    struct compare_summary summary = {.least = times->values[0], .most = times->values[0]};
    double squares = 0;

    for (size_t i = 0; i < times->count; i++) {
        summary.mean += times->values[i] / (double)times->count;
        summary.least = fmin(summary.least, times->values[i]);
        summary.most = fmax(summary.most, times->values[i]);
    }
    for (size_t i = 0; i < times->count; i++)
        squares += (times->values[i] - summary.mean) * (times->values[i] - summary.mean);
    if (times->count > 1)
        summary.deviation = sqrt(squares / (double)(times->count - 1));
    return summary;
}

static double ratio(uint64_t number, uint64_t least)
{
    return least > 0 ? (double)number / (double)least : 0;
}

static const struct compare_command *least_of(const struct compare_command *commands, size_t count)
{
    const struct compare_command *least = commands;

    for (size_t i = 1; i < count; i++)
        if (commands[i].total.instructions < least->total.instructions)
            least = &commands[i];
    return least;
}

/* ---- for people ---- */

static void put_times(struct buf *out, const char *name, const struct compare_times *times)
{
    const struct compare_summary summary = compare_summarise(times);

    buf_printf(out, "    %-10s %10.3f ms ± %.3f, from %.3f to %.3f\n", name, summary.mean * 1e3,
               summary.deviation * 1e3, summary.least * 1e3, summary.most * 1e3);
}

static void put_command(struct buf *out, const struct compare_command *command)
{
    buf_printf(out, "\n%s%s%s\n", command->text.data, command->failed ? "  FAILED" : "",
               command->agrees ? "" : "  NOT the same in all runs");
    count_text_grouped(out, 18, command->total.instructions);
    buf_append_string(out, " instructions, ");
    count_text_grouped(out, 0, command->total.syscalls);
    buf_append_string(out, " system calls, ");
    count_text_grouped(out, 0, command->total.bytes_read);
    buf_append_string(out, " bytes read, ");
    count_text_grouped(out, 0, command->total.bytes_written);
    buf_append_string(out, " written\n");
    if (command->wall.count == 0)
        return;
    put_times(out, "wall", &command->wall);
    put_times(out, "processor", &command->processor);
}

static void put_ratio(struct buf *out, const struct compare_command *command,
                      const struct compare_command *least)
{
    buf_printf(out, "%10.4f x the instructions",
               ratio(command->total.instructions, least->total.instructions));
    if (command->wall.count > 0) {
        const double mean = compare_summarise(&least->processor).mean;

        buf_printf(out, ", %.2f x the wall time",
                   compare_summarise(&command->wall).mean / compare_summarise(&least->wall).mean);
        if (mean > 0)
            buf_printf(out, ", %.2f x the processor time",
                       compare_summarise(&command->processor).mean / mean);
    }
    buf_printf(out, "  %s\n", command->text.data);
}

void compare_print_text(struct buf *out, const struct compare_command *commands, size_t count)
{
    const struct compare_command *least = least_of(commands, count);

    for (size_t i = 0; i < count; i++)
        put_command(out, &commands[i]);
    if (count == 1)
        return;
    buf_printf(out, "\nfewest instructions: %s\n", least->text.data);
    for (size_t i = 0; i < count; i++)
        if (&commands[i] != least)
            put_ratio(out, &commands[i], least);
}

/* ---- for programs ---- */

static void put_json_times(struct buf *out, const char *name, const struct compare_times *times)
{
    struct compare_summary summary;

    if (times->count == 0) {
        buf_printf(out, ",\"%s\":null", name);
        return;
    }
    summary = compare_summarise(times);
    buf_printf(out, ",\"%s\":{\"mean\":%.9f,\"stddev\":%.9f,\"min\":%.9f,\"max\":%.9f,\"times\":[",
               name, summary.mean, summary.deviation, summary.least, summary.most);
    for (size_t i = 0; i < times->count; i++)
        buf_printf(out, "%s%.9f", i == 0 ? "" : ",", times->values[i]);
    buf_append_string(out, "]}");
}

void compare_print_json(struct buf *out, const struct compare_command *commands, size_t count)
{
    const struct compare_command *least = least_of(commands, count);

    for (size_t i = 0; i < count; i++) {
        const struct count_total *total = &commands[i].total;

        buf_append_string(out, "{\"kind\":\"command\",\"command\":");
        json_text_string(out, commands[i].text.data, commands[i].text.length);
        buf_printf(out,
                   ",\"instructions\":%" PRIu64 ",\"syscalls\":%" PRIu64 ",\"bytesRead\":%" PRIu64
                   ",\"bytesWritten\":%" PRIu64 ",\"ratio\":%.6f,\"agree\":%s,\"failed\":%s",
                   total->instructions, total->syscalls, total->bytes_read, total->bytes_written,
                   ratio(total->instructions, least->total.instructions),
                   commands[i].agrees ? "true" : "false", commands[i].failed ? "true" : "false");
        put_json_times(out, "wall", &commands[i].wall);
        put_json_times(out, "processor", &commands[i].processor);
        buf_append_string(out, "}\n");
    }
}

/* In a cell of Markdown. */
static void put_code(struct buf *out, const char *text)
{
    buf_append_byte(out, '`');
    for (; *text != '\0'; text++) {
        if (*text == '|')
            buf_append_byte(out, '\\');
        buf_append_byte(out, *text == '`' || *text == '\n' ? ' ' : *text);
    }
    buf_append_byte(out, '`');
}

static void put_markdown_times(struct buf *out, const struct compare_times *times)
{
    struct compare_summary summary;

    if (times->count == 0) {
        buf_append_string(out, " |");
        return;
    }
    summary = compare_summarise(times);
    buf_printf(out, " %.3f ± %.3f |", summary.mean * 1e3, summary.deviation * 1e3);
}

void compare_print_markdown(struct buf *out, const struct compare_command *commands, size_t count)
{
    const struct compare_command *least = least_of(commands, count);

    buf_append_string(out, "| command | instructions | ratio | wall ms | processor ms |\n"
                           "|:---|---:|---:|---:|---:|\n");
    for (size_t i = 0; i < count; i++) {
        buf_append_string(out, "| ");
        put_code(out, commands[i].text.data);
        buf_append_string(out, " | ");
        count_text_grouped(out, 0, commands[i].total.instructions);
        buf_printf(out, " | %.4f |",
                   ratio(commands[i].total.instructions, least->total.instructions));
        put_markdown_times(out, &commands[i].wall);
        put_markdown_times(out, &commands[i].processor);
        buf_append_byte(out, '\n');
    }
}

static void put_csv_text(struct buf *out, const char *text)
{
    buf_append_byte(out, '"');
    for (; *text != '\0'; text++) {
        if (*text == '"')
            buf_append_byte(out, '"');
        buf_append_byte(out, *text);
    }
    buf_append_byte(out, '"');
}

static void put_csv_times(struct buf *out, const struct compare_times *times)
{
    struct compare_summary summary;

    if (times->count == 0) {
        buf_append_string(out, ",,,,");
        return;
    }
    summary = compare_summarise(times);
    buf_printf(out, ",%.9f,%.9f,%.9f,%.9f", summary.mean, summary.deviation, summary.least,
               summary.most);
}

void compare_print_csv(struct buf *out, const struct compare_command *commands, size_t count)
{
    const struct compare_command *least = least_of(commands, count);

    buf_append_string(out, "command,instructions,ratio,syscalls,bytesRead,bytesWritten,"
                           "wallMean,wallStddev,wallMin,wallMax,"
                           "processorMean,processorStddev,processorMin,processorMax\r\n");
    for (size_t i = 0; i < count; i++) {
        const struct count_total *total = &commands[i].total;

        put_csv_text(out, commands[i].text.data);
        buf_printf(out, ",%" PRIu64 ",%.6f,%" PRIu64 ",%" PRIu64 ",%" PRIu64, total->instructions,
                   ratio(total->instructions, least->total.instructions), total->syscalls,
                   total->bytes_read, total->bytes_written);
        put_csv_times(out, &commands[i].wall);
        put_csv_times(out, &commands[i].processor);
        buf_append_string(out, "\r\n");
    }
}
