/* SPDX-License-Identifier: Apache-2.0 */
#include "store/statements.h"
#include "store/store.h"

int store_bundle_put(struct store *store, const char *id, struct iovec json, struct error *error)
{
    statement_bind_text(store, STATEMENT_BUNDLE_PUT, 1, id);
    statement_bind_blob(store, STATEMENT_BUNDLE_PUT, 2, json);
    return statement_run(store, STATEMENT_BUNDLE_PUT, error);
}

int store_bundle_get(struct store *store, const char *id, struct buf *json, bool *found,
                     struct error *error)
{
    statement_bind_text(store, STATEMENT_BUNDLE_GET, 1, id);
    return statement_take_blob(store, STATEMENT_BUNDLE_GET, json, found, error);
}
