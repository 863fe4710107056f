/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/bundle/replay_bundle.h"

#include <string.h>

int replay_bundle_set(struct replay_bundle *bundle, struct scan_span json, struct error *error)
{
    buf_clear(&bundle->upgrade); /* it is this one */
    buf_clear(&bundle->json);
    buf_append(&bundle->json, json.at, json.length);
    /* The zeros terminate it, too. */
    if (buf_reserve(&bundle->json, SCAN_PADDING) != 0 || buf_failed(&bundle->json))
        return error_memory(error, "a bundle");
    memset(bundle->json.data + json.length, 0, SCAN_PADDING);
    return 0;
}

int replay_bundle_note_upgrade(struct replay_bundle *bundle, struct scan_span id,
                               struct error *error)
{
    buf_clear(&bundle->upgrade);
    return buf_append(&bundle->upgrade, id.at, id.length) == 0 ? 0
                                                               : error_memory(error, "a bundle");
}

int replay_bundle_upgrade(struct replay_bundle *bundle, struct scan_span json, struct error *error)
{
    buf_free(&bundle->before);
    bundle->before = bundle->json;
    bundle->json = (struct buf){0};
    return replay_bundle_set(bundle, json, error);
}

bool replay_bundle_is_outdated(const struct replay_bundle *bundle)
{
    struct scan_span json = {bundle->json.data, bundle->json.length};
    struct scan_span hash = scan_string(scan_get(json, "endoZipBase64Sha512"));
    const struct buf *id = &bundle->upgrade;
    const size_t prefix = sizeof "b1-" - 1;

    if (id->length == 0)
        return false;
    return hash.at == NULL || id->length != prefix + hash.length ||
           memcmp(id->data, "b1-", prefix) != 0 ||
           memcmp(id->data + prefix, hash.at, hash.length) != 0;
}

void replay_bundle_settle(struct replay_bundle *bundle, bool well)
{
    if (!well && bundle->before.length > 0) {
        buf_free(&bundle->json);
        bundle->json = bundle->before;
        bundle->before = (struct buf){0};
    }
    buf_free(&bundle->before);
}

void replay_bundle_free(struct replay_bundle *bundle)
{
    buf_free(&bundle->json);
    buf_free(&bundle->upgrade);
    buf_free(&bundle->before);
}
