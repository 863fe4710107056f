/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/options.h"

#include <stdio.h>
#include <string.h>

static void set_precision(struct options *options, enum gasmark_precision precision)
{
    options->precision = precision;
    options->precision_is_forced = true;
}

static bool parse_one(struct options *options, const char *argument)
{
    if (strcmp(argument, "precision=block") == 0)
        set_precision(options, GASMARK_BLOCK);
    else if (strcmp(argument, "precision=instruction") == 0)
        set_precision(options, GASMARK_INSTRUCTION);
    else if (strcmp(argument, "precision=auto") == 0)
        options->precision_is_forced = false;
    else if (strcmp(argument, "rep=once") == 0)
        options->repeat_once = true;
    else if (strcmp(argument, "rep=iterations") == 0)
        options->repeat_once = false;
    else
        return false;
    return true;
}

bool options_parse(struct options *options, int count, char **arguments)
{
    *options = (struct options){0};
    for (int i = 0; i < count; i++) {
        if (!parse_one(options, arguments[i])) {
            fprintf(stderr,
                    "gascount: '%s' is no option; there are precision=auto|block|instruction "
                    "and rep=once|iterations\n",
                    arguments[i]);
            return false;
        }
    }
    return true;
}
