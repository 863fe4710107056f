/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/common_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

enum { OVERHEAD_MOST = 1000 }; /* percent */

const char *const common_options_sandbox_levels[] = {
    [CONFINEMENT_BASIC] = "basic",
    [CONFINEMENT_STRICT] = "strict",
    [CONFINEMENT_OFF] = "off",
    NULL,
};

const char *const common_options_counters[] = {"qemu", "compiled", "qemu,compiled", "none", NULL};

int common_options_take_gas(void *place, const char *option, char *value, struct error *error)
{
    (void)option;
    return gas_model_read(place, value, error);
}

int common_options_take_counter(void *place, const char *option, char *value, struct error *error)
{
    static const struct {
        const char *words;
        struct counters counters;
    } choices[] = {
        {"none", {.qemu = false}},
        {"qemu", {.qemu = true}},
        {"compiled", {.compiled = true}},
        {"qemu,compiled", {.qemu = true, .compiled = true}},
        {"compiled,qemu", {.qemu = true, .compiled = true}},
    };
    struct similar similar = {.word = value};

    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        if (strcmp(value, choices[i].words) == 0) {
            *(struct counters *)place = choices[i].counters;
            return 0;
        }
        similar_try(&similar, choices[i].words);
    }
    return error_set(error, ERROR_USAGE, "%s is qemu, compiled, qemu,compiled or none, not '%s'%s",
                     option, value, similar_hint(&similar, ""));
}

const char *common_options_counter_name(struct counters counters)
{
    if (counters.qemu)
        return counters.compiled ? "qemu,compiled" : "qemu";
    return counters.compiled ? "compiled" : "none";
}

uint64_t common_options_cost(bool given, uint64_t limit, struct counters counters)
{
    return given || !counters.compiled ? limit : COMMON_OPTIONS_METERED_COST;
}

int common_options_check_worker(const char *worker, struct counters counters, struct error *error)
{
    if (worker != NULL && (counters.qemu || counters.compiled))
        return error_set(error, ERROR_USAGE, "--worker runs without the counter");
    return 0;
}

int common_options_check_limits(uint64_t instructions, uint64_t cost, struct counters counters,
                                struct error *error)
{
    if (instructions > 0 && !counters.qemu)
        return error_set(error, ERROR_USAGE, "--max-instructions needs --counter qemu");
    if (cost > 0 && !counters.compiled)
        return error_set(error, ERROR_USAGE, "--max-cost needs --counter compiled");
    return 0;
}

int common_options_check_profile(const char *worker, bool profiled, struct error *error)
{
    if (worker == NULL || !profiled)
        return 0;
    return error_set(error, ERROR_USAGE,
                     "--worker and --profile do not go together: profiles need gaspipe's own "
                     "worker");
}

int common_options_take_native(const char *profile, const char *folded, struct counters *counters,
                               struct error *error)
{
    if (profile == NULL && folded == NULL)
        return 0;
    counters->by_function = counters->compiled && !counters->qemu;
    if (counters->qemu || counters->compiled)
        return 0;
    return error_set(error, ERROR_USAGE,
                     "--native-profile and --native-folded need --counter qemu or compiled: it is "
                     "the counter that sees the functions");
}

const char *const common_options_trace_clocks[] = {"tsc", "computrons", NULL};

static const char *given_option(const struct trace_session_options *trace)
{
    if (trace->clock != TRACE_CLOCK_TSC)
        return "--trace-clock";
    return trace->overhead != 0 ? "--overhead" : NULL;
}

int common_options_check_trace(const struct trace_session_options *trace, struct counters counters,
                               struct error *error)
{
    if (trace->path == NULL && given_option(trace) != NULL)
        return error_set(error, ERROR_USAGE, "%s needs --trace-functions FILE",
                         given_option(trace));
    if (trace->path != NULL && counters.by_function)
        return error_set(error, ERROR_USAGE,
                         "--trace-functions and --native-profile do not go together");
    if (trace->path == NULL || !counters.qemu)
        return 0;
    return error_set(error, ERROR_USAGE,
                     "--trace-functions needs --counter none or compiled: under QEMU it would be "
                     "counted, too");
}

int common_options_take_overhead(void *place, const char *option, char *value, struct error *error)
{
    const char *at = value;
    uint64_t *percent = place;

    if (number_take(&at, percent) && *at == '%')
        at++;
    if (at > value && *at == '\0' && *percent >= 1 && *percent <= OVERHEAD_MOST)
        return 0;
    return error_set(error, ERROR_USAGE, "%s needs a share of 1%% to %d%%, not '%s'", option,
                     OVERHEAD_MOST, value);
}

int common_options_take_percent(void *place, const char *option, char *value, struct error *error)
{
    char *end;
    double percent = strtod(value, &end);

    if (end == value || !(percent >= 0) || !isfinite(percent) ||
        (strcmp(end, "") != 0 && strcmp(end, "%") != 0))
        return error_set(error, ERROR_USAGE, "%s needs a percentage, such as 0.5%%, not '%s'",
                         option, value);
    *(double *)place = percent;
    return 0;
}

int common_options_take_store(const char **store, char **operands, struct error *error)
{
    if (*store == NULL && operands[0] != NULL)
        *store = *operands++;
    if (*store == NULL || operands[0] != NULL)
        return error_set(error, ERROR_USAGE, "give the directory of one store");
    return 0;
}
