/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/count/compiled/cost_print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/count/count_text.h"

/* In the table no more of them than this; in JSON all that there are. */
enum { NAMES_SHOWN = 12 };

bool cost_findings_agree(const struct cost_findings *findings)
{
    for (size_t i = 1; i < findings->run_count; i++)
        if (!cost_run_agrees(&findings->runs[0], &findings->runs[i]))
            return false;
    return true;
}

static void find_extremes(const struct cost_findings *findings, uint64_t *least, uint64_t *most)
{
    *least = *most = findings->runs[0].cost;
    for (size_t i = 1; i < findings->run_count; i++) {
        if (findings->runs[i].cost < *least)
            *least = findings->runs[i].cost;
        if (findings->runs[i].cost > *most)
            *most = findings->runs[i].cost;
    }
}

/* ---- for people ---- */

static void put_regions(struct buf *out, const struct cost_run *run)
{
    const json_t *process, *region;
    size_t i, j, count = 0;

    json_array_foreach(run->processes, i, process)
    {
        json_array_foreach(json_object_get(process, "regions"), j, region)
        {
            if (count++ == 0)
                buf_printf(out, "\n%22s\n", "units of block cost");
            if (count <= COUNT_REGIONS_SHOWN)
                buf_printf(out, "%22" JSON_INTEGER_FORMAT "  region %zu\n",
                           json_integer_value(region), count);
        }
    }
    count_text_more_regions(out, count);
}

/* What the processes list under that name, each once; of the first, where they are many. */
static void put_names(struct buf *out, const struct cost_run *run, const char *member,
                      const char *words)
{
    const char *separator = words;
    json_t *told = json_object();
    const json_t *process, *name;
    size_t i, j, count = 0;

    json_array_foreach(run->processes, i, process)
    {
        json_array_foreach(json_object_get(process, member), j, name)
        {
            const char *text = json_string_value(name);

            if (text == NULL || json_object_get(told, text) != NULL)
                continue;
            json_object_set_new(told, text, json_true());
            if (count++ < NAMES_SHOWN)
                buf_printf(out, "%s%s", separator, text);
            separator = ", ";
        }
    }
    if (count > NAMES_SHOWN)
        buf_printf(out, " and %zu more, see --json", count - NAMES_SHOWN);
    buf_append_string(out, count > 0 ? "\n" : "");
    json_decref(told);
}

static void put_agreement(struct buf *out, const struct cost_findings *findings)
{
    uint64_t least, most;

    if (findings->run_count == 1)
        return;
    find_extremes(findings, &least, &most);
    if (cost_findings_agree(findings))
        buf_printf(out, "\nthe same in all %zu runs\n", findings->run_count);
    else
        buf_printf(out, "\nNOT the same in all %zu runs: %" PRIu64 " to %" PRIu64 " units\n",
                   findings->run_count, least, most);
}

static const char *cost_table(const struct cost_run *run)
{
    const char *table =
        json_string_value(json_object_get(json_array_get(run->processes, 0), "costTable"));

    return table != NULL ? table : "unknown";
}

void cost_print_table(struct buf *out, const struct cost_findings *findings)
{
    const struct cost_run *first = &findings->runs[0];

    count_text_heading(out, findings->arguments, first->status, first->over_limit ? "cost" : NULL);
    count_text_number(out, first->cost, "units of block cost");
    if (json_array_size(first->processes) > 1)
        count_text_number(out, json_array_size(first->processes), "processes");
    if (findings->gas != NULL)
        buf_printf(out, "%22.0f  gas\n", gas_model_price_cost(findings->gas, first->cost));
    put_regions(out, first);
    put_agreement(out, findings);
    buf_append_byte(out, '\n');
    put_names(out, first, "uncounted", "not counted: ");
    put_names(out, first, "unsure", "not sure: ");
    buf_printf(out, "cost table %s\n", cost_table(first));
}

/* ---- for programs ---- */

static void put_process(struct buf *out, const json_t *process)
{
    static const char *const members[] = {"pid",       "program", "ended",       "status",
                                          "signal",    "regions", "regionCount", "costTable",
                                          "uncounted", "unsure"};

    buf_printf(out, "{\"blockCost\":%" JSON_INTEGER_FORMAT,
               json_integer_value(json_object_get(process, "cost")));
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const json_t *value = json_object_get(process, members[i]);
        char *text = value != NULL ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

        if (text != NULL)
            buf_printf(out, ",\"%s\":%s", members[i], text);
        else if (value != NULL)
            out->failed = true;
        free(text);
    }
    buf_append_byte(out, '}');
}

static void put_run(struct buf *out, const struct cost_findings *findings, size_t index)
{
    const struct cost_run *run = &findings->runs[index];
    const json_t *process;
    size_t i;

    count_text_run(out, index, run->status);
    buf_printf(out, ",\"blockCost\":%" PRIu64, run->cost);
    if (findings->gas != NULL)
        buf_printf(out, ",\"gas\":%.0f", gas_model_price_cost(findings->gas, run->cost));
    buf_printf(out, ",\"overLimit\":%s,\"processes\":[", run->over_limit ? "true" : "false");
    json_array_foreach(run->processes, i, process)
    {
        if (i > 0)
            buf_append_byte(out, ',');
        put_process(out, process);
    }
    buf_append_string(out, "]}\n");
}

void cost_print_json(struct buf *out, const struct cost_findings *findings)
{
    uint64_t least, most;

    for (size_t i = 0; i < findings->run_count; i++)
        put_run(out, findings, i);
    find_extremes(findings, &least, &most);
    count_text_summary(out, findings->arguments, findings->run_count,
                       cost_findings_agree(findings));
    buf_printf(out, ",\"least\":%" PRIu64 ",\"most\":%" PRIu64 ",\"costTable\":", least, most);
    count_text_string(out, cost_table(&findings->runs[0]));
    buf_append_string(out, "}\n");
}
