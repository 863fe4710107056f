/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/count/count_options.h"

#include <getopt.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "supervisor/process/guest.h"

#define REPEAT_MAX 100000

const char count_options_help[] =
    "usage: gaspipe count [options] [--] PROGRAM [ARG...]\n"
    "\n"
    "Runs any x86-64 Linux program or script under QEMU and reports on stderr how many machine\n"
    "instructions it and all programs that it starts executed. The program's own input and\n"
    "output are unchanged.\n"
    "\n"
    "  --repeat N                run it N times and report whether the counts agree (default: 1)\n"
    "  --max-instructions N      end each process that executes more (default: 0, no limit)\n"
    "  --precision auto|block|instruction\n"
    "                            how exact if instructions fault (default: auto)\n"
    "  --rep iterations|once     how to count repeated string instructions (default: iterations)\n"
    "  --random pinned|host      the kernel's random bytes: the same in each run, or the host's\n"
    "                            (default: pinned)\n"
    "  --env NAME=VALUE          set a variable; the environment is otherwise empty\n"
    "  --directory DIR           run the program in this directory\n"
    "  --gas FILE                compute a price by this gas model\n"
    "  --kinds                   also count instructions by kind: by class (moves, branches, ...)\n"
    "                            and by what they do to memory; and syscalls by name\n"
    "  --profile FILE            write which functions executed the instructions and who called\n"
    "                            them: folded stacks for flame graphs, of all runs together\n"
    "  --profile-json FILE       write the same as JSON lines\n"
    "  --json                    print JSON lines\n"
    "  --output FILE             write the report to FILE instead of stderr\n"
    "  --help                    print this and exit\n"
    "\n"
    "Exit status: 0 all runs succeeded and agree, 1 otherwise, 2 usage, 3 no such program or bad\n"
    "gas model, 4 system failure.\n";

enum {
    OPTION_REPEAT = 256,
    OPTION_MAX,
    OPTION_PRECISION,
    OPTION_REP,
    OPTION_RANDOM,
    OPTION_ENV,
    OPTION_DIRECTORY,
    OPTION_GAS,
    OPTION_KINDS,
    OPTION_PROFILE,
    OPTION_PROFILE_JSON,
    OPTION_JSON,
    OPTION_OUTPUT,
    OPTION_HELP
};

static const struct option long_options[] = {
    {"repeat", required_argument, NULL, OPTION_REPEAT},
    {"max-instructions", required_argument, NULL, OPTION_MAX},
    {"precision", required_argument, NULL, OPTION_PRECISION},
    {"rep", required_argument, NULL, OPTION_REP},
    {"random", required_argument, NULL, OPTION_RANDOM},
    {"env", required_argument, NULL, OPTION_ENV},
    {"directory", required_argument, NULL, OPTION_DIRECTORY},
    {"gas", required_argument, NULL, OPTION_GAS},
    {"kinds", no_argument, NULL, OPTION_KINDS},
    {"profile", required_argument, NULL, OPTION_PROFILE},
    {"profile-json", required_argument, NULL, OPTION_PROFILE_JSON},
    {"json", no_argument, NULL, OPTION_JSON},
    {"output", required_argument, NULL, OPTION_OUTPUT},
    {"help", no_argument, NULL, OPTION_HELP},
    {0},
};

/* One of the words that an option takes, for the counter; `value` NULL: nothing to tell it. */
struct choice {
    const char *word;
    const char *told;
};

static void tell_counter(struct count_options *options, const char *told)
{
    buf_printf(&options->plugin, "%s%s", options->plugin.length > 0 ? "," : "", told);
}

static int take_choice(struct count_options *options, const char *name,
                       const struct choice *choices, const char *word, struct error *error)
{
    for (; choices->word != NULL; choices++) {
        if (strcmp(word, choices->word) != 0)
            continue;
        if (choices->told != NULL)
            tell_counter(options, choices->told);
        return 0;
    }
    return error_set(error, ERROR_USAGE, "--%s does not know '%s' (see gaspipe count --help)", name,
                     word);
}

static int take_precision(struct count_options *options, const char *word, struct error *error)
{
    static const struct choice choices[] = {{"auto", NULL},
                                            {"block", "precision=block"},
                                            {"instruction", "precision=instruction"},
                                            {NULL, NULL}};

    return take_choice(options, "precision", choices, word, error);
}

static int take_rep(struct count_options *options, const char *word, struct error *error)
{
    static const struct choice choices[] = {
        {"iterations", "rep=iterations"}, {"once", "rep=once"}, {NULL, NULL}};

    return take_choice(options, "rep", choices, word, error);
}

static int take_random(struct count_options *options, const char *word, struct error *error)
{
    static const struct choice choices[] = {
        {"host", NULL}, {"pinned", "random=pinned"}, {NULL, NULL}};

    return take_choice(options, "random", choices, word, error);
}

static int take_limit(struct count_options *options, const char *text, struct error *error)
{
    uint64_t limit;

    if (number_option("--max-instructions", text, 0, UINT64_MAX / 2, &limit, error) != 0)
        return -1;
    if (limit > 0)
        buf_printf(&options->plugin, "%slimit=%llu", options->plugin.length > 0 ? "," : "",
                   (unsigned long long)limit);
    return 0;
}

static int take_repeat(struct count_options *options, const char *text, struct error *error)
{
    uint64_t repeat;

    if (number_option("--repeat", text, 1, REPEAT_MAX, &repeat, error) != 0)
        return -1;
    options->repeat = (unsigned)repeat;
    return 0;
}

/* Puts NAME=VALUE in the place of a variable of that name, or behind all. */
static int take_variable(struct count_options *options, const char *variable, struct error *error)
{
    size_t length = strcspn(variable, "="), count = 0;
    const char **larger;

    if (length == 0 || variable[length] == '\0')
        return error_set(error, ERROR_USAGE, "--env wants NAME=VALUE, not '%s'", variable);
    for (; options->environment[count] != NULL; count++) {
        if (strncmp(options->environment[count], variable, length + 1) == 0) {
            options->environment[count] = variable;
            return 0;
        }
    }
    larger = reallocarray(options->environment, count + 2, sizeof *larger);
    if (larger == NULL)
        return error_memory(error, "the environment");
    larger[count] = variable;
    larger[count + 1] = NULL;
    options->environment = larger;
    return 0;
}

static int take_option(struct count_options *options, int option, const char **random,
                       struct error *error)
{
    switch (option) {
    case OPTION_REPEAT:
        return take_repeat(options, optarg, error);
    case OPTION_MAX:
        return take_limit(options, optarg, error);
    case OPTION_PRECISION:
        return take_precision(options, optarg, error);
    case OPTION_REP:
        return take_rep(options, optarg, error);
    case OPTION_ENV:
        return take_variable(options, optarg, error);
    case OPTION_RANDOM:
        *random = optarg;
        break;
    case OPTION_DIRECTORY:
        options->directory = optarg;
        break;
    case OPTION_GAS:
        options->gas = optarg;
        break;
    case OPTION_KINDS:
        options->kinds = true;
        break;
    case OPTION_PROFILE:
        options->profile = optarg;
        break;
    case OPTION_PROFILE_JSON:
        options->profile_json = optarg;
        break;
    case OPTION_JSON:
        options->json = true;
        break;
    case OPTION_OUTPUT:
        options->output = optarg;
        break;
    default:
        options->help = true;
    }
    return 0;
}

/* The pinned environment, and what keeps the hashes of Perl's programs the same. */
static int set_environment(struct count_options *options, struct error *error)
{
    static const char *const perl[] = {"PERL_HASH_SEED=0", "PERL_PERTURB_KEYS=0"};
    const char *const *pinned = guest_environment();
    int result = 0;

    options->environment = calloc(1, sizeof *options->environment);
    if (options->environment == NULL)
        return error_memory(error, "the environment");
    for (; result == 0 && *pinned != NULL; pinned++)
        result = take_variable(options, *pinned, error);
    for (size_t i = 0; result == 0 && i < sizeof perl / sizeof *perl; i++)
        result = take_variable(options, perl[i], error);
    return result;
}

int count_options_parse(struct count_options *options, int argc, char **argv, struct error *error)
{
    const char *random = "pinned";
    int option;

    *options = (struct count_options){.repeat = 1};
    if (set_environment(options, error) != 0)
        return -1;
    opterr = 0;
    /* What stands behind the program's name is the program's. */
    while ((option = getopt_long(argc, argv, "+:", long_options, NULL)) != -1) {
        if (option == ':')
            return error_set(error, ERROR_USAGE, "%s wants a value", argv[optind - 1]);
        if (option == '?')
            return error_set(error, ERROR_USAGE, "unknown option %s", argv[optind - 1]);
        if (take_option(options, option, &random, error) != 0)
            return -1;
    }
    if (take_random(options, random, error) != 0)
        return -1;
    if (options->kinds)
        tell_counter(options, "kinds=on");
    if (!options->help && argv[optind] == NULL)
        return error_set(error, ERROR_USAGE, "give a program to count");
    options->arguments = (const char *const *)argv + optind;
    return buf_failed(&options->plugin) ? error_memory(error, "the options") : 0;
}

void count_options_free(struct count_options *options)
{
    buf_free(&options->plugin);
    free(options->environment);
    *options = (struct count_options){0};
}
