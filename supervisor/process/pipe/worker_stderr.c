/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/process/pipe/worker_stderr.h"

#include <inttypes.h>
#include <stdio.h>

static const int64_t NANOSECONDS = 1000000000;

void worker_stderr_init(struct worker_stderr *from, void (*tell)(void *context, const char *line),
                        void *context)
{
    from->tell = tell;
    from->context = context;
    from->allowance = WORKER_STDERR_RATE;
    from->refilled = from->told = from->dropped = 0;
    from->over = false;
    from->length = 0;
}

static void refill(struct worker_stderr *from, int64_t now)
{
    const int64_t passed = now - from->refilled;
    const int64_t more = passed < NANOSECONDS ? passed * WORKER_STDERR_RATE / NANOSECONDS
                                              : (int64_t)WORKER_STDERR_RATE;

    /* Below one byte's worth of time nothing is added: the clock goes on from before. */
    if (more <= 0)
        return;
    from->refilled = now;
    from->allowance += more;
    if (from->allowance > WORKER_STDERR_RATE)
        from->allowance = WORKER_STDERR_RATE;
}

static void tell_dropped(struct worker_stderr *from)
{
    char note[96];

    snprintf(note, sizeof note, "(%" PRIu64 " bytes that it printed too fast are left out)",
             from->dropped);
    from->tell(from->context, note);
    from->dropped = 0;
}

static void tell_over(struct worker_stderr *from)
{
    char note[96];

    snprintf(note, sizeof note, "(it printed more than %d bytes; what follows is left out)",
             (int)WORKER_STDERR_TOTAL);
    from->tell(from->context, note);
    from->over = true;
}

static void end_line(struct worker_stderr *from, int64_t now)
{
    const size_t length = from->length;

    from->length = 0;
    if (length == 0 || from->over)
        return;
    if (from->told + length > WORKER_STDERR_TOTAL) {
        tell_over(from);
        return;
    }
    refill(from, now);
    if (from->allowance < (int64_t)length) {
        from->dropped += length;
        return;
    }
    if (from->dropped > 0)
        tell_dropped(from);
    from->allowance -= (int64_t)length;
    from->told += length;
    from->line[length] = '\0';
    from->tell(from->context, from->line);
}

void worker_stderr_feed(struct worker_stderr *from, const char *bytes, size_t length, int64_t now)
{
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] == '\n' || from->length == sizeof from->line - 1)
            end_line(from, now);
        if (bytes[i] != '\n' && bytes[i] != '\0')
            from->line[from->length++] = bytes[i];
    }
}

void worker_stderr_end(struct worker_stderr *from, int64_t now)
{
    end_line(from, now);
    if (from->dropped > 0)
        tell_dropped(from);
}
