/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/contract_file.h"

#include <jansson.h>
#include <stdlib.h>

#include "base/io.h"

/* Bytes; with its JSON it must fit in a frame. */
enum { CONTRACT_SIZE_MAX = 32 << 20 };

static int count_lines(const struct buf *text)
{
    int lines = text->length > 0 && text->data[text->length - 1] != '\n';

    for (size_t i = 0; i < text->length; i++)
        lines += text->data[i] == '\n';
    return lines;
}

static int make_bundle(struct contract_file *contract, const char *path, const struct buf *source,
                       struct error *error)
{
    json_t *text = json_stringn(source->data != NULL ? source->data : "", source->length);
    char *json;
    int result = 0;

    if (text == NULL)
        return error_set(error, ERROR_INPUT, "%s: is not UTF-8 text", path);
    json = json_dumps(text, JSON_ENCODE_ANY);
    if (json == NULL || buf_printf(&contract->bundle,
                                   "{\"moduleFormat\":\"gaspipePlain\",\"source\":%s}", json) != 0)
        result = error_memory(error, "a contract");
    free(json);
    json_decref(text);
    return result;
}

int contract_file_read(struct contract_file *contract, const char *path, struct error *error)
{
    struct buf source = {0};
    int result = io_read_file(path, CONTRACT_SIZE_MAX, &source, error);

    if (result == 0) {
        contract->lines = count_lines(&source);
        result = make_bundle(contract, path, &source, error);
    }
    buf_free(&source);
    return result;
}
