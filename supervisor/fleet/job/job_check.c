/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/job/job_check.h"

#include <string.h>

#include "supervisor/fleet/span/shared_path.h"
#include "supervisor/fleet/transport/transport.h"

enum { FILE_NAME_MAX = 100 };

bool job_check_hash(const json_t *value)
{
    const char *text = json_string_value(value);

    return text != NULL && strlen(text) == FLEET_HASH_SIZE - 1 &&
           strspn(text, "0123456789abcdef") == FLEET_HASH_SIZE - 1;
}

bool job_check_vat_id(const json_t *value)
{
    const char *text = json_string_value(value);

    return text != NULL && text[0] == 'v' && strlen(text) < 32 &&
           strspn(text + 1, "0123456789") == strlen(text + 1);
}

bool job_check_none(const json_t *value)
{
    return json_is_string(value) && json_string_length(value) == 0;
}

/* No path, no hidden file, no option. */
static bool is_file_name(const json_t *value)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    const char *text = json_string_value(value);

    return text != NULL && text[0] != '\0' && strchr("-.", text[0]) == NULL &&
           strlen(text) <= FILE_NAME_MAX && strspn(text, allowed) == strlen(text);
}

bool job_check_files(const json_t *files)
{
    const json_t *file;
    size_t index;

    json_array_foreach(files, index, file)
    {
        if (!is_file_name(json_object_get(file, "name")) ||
            !job_check_hash(json_object_get(file, "object")) ||
            (json_object_get(file, "shared") != NULL &&
             !shared_path_is(json_object_get(file, "shared"))))
            return false;
    }
    return json_array_size(files) > 0;
}

static bool is_allowed(const char *argument, const char *const *allowed, size_t count)
{
    for (size_t i = 0; argument != NULL && i < count; i++)
        if (strncmp(argument, allowed[i], strlen(allowed[i])) == 0)
            return true;
    return false;
}

bool job_check_arguments(const json_t *arguments, const char *const *allowed, size_t count)
{
    const json_t *argument;
    size_t index;

    json_array_foreach(arguments, index, argument)
    {
        if (!is_allowed(json_string_value(argument), allowed, count))
            return false;
    }
    return json_is_array(arguments);
}
