/* SPDX-License-Identifier: Apache-2.0 */
/* A line of a deliveries file that is taken has what its kind says, and makes capdata. */
#include <string.h>

#include "proto/vat_message.h"
#include "supervisor/run/delivery_line.h"
#include "tests/fuzz/fuzz.h"

/* Every name that does not begin with '?' is known. */
static int find(void *context, const char *kind, const char *name, char **reference,
                struct error *error)
{
    (void)context;
    if (name[0] == '?')
        return error_set(error, ERROR_INPUT, "no %s %s", kind, name);
    *reference = strdup("ko20");
    return *reference != NULL ? 0 : error_memory(error, "a name");
}

static void check_methargs(const struct delivery_line *line)
{
    static const struct smallcaps_names names = {.find = find};
    struct error error;
    json_t *methargs = delivery_line_methargs(line, &names, &error);

    if (methargs != NULL)
        check(vat_message_is_capdata(methargs));
    else
        check(line->kind == DELIVERY_LINE_SHORT && error.kind == ERROR_INPUT);
    json_decref(methargs);
}

static void check_line(const struct delivery_line *line)
{
    switch (line->kind) {
    case DELIVERY_LINE_SHORT:
        check((line->vat == NULL) != (line->to == NULL) && line->call != NULL);
        check_methargs(line);
        break;
    case DELIVERY_LINE_FULL:
        check(line->vat != NULL && line->to == NULL && line->target != NULL);
        check_methargs(line);
        break;
    case DELIVERY_LINE_CLOCK:
        check(line->clock >= 0);
        break;
    case DELIVERY_LINE_TRIGGER:
        check(line->trigger != NULL);
        break;
    case DELIVERY_LINE_REAP:
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct delivery_line line;
    struct error error;

    if (delivery_line_parse(&line, (const char *)data, size, &error) == 0) {
        check_line(&line);
        delivery_line_free(&line);
    } else {
        check(error.kind == ERROR_INPUT && error.text[0] != '\0');
    }
    return 0;
}
