/* SPDX-License-Identifier: Apache-2.0 */
/* A line of a deliveries file that is taken has a vat, a target and capdata. */
#include "proto/vat_message.h"
#include "supervisor/delivery_line.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct delivery_line line;
    struct error error;

    if (delivery_line_parse(&line, (const char *)data, size, &error) == 0) {
        check(line.vat != NULL && line.target != NULL);
        check(vat_message_is_capdata(line.methargs));
        delivery_line_free(&line);
    } else {
        check(error.kind == ERROR_INPUT && error.text[0] != '\0');
    }
    return 0;
}
