/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_PROTO_VAT_MESSAGE_H
#define GASPIPE_PROTO_VAT_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "proto/meter.h"

/*
 * The JSON inside `?` and `/` frames, as between SwingSet's manager and its xsnap supervisor (npm
 * @agoric/swingset-vat 0.33.0 and @agoric/swingset-xsnap-supervisor 0.11.0). A worker's messages
 * are checked here once; the kernel then uses the structures.
 */

/* ---- down: kernel to worker ---- */

/* Appends the message; texts named `_json` are JSON already. */
void vat_message_set_bundle(struct buf *buf, const char *vat_id, const char *bundle_json,
                            const char *options_json);

/* ---- up: worker to kernel ---- */

enum vat_syscall_kind {
    VAT_SYSCALL_STORE_GET,      /* ["vatstoreGet", key] */
    VAT_SYSCALL_STORE_SET,      /* ["vatstoreSet", key, value] */
    VAT_SYSCALL_STORE_DELETE,   /* ["vatstoreDelete", key] */
    VAT_SYSCALL_STORE_NEXT_KEY, /* ["vatstoreGetNextKey", priorKey] */
    VAT_SYSCALL_RESOLVE,        /* ["resolve", [[vpid, rejected, capdata], ...]] */
    VAT_SYSCALL_SEND,           /* ["send", target, {methargs: capdata, result: vpid or null}] */
    VAT_SYSCALL_SUBSCRIBE,      /* ["subscribe", vpid] */
    VAT_SYSCALL_CALL_NOW,       /* ["callNow", target, method, capdata] */
    VAT_SYSCALL_EXIT,           /* ["exit", isFailure, capdata] */
    VAT_SYSCALL_DROP_IMPORTS,   /* ["dropImports", [vref, ...]], as the three that follow */
    VAT_SYSCALL_RETIRE_IMPORTS,
    VAT_SYSCALL_RETIRE_EXPORTS,
    VAT_SYSCALL_ABANDON_EXPORTS,
};

/* A string of JSON: UTF-8, may hold '\0', not owned. */
struct vat_text {
    const char *bytes;
    size_t length;
};

struct vat_syscall {
    enum vat_syscall_kind kind;
    const char *name; /* its word in the message; static */
    struct vat_text key;
    struct vat_text value;
    struct vat_text target;    /* of send, subscribe and callNow */
    struct vat_text method;    /* of callNow */
    struct vat_text result;    /* for send; bytes is NULL if the vat wants none */
    bool is_failure;           /* of exit */
    const json_t *capdata;     /* checked: methargs of send, arguments of callNow, info of exit */
    const json_t *references;  /* checked: array of strings */
    const json_t *resolutions; /* checked: array of [string, bool, capdata] */
    const json_t *object;      /* the whole VatSyscallObject; NULL where `text` has it, */
    struct vat_text text;      /* as JSON that needs no writing; bytes is NULL: `object` has it */
};

enum vat_request_kind {
    VAT_REQUEST_SYSCALL,
    VAT_REQUEST_CONSOLE,
};

struct vat_console {
    struct vat_text source;
    struct vat_text level;
    json_t *arguments; /* owned by the request */
};

struct vat_request {
    enum vat_request_kind kind;
    struct vat_syscall syscall;
    struct vat_console console;
    json_t *message; /* owned; the rest points into it. NULL: it points into what was parsed, */
    char *kept;      /* or into this, owned */
};

/*
 * Parses a worker's request; `json` must stay valid while the request is used. -1 with ERROR_INPUT
 * if it is invalid: not JSON, an unknown word, a wrong type, a missing or surplus element. On
 * success the caller frees it with vat_request_free().
 */
int vat_request_parse(struct vat_request *request, const char *json, size_t length,
                      struct error *error);
void vat_request_free(struct vat_request *request);

/* Copies a request independently of the parsed text, to be freed as well. -1 when out of memory. */
int vat_request_keep(struct vat_request *kept, const struct vat_request *request);

/* Compares two requests; the approximate size of a request in bytes. */
bool vat_request_same(const struct vat_request *one, const struct vat_request *other);
size_t vat_request_size(const struct vat_request *request);

enum vat_reply_kind {
    VAT_REPLY_READY, /* ["dispatchReady"] */
    VAT_REPLY_OK,    /* ["ok", null] */
    VAT_REPLY_ERROR, /* ["error", message], ["error", message, stack] or ["err", name, message] */
};

struct vat_reply {
    enum vat_reply_kind kind;
    struct vat_text text;  /* of VAT_REPLY_ERROR */
    struct vat_text stack; /* likewise; bytes is NULL if absent */
    json_t *message;       /* owned; the texts point into it */
};

/* Reads the RESULT of a `.` frame; as vat_request_parse(). */
int vat_reply_parse(struct vat_reply *reply, const char *json, size_t length, struct error *error);
void vat_reply_free(struct vat_reply *reply);

/* Returns true if it is {"body": string, "slots": [string, ...]}. */
bool vat_message_is_capdata(const json_t *value);

/*
 * Appends the `dr` of the slog's deliver-result lines: ["ok",VALUE,METER] with the value as JSON,
 * null if NULL; ["error",WORDS,METER] if there is a problem; METER is null if the worker died
 * (`meter` is NULL).
 */
void delivery_result_put(struct buf *dr, const char *problem, const char *value,
                         const struct meter *meter);

#endif
