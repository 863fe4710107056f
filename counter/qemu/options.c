/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/qemu/options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void set_precision(struct options *options, enum gasmark_precision precision)
{
    options->precision = precision;
    options->precision_is_forced = true;
}

static void set_repeat(struct options *options, bool once)
{
    options->repeat_once = once;
    options->repeat_each = !once;
}

static bool parse_number(uint64_t *number, const char *digits)
{
    char *end;

    if (*digits < '0' || *digits > '9')
        return false;
    errno = 0;
    *number = strtoull(digits, &end, 10);
    return errno == 0 && *end == '\0';
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
        set_repeat(options, true);
    else if (strcmp(argument, "rep=iterations") == 0)
        set_repeat(options, false);
    else if (strcmp(argument, "random=pinned") == 0)
        options->pin_random = true;
    else if (strcmp(argument, "kinds=on") == 0)
        options->kinds = true;
    else if (strcmp(argument, "follow=exec") == 0)
        options->follow = true;
    else if (strncmp(argument, "profile=", 8) == 0)
        options->profile = argument + 8;
    else if (strncmp(argument, "report=", 7) == 0)
        options->report = argument + 7;
    else if (strncmp(argument, "profile-fd=", 11) == 0)
        return parse_number(&options->profile_fd, argument + 11) && options->profile_fd <= INT_MAX;
    else
        return strncmp(argument, "limit=", 6) == 0 && parse_number(&options->limit, argument + 6);
    return true;
}

bool options_parse(struct options *options, int count, char **arguments)
{
    *options = (struct options){0};
    for (int i = 0; i < count; i++) {
        if (!parse_one(options, arguments[i])) {
            fprintf(stderr,
                    "gascount: '%s' is not an option; there are precision=auto|block|instruction, "
                    "rep=once|iterations, limit=N, random=pinned, kinds=on, "
                    "follow=exec, profile=PATH, profile-fd=N, report=PATH\n",
                    arguments[i]);
            return false;
        }
    }
    return true;
}
