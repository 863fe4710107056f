/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TESTS_ENGINE_ECHO_H
#define GASPIPE_TESTS_ENGINE_ECHO_H

#include <stdio.h>
#include <stdlib.h>

#include "worker/engine.h"

/*
 * An engine that does nothing, to measure and to test what surrounds engines. A delivery's result
 * is the delivery; everything else has an empty result. The delivery's first byte decides:
 *
 *   '?'  the rest is sent as a request, whose answer is the result
 *   '!'  it throws the rest
 *   'X'  it stops with WORKER_EXIT_COMPUTATION
 *
 * It has no snapshots, and its usage is always 0.
 */

struct engine {
    struct engine_host host;
};

static void echo_version(char *line, size_t size)
{
    snprintf(line, size, "echo");
}

static struct engine *echo_open(const struct engine_options *options, struct error *error)
{
    struct engine *engine = malloc(sizeof *engine);

    if (engine == NULL)
        error_memory(error, "the engine");
    else
        engine->host = options->host;
    return engine;
}

static void echo_close(struct engine *engine)
{
    free(engine);
}

static struct engine_result echo_evaluate(struct engine *engine, struct iovec source)
{
    (void)engine;
    (void)source;
    return (struct engine_result){.outcome = ENGINE_OK};
}

static struct engine_result echo_request(const struct engine *engine, struct iovec message)
{
    struct iovec answer = engine->host.request(engine->host.context, message);
    struct engine_result result = {.outcome = ENGINE_OK, .text = answer};

    if (answer.iov_base == NULL)
        result.outcome = ENGINE_STOPPED;
    return result;
}

static struct engine_result echo_deliver(struct engine *engine, struct iovec message)
{
    static char stopped[] = "stopped as requested";
    struct engine_result result = {.outcome = ENGINE_OK, .text = message};
    char first = message.iov_len > 0 ? *(char *)message.iov_base : '\0';
    struct iovec rest = {(char *)message.iov_base + 1, message.iov_len - 1};

    switch (first) {
    case '?':
        return echo_request(engine, rest);
    case '!':
        result.outcome = ENGINE_THREW;
        result.text = rest;
        break;
    case 'X':
        result.outcome = ENGINE_STOPPED;
        result.exit_status = WORKER_EXIT_COMPUTATION;
        result.text = (struct iovec){stopped, sizeof stopped - 1};
        break;
    default:
        break;
    }
    return result;
}

static struct engine_result echo_run_file(struct engine *engine, const char *path)
{
    (void)engine;
    (void)path;
    return (struct engine_result){.outcome = ENGINE_OK};
}

static const char *echo_exception_left(struct engine *engine)
{
    (void)engine;
    return NULL;
}

static struct engine_usage echo_usage(const struct engine *engine)
{
    (void)engine;
    return (struct engine_usage){0};
}

static const struct engine_ops engine_echo = {
    .version = echo_version,
    .open = echo_open,
    .close = echo_close,
    .evaluate = echo_evaluate,
    .deliver = echo_deliver,
    .run_script = echo_run_file,
    .run_module = echo_run_file,
    .exception_left = echo_exception_left,
    .usage = echo_usage,
};

#endif
