/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_COUNT_COMPARE_COMPARE_COMMAND_H
#define GASPIPE_SUPERVISOR_COUNT_COMPARE_COMPARE_COMMAND_H

#include <wordexp.h>

#include "base/buf.h"
#include "base/error.h"
#include "supervisor/count/count_options.h"
#include "supervisor/count/count_run.h"

/* Times of one kind, of all timed runs, in seconds. */
struct compare_times {
    double *values; /* owned */
    size_t count;
};

struct compare_summary {
    double mean, deviation, least, most; /* of a sample; deviation 0 for a single value */
};

/* A command that is compared with others. */
struct compare_command {
    const char *const *arguments; /* ends with NULL; borrowed, or those of `words` */
    wordexp_t words;              /* of a --versus; all zeros: none */
    struct buf text;              /* for people */
    struct count_total total;     /* of the first counted run */
    bool agrees;                  /* all counted runs were the same */
    bool failed;                  /* some run did not end with exit status 0 */
    struct compare_times wall, processor;
};

/* The words of `text` are the arguments, split as a shell does; NULL: `arguments` are. -1 with
 * ERROR_USAGE where it has a shell's operators or no word. To be freed whatever the result. */
int compare_command_open(struct compare_command *command, const char *text,
                         const char *const *arguments, struct error *error);
void compare_command_free(struct compare_command *command);

/* Counts all of options->repeat runs. */
int compare_command_count(struct compare_command *command, const struct count_options *options,
                          const struct guest_tools *tools, struct error *error);

/* One run without the counter, in the same environment and folder. */
int compare_command_time(struct compare_command *command, const struct count_options *options,
                         struct error *error);

/* There is at least one value. */
struct compare_summary compare_summarise(const struct compare_times *times);

#endif
