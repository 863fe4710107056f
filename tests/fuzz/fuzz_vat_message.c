/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and replies of a worker that sends anything: taken or refused with a reason. */
#include "proto/vat_message.h"
#include "tests/fuzz/fuzz.h"

/* Reads every byte, so that one that is not there is found. */
static unsigned sum(struct vat_text text)
{
    unsigned sum = 0;

    for (size_t i = 0; i < text.length; i++)
        sum += (unsigned char)text.bytes[i];
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static volatile unsigned sink;
    struct vat_request request;
    struct vat_reply reply;
    struct error error;

    if (vat_request_parse(&request, (const char *)data, size, &error) == 0) {
        if (request.kind == VAT_REQUEST_SYSCALL)
            sink = sum(request.syscall.key) + sum(request.syscall.value);
        else
            sink = sum(request.console.source) + sum(request.console.level);
        vat_request_free(&request);
    } else {
        check(error.kind == ERROR_INPUT && error.text[0] != '\0');
    }
    if (vat_reply_parse(&reply, (const char *)data, size, &error) == 0) {
        sink = sum(reply.text);
        vat_reply_free(&reply);
    } else {
        check(error.kind == ERROR_INPUT && error.text[0] != '\0');
    }
    (void)sink;
    return 0;
}
