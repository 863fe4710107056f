/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/html/page_deliveries.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/embed.h"
#include "base/output/output_file.h"

EMBED(page_html, "tools/html/page/page.html");
EMBED(page_css, "tools/html/page/page.css");
EMBED(data_js, "tools/html/page/data.js");
EMBED(words_js, "tools/html/page/words.js");
EMBED(table_js, "tools/html/page/table.js");
EMBED(timeline_js, "tools/html/page/timeline.js");
EMBED(interval_js, "tools/html/page/interval.js");
EMBED(distribution_js, "tools/html/page/distribution.js");
EMBED(icicle_js, "tools/html/page/icicle.js");
EMBED(functions_js, "tools/html/page/functions.js");
EMBED(waits_js, "tools/html/page/waits.js");
EMBED(details_js, "tools/html/page/details.js");
EMBED(prices_js, "tools/html/page/prices.js");
EMBED(growth_js, "tools/html/page/growth.js");
EMBED(page_js, "tools/html/page/page.js");

/* One script, in this order: each uses those above it. */
static const struct {
    const char *begin, *end;
} scripts[] = {
    {data_js_begin, data_js_end},         {words_js_begin, words_js_end},
    {table_js_begin, table_js_end},       {timeline_js_begin, timeline_js_end},
    {interval_js_begin, interval_js_end}, {distribution_js_begin, distribution_js_end},
    {icicle_js_begin, icicle_js_end},     {functions_js_begin, functions_js_end},
    {waits_js_begin, waits_js_end},       {details_js_begin, details_js_end},
    {prices_js_begin, prices_js_end},     {growth_js_begin, growth_js_end},
    {page_js_begin, page_js_end},
};

enum { FLUSH_AT = 256 * 1024 };

struct page_file {
    struct output_file file;
    const char *rest; /* of page.html, after the data */
    struct buf out;
};

static void append_carried(struct buf *out, const char *begin, const char *end)
{
    buf_append(out, begin, (size_t)((uintptr_t)end - (uintptr_t)begin));
}

/* Appends page.html from `from` up to a comment, and returns what follows it. */
static const char *append_until(struct buf *out, const char *from, const char *comment)
{
    const char *at = strstr(from, comment);

    buf_append(out, from, (size_t)(at - from));
    return at + strlen(comment);
}

static void append_head(struct page_file *file)
{
    const char *rest = append_until(&file->out, page_html_begin, "<!-- page.css -->");

    buf_append_string(&file->out, "<style>\n");
    append_carried(&file->out, page_css_begin, page_css_end);
    buf_append_string(&file->out, "</style>");
    file->rest = append_until(&file->out, rest, "<!-- data -->");
}

/* ---- the file ----------------------------------------------------------- */

struct page_file *page_file_open(const char *path, struct error *error)
{
    struct page_file *file = calloc(1, sizeof *file);

    if (file == NULL) {
        error_memory(error, "the page");
        return NULL;
    }
    if (output_file_open(&file->file, path, "the page", error) != 0) {
        free(file);
        return NULL;
    }
    append_head(file);
    return file;
}

int page_file_add(struct page_file *file, const char *class, const struct buf *json,
                  struct error *error)
{
    struct buf *out = &file->out;
    size_t plain = 0;

    if (buf_failed(json))
        return error_memory(error, "the page");
    buf_printf(out, "<script type=\"application/json\" class=\"%s\">", class);
    for (size_t i = 0; i < json->length; i++) {
        if (json->data[i] != '<')
            continue;
        buf_append(out, json->data + plain, i - plain);
        buf_append_string(out, "\\u003c");
        plain = i + 1;
    }
    buf_append(out, json->data + plain, json->length - plain);
    buf_append_string(out, "</script>\n");
    return out->length < FLUSH_AT && !buf_failed(out) ? 0
                                                      : output_file_write(&file->file, out, error);
}

int page_file_finish(struct page_file *file, struct error *error)
{
    const char *rest = append_until(&file->out, file->rest, "<!-- scripts -->");

    buf_append_string(&file->out, "<script>\n");
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++)
        append_carried(&file->out, scripts[i].begin, scripts[i].end);
    buf_append_string(&file->out, "</script>");
    buf_append_string(&file->out, rest);
    if (output_file_write(&file->file, &file->out, error) != 0)
        return -1;
    return output_file_finish(&file->file, error);
}

void page_file_free(struct page_file *file)
{
    if (file == NULL)
        return;
    output_file_discard(&file->file);
    buf_free(&file->out);
    free(file);
}
