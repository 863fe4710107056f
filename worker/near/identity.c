/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/near/identity.h"

#include <stdio.h>
#include <string.h>

#include "base/json/json_value.h"
#include "worker/near/call/parameters.h"
#include "worker/near/call/receipt.h"

const struct near_identity near_identity_unknown = {.account = "contract.near",
                                                    .protocol = "newest"};

/* A vat may have a name that is no account's. */
static void take_account(struct near_identity *identity, const char *name)
{
    if (name != NULL && near_is_account(name, strlen(name)))
        snprintf(identity->account, sizeof identity->account, "%s", name);
}

static int take_protocol(struct near_identity *identity, const char *version, struct error *error)
{
    struct near_parameters parameters;

    if (version == NULL)
        return 0;
    if (near_parameters_read(&parameters, version, error) != 0)
        return -1;
    snprintf(identity->protocol, sizeof identity->protocol, "%s", version);
    return 0;
}

/* A device stands in smallcaps as "$N", or "$N.words", with N in the slots. */
static void take_device(struct near_identity *identity, const char *text, const json_t *slots)
{
    const char *slot =
        text != NULL && text[0] == '$' ? json_string_value(json_array_get(slots, 0)) : NULL;

    if (slot != NULL && strlen(slot) < sizeof identity->accounts)
        snprintf(identity->accounts, sizeof identity->accounts, "%s", slot);
}

int near_identity_read(struct near_identity *identity, const json_t *parameters,
                       struct error *error)
{
    const json_t *body = json_object_get(parameters, "body");
    const char *text = json_string_value(body);
    json_t *tree = NULL;
    int result;

    if (text != NULL && text[0] == '#')
        tree = json_value_read_inner(text + 1, json_string_length(body) - 1, JSON_ALLOW_NUL);
    take_account(identity, json_string_value(json_object_get(tree, "account")));
    take_device(identity, json_string_value(json_object_get(tree, "accounts")),
                json_object_get(parameters, "slots"));
    result = take_protocol(identity, json_string_value(json_object_get(tree, "protocol")), error);
    json_decref(tree);
    return result;
}

static bool is_ended(const char *text, size_t size)
{
    return memchr(text, '\0', size) != NULL;
}

int near_identity_take(struct near_identity *identity, const void *bytes)
{
    memcpy(identity, bytes, sizeof *identity);
    return is_ended(identity->account, sizeof identity->account) &&
                   is_ended(identity->accounts, sizeof identity->accounts) &&
                   is_ended(identity->protocol, sizeof identity->protocol)
               ? 0
               : -1;
}

const char *near_identity_accounts(const struct near_identity *identity)
{
    return identity->accounts[0] != '\0' ? identity->accounts : NULL;
}
