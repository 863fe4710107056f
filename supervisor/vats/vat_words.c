/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "supervisor/process/worker_exit.h"
#include "supervisor/runtime/contract_file.h"
#include "supervisor/vats/vat.h"

void __attribute__((format(printf, 3, 4)))
vat_set_reason(struct vat *vat, enum error_kind blame, const char *format, ...)
{
    va_list args;

    if (vat->reason[0] != '\0')
        return; /* the first one caused the others */
    vat->blame = blame;
    va_start(args, format);
    vsnprintf(vat->reason, sizeof vat->reason, format, args);
    va_end(args);
}

void vat_set_reason_of_exit(struct vat *vat, int exit_status, int signal_number)
{
    const char *words = worker_exit_reason(exit_status);
    const char *said = vat->last_words;

    if (signal_number != 0)
        vat_set_reason(vat, ERROR_SYSTEM, "its worker was killed by signal %d (%s)", signal_number,
                       strsignal(signal_number));
    else if (words != NULL)
        vat_set_reason(vat, ERROR_DELIVERY, "%s", words);
    else
        vat_set_reason(vat, ERROR_SYSTEM, "its worker ended with exit status %d%s%s", exit_status,
                       said[0] != '\0' ? ": " : "", said);
}

void __attribute__((format(printf, 3, 4)))
vat_kill_for(struct vat *vat, enum error_kind blame, const char *format, ...)
{
    char words[VAT_WORDS_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    vat_set_reason(vat, blame, "%s", words);
    vat_event(vat, VAT_EVENT_BAD);
}

void vat_show_words(struct vat *vat)
{
    bool starting = vat->state == VAT_STARTING || vat->state == VAT_LOADING || vat->starts;

    if (vat->last_words[0] != '\0' && !starting && vat->state != VAT_REPLAYING)
        log_line("%s: %s", vat->name[0] != '\0' ? vat->name : vat->id_text, vat->last_words);
    vat->last_words[0] = '\0';
}

/* How many lines the source of its contract has; 0: that is not known. */
static long count_lines(struct vat *vat)
{
    struct buf bundle = {0};
    struct error error;
    bool found = false;
    long lines = 0;

    if (store_bundle_get(vat->warehouse->options.store, vat->bundle_id, &bundle, &found, &error) ==
            0 &&
        found)
        lines = contract_file_lines(&bundle);
    buf_free(&bundle);
    return lines;
}

/* A syntax error's line is only on the worker's stderr (worker/xs/engine_xs_platform.c). */
void vat_place_syntax_error(struct vat *vat, struct buf *words)
{
    static const char mark[] = "gaspipe-worker: line ";
    long line, lines;

    worker_process_read_words(vat->process);
    if (buf_string(words) == NULL ||
        strncmp(words->data, "SyntaxError", strlen("SyntaxError")) != 0 ||
        strncmp(vat->last_words, mark, strlen(mark)) != 0)
        return;
    line = strtol(vat->last_words + strlen(mark), NULL, 10);
    lines = count_lines(vat);
    /* What is missing at the end is missed in a line that the runtime appended. */
    if (lines > 0 && line > lines)
        line = lines;
    buf_clear(words);
    buf_printf(words, "contract.js:%ld: SyntaxError%s", line,
               strchrnul(vat->last_words + strlen(mark), ':'));
}
