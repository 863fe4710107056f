/* SPDX-License-Identifier: Apache-2.0 */
/* gaspipe-worker-native-metered: the native worker, linked with the run-time part of the
 * compiled-in meter. The contract is metered, not the worker. */
#include "meter/gasmeter.h"
#include "meter/runtime/strings.h"
#include "worker/command_line.h"
#include "worker/native/engine_native.h"

/* Functions that the meter's pass calls, and variables that it adds to (meter/pass/support.c). */
extern _Thread_local int64_t gasmeter_banks[];
extern _Thread_local uint64_t gasmeter_carry;
void gasmeter_refill(void);
void gasmeter_flush(uint64_t units);
void gasmeter_block(uint64_t units);

/* The same for contracts with a profile (meter/runtime/profile.h). */
void *gasmeter_profile_enter(void *function);
void gasmeter_profile_add(void *node, void *line, uint64_t units);
void gasmeter_profile_call(void *node);
void gasmeter_profile_return(void *node);
void gasmeter_profile_forget(void);

/* Ignores a contract's notes, because its constructors run in each call. */
static void forget_notes(const char *first, const char *stop_contract_meter)
{
    (void)first, (void)stop_contract_meter;
}

/* The contract's memory holds its profile records, and is new in each call. */
static void start_contract_meter(void)
{
    gasmeter_profile_forget();
    gasmeter_start();
}

static void stop_contract_meter(void)
{
    (void)gasmeter_stop();
}

static const struct native_symbol *variables(void)
{
    static struct native_symbol list[3];
    const uintptr_t thread = (uintptr_t)__builtin_thread_pointer();

    list[0] = (struct native_symbol){"gasmeter_banks", (uintptr_t)gasmeter_banks - thread};
    list[1] = (struct native_symbol){"gasmeter_carry", (uintptr_t)&gasmeter_carry - thread};
    return list;
}

int main(int argc, char **argv)
{
    static const struct native_symbol functions[] = {
        {"gasmeter_refill", (uintptr_t)gasmeter_refill},
        {"gasmeter_flush", (uintptr_t)gasmeter_flush},
        {"gasmeter_block", (uintptr_t)gasmeter_block},
        GASMETER_READERS,
        {"gasmeter_add_notes", (uintptr_t)forget_notes},
        {"gasmeter_keep_notes", (uintptr_t)forget_notes},
        {"gasmeter_profile_enter", (uintptr_t)gasmeter_profile_enter},
        {"gasmeter_profile_add", (uintptr_t)gasmeter_profile_add},
        {"gasmeter_profile_call", (uintptr_t)gasmeter_profile_call},
        {"gasmeter_profile_return", (uintptr_t)gasmeter_profile_return},
        {NULL, 0},
    };
    static const struct native_meter meter = {
        .read = gasmeter_read,
        .budget = gasmeter_budget,
        .on_spent = gasmeter_on_spent,
        .begin = start_contract_meter,
        .end = stop_contract_meter,
        .functions = functions,
        .variables = variables,
    };
    const struct engine_ops engine = engine_native(&meter);

    return worker_command_line(argc, argv, &engine);
}
