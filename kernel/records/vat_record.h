/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_RECORDS_VAT_RECORD_H
#define GASPIPE_KERNEL_RECORDS_VAT_RECORD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kernel/kernel.h"

/* Records of vats: vN.options, vN.source, vN.deliveries, vN.reapDirt, vN.o.nextID and others;
 * and vat.names, vat.name.NAME, vat.dynamicIDs, vats.terminated. */

/* Takes the next vat number. */
int vat_record_take_number(struct kernel *kernel, int64_t *vat, struct error *error);

struct vat_record {
    const char *name;
    const char *bundle_id;
    enum kernel_vat_runtime runtime;
    const json_t *reap_threshold; /* {"deliveries":N or "never","gcKrefs":...}, each where it
                                     differs; NULL: {} */
    const char *meter_id;         /* NULL: none */
    bool critical;
    bool brings_limit; /* as in kernel_vat_setup; not read */
};

/* Writes the records of a new vat. */
int vat_record_create(struct kernel *kernel, int64_t vat, const struct vat_record *record,
                      struct error *error);

/* The same as read; `options` and `source` own the texts. */
struct vat_reading {
    struct vat_record record;
    json_t *options, *source;
};
int vat_record_read(struct kernel *kernel, int64_t vat, struct vat_reading *reading,
                    struct error *error);
void vat_record_free(struct vat_reading *reading);

/* Used by upgrades. */
int vat_record_set_bundle(struct kernel *kernel, int64_t vat, const char *bundle_id,
                          struct error *error);
int vat_record_set_option(struct kernel *kernel, int64_t vat, const char *name, json_t *value,
                          struct error *error);

/* Sets vatParameters, capdata with krefs, and counts these. */
int vat_record_set_parameters(struct kernel *kernel, int64_t vat, const json_t *parameters,
                              struct error *error);

/* The vat's position in its deliveries. */
struct vat_position {
    int64_t incarnation;  /* from 0 */
    int64_t position;     /* of its next delivery in the incarnation's transcript */
    int64_t delivery_num; /* of its next delivery */
};
int vat_record_position(struct kernel *kernel, int64_t vat, struct vat_position *position,
                        struct error *error);
int vat_record_set_position(struct kernel *kernel, int64_t vat, const struct vat_position *position,
                            struct error *error);

/* *lives: the vat has records and has not ended. */
int vat_record_lives(struct kernel *kernel, int64_t vat, bool *lives, struct error *error);
int vat_record_is_terminated(struct kernel *kernel, int64_t vat, bool *terminated,
                             struct error *error);

/* Returns the first vat that needs cleaning up; 0: none. */
int vat_record_first_terminated(struct kernel *kernel, int64_t *vat, struct error *error);
int vat_record_forget_terminated(struct kernel *kernel, int64_t vat, struct error *error);

/* Moves the vat from the lists of living vats to those that need cleaning up. */
int vat_record_mark_terminated(struct kernel *kernel, int64_t vat, struct error *error);

/* Registers a static vat's name, which is kept after the vat's end. */
int vat_record_name(struct kernel *kernel, const char *name, int64_t vat, struct error *error);
int vat_record_named(struct kernel *kernel, const char *name, int64_t *vat, bool *found,
                     struct error *error);

/* Appends the name of a static vat, as vat_record_named() finds it; nothing for another. */
int vat_record_name_of(struct kernel *kernel, int64_t vat, struct buf *name, struct error *error);

/* Reads the records of a static vat that has ended, as vat_record_read() does for living ones. */
int vat_record_ended(struct kernel *kernel, const char *name, int64_t *vat, struct buf *bundle_id,
                     enum kernel_vat_runtime *runtime, bool *found, struct error *error);
int vat_record_add_dynamic(struct kernel *kernel, int64_t vat, struct error *error);
int vat_record_is_dynamic(struct kernel *kernel, int64_t vat, bool *dynamic, struct error *error);

/* Returns the living vat with the next number; 0 as `after`: the first. */
int vat_record_next(struct kernel *kernel, int64_t after, int64_t *vat, bool *found,
                    struct error *error);

#endif
