/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/source/kept_bundle.h"

#include <limits.h>
#include <openssl/evp.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"

enum { BUNDLE_SIZE_MAX = 256 << 20 };

int kept_bundle_put(struct scan_span id, const struct buf *kept, struct buf *bundle,
                    struct error *error)
{
    if (id.length < 3 || memcmp(id.at, "b1-", 3) != 0) {
        buf_append(bundle, kept->data, kept->length);
    } else {
        buf_printf(bundle,
                   "{\"moduleFormat\":\"endoZipBase64\",\"endoZipBase64Sha512\":\"%.*s\","
                   "\"endoZipBase64\":\"",
                   (int)(id.length - 3), id.at + 3);
        if (kept->length < INT_MAX / 2 && buf_reserve(bundle, kept->length / 3 * 4 + 8) == 0)
            bundle->length +=
                (size_t)EVP_EncodeBlock((unsigned char *)bundle->data + bundle->length,
                                        (const unsigned char *)kept->data, (int)kept->length);
        buf_append_string(bundle, "\"}");
    }
    return buf_failed(bundle) ? error_memory(error, "a bundle") : 0;
}

/* b1-HASH: nothing that leads out of the folder. */
static bool is_id(struct scan_span id)
{
    for (size_t i = 0; i < id.length; i++)
        if (strchr("0123456789abcdef-", id.at[i]) == NULL || id.at[i] == '\0')
            return false;
    return id.length > 3;
}

int kept_bundle_read(const char *path, struct scan_span id, struct buf *bundle, bool *found,
                     struct error *error)
{
    const char *slash = strrchr(path, '/');
    struct buf name = {0}, kept = {0};
    int result = 0;

    *found = false;
    if (!is_id(id))
        return 0;
    buf_append(&name, path, slash != NULL ? (size_t)(slash + 1 - path) : 0);
    buf_printf(&name, "bundle.%.*s", (int)id.length, id.at);
    if (buf_string(&name) == NULL)
        result = error_memory(error, "a path");
    else
        *found = access(name.data, R_OK) == 0;
    if (result == 0 && *found)
        result = io_read_file(name.data, BUNDLE_SIZE_MAX, &kept, error);
    if (result == 0 && *found)
        result = kept_bundle_put(id, &kept, bundle, error);
    buf_free(&kept);
    buf_free(&name);
    return result;
}
