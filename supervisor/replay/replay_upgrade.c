/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/replay_upgrade.h"

#include <string.h>

#include "supervisor/replay/replay_bundles.h"

int replay_upgrade_note(struct replay_vat *vat, struct scan_span bundle_id, struct error *error)
{
    buf_clear(&vat->upgrade);
    if (buf_append(&vat->upgrade, bundle_id.at, bundle_id.length) != 0)
        return error_memory(error, "a bundle's ID");
    return 0;
}

/* Whether it is the ID of the vat's own bundle, as far as that says so itself. */
static bool is_own(const struct replay_vat *vat, struct scan_span id)
{
    struct scan_span bundle = {vat->bundle.data, vat->bundle.length};
    struct scan_span hash = scan_string(scan_get(bundle, "endoZipBase64Sha512"));
    const size_t prefix = sizeof "b1-" - 1;

    return hash.at != NULL && id.length == prefix + hash.length &&
           memcmp(id.at, "b1-", prefix) == 0 && memcmp(id.at + prefix, hash.at, hash.length) == 0;
}

static int change_bundle(struct replay_vat *vat, const struct buf *bundle, struct error *error)
{
    buf_free(&vat->before);
    vat->before = vat->bundle;
    vat->bundle = (struct buf){0};
    return replay_vat_keep_bundle(vat, (struct scan_span){bundle->data, bundle->length}, error);
}

int replay_upgrade_begin(struct replay_vat *vat, struct error *error)
{
    struct scan_span id = {vat->upgrade.data, vat->upgrade.length};
    const struct buf *bundle;
    int result = 0;

    if (id.length == 0)
        return 0;
    if (!is_own(vat, id)) {
        bundle = replay_bundles_find(vat->worker.host->bundles, id);
        if (bundle == NULL)
            return replay_vat_skip(vat,
                                   "it was upgraded to a bundle that the file does not hold; give "
                                   "it with --bundle: %.*s",
                                   (int)(id.length < 140 ? id.length : 140), id.at);
        result = change_bundle(vat, bundle, error);
    }
    buf_clear(&vat->upgrade);
    return result;
}

void replay_upgrade_end(struct replay_vat *vat, bool well)
{
    if (!well && vat->before.length > 0) {
        buf_free(&vat->bundle);
        vat->bundle = vat->before;
        vat->before = (struct buf){0};
    }
    buf_free(&vat->before);
}
