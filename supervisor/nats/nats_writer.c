/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/nats/nats_writer.h"

#include <stdio.h>
#include <string.h>

enum { ANSWER_MS = 2000 };

int nats_writer_open(struct nats_writer *writer, struct nats_link *link, const char *subject,
                     struct error *error)
{
    jsStreamNamesList *names = NULL;
    jsErrCode code = 0;
    jsOptions options;
    natsStatus status;
    bool found;

    *writer = (struct nats_writer){.link = link};
    (void)jsOptions_Init(&options); /* fails without its argument only */
    options.Stream.Info.SubjectsFilter = subject;
    status = js_StreamNames(&names, link->js, &options, &code);
    if (status != NATS_OK && status != NATS_NOT_FOUND)
        return nats_link_fail(link, status, code, "list its streams", error);
    found = status == NATS_OK && names->Count > 0;
    if (found)
        snprintf(writer->stream, sizeof writer->stream, "%s", names->List[0]);
    jsStreamNamesList_Destroy(names);
    if (found)
        return 0;
    return error_set(error, ERROR_INPUT, "%s: no stream takes the subject %s", link->name, subject);
}

/* Whether the message of the subject has this ID. */
static int compare_id(struct nats_writer *writer, const char *subject, const char *id,
                      struct error *error)
{
    natsMsg *message = NULL;
    jsErrCode code = 0;
    natsStatus status =
        js_GetLastMsg(&message, writer->link->js, writer->stream, subject, NULL, &code);
    const char *found = "";
    int result = 0;

    if (status == NATS_OK && natsMsgHeader_Get(message, "Nats-Msg-Id", &found) != NATS_OK)
        found = "";
    if (status != NATS_OK) {
        result = nats_link_fail_for_now(writer->link, status, code, "read a result", error);
    } else if (strcmp(found, id) != 0) {
        result = error_set(error, ERROR_INPUT, "%s: the subject %s has the result of another run",
                           writer->link->name, subject);
    }
    natsMsg_Destroy(message);
    return result;
}

int nats_writer_put(struct nats_writer *writer, const char *subject, const char *id,
                    const char *bytes, size_t length, struct error *error)
{
    jsErrCode code = 0;
    jsPubOptions options;
    natsStatus status;

    (void)jsPubOptions_Init(&options); /* fails without its argument only */
    options.MaxWait = ANSWER_MS;
    options.MsgId = id;
    options.ExpectStream = writer->stream;
    /* The server forgets IDs after a while, two minutes unless told otherwise; not subjects. */
    options.ExpectNoMessage = true;
    status = js_Publish(NULL, writer->link->js, subject, bytes, (int)length, &options, &code);
    if (status == NATS_OK)
        return 0;
    if (code == JSStreamWrongLastSequenceErr)
        return compare_id(writer, subject, id, error);
    return nats_link_fail_for_now(writer->link, status, code, "publish a result", error);
}
