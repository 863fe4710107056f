/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/schedule/vat_registrar.h"

#include <inttypes.h>

int vat_registrar_provide(const struct vat_registrar *registrar, const struct kernel_vat *vat,
                          struct error *error)
{
    const struct warehouse_vat described = {
        .id = vat->id,
        .name = vat->name,
        .bundle_id = vat->bundle_id,
        .dynamic = vat->dynamic,
        .incarnation = vat->incarnation,
        .first_delivery = vat->first_delivery,
        .deliveries = vat->deliveries,
        .limits = vat->limits,
    };

    if (vat->limits.instructions > 0 && !registrar->counted)
        return error_set(error, ERROR_INPUT,
                         "vat %s was made with --max-instructions %" PRId64
                         ", which only --counter qemu can enforce",
                         vat->name, vat->limits.instructions);
    if (vat->limits.cost > 0 && !registrar->metered)
        return error_set(error, ERROR_INPUT,
                         "vat %s was made with --max-cost %" PRId64
                         ", which only --counter compiled can enforce",
                         vat->name, vat->limits.cost);
    return warehouse_provide(registrar->warehouse, &described, error);
}

static int provide_living(const struct vat_registrar *registrar, int64_t vat, bool *lives,
                          struct error *error)
{
    struct kernel_vat described;
    int result = kernel_vat_get(registrar->kernel, vat, &described, lives, error);

    if (result != 0 || !*lives)
        return result;
    result = vat_registrar_provide(registrar, &described, error);
    kernel_vat_free(&described);
    return result;
}

int vat_registrar_update(const struct vat_registrar *registrar, int64_t vat, struct error *error)
{
    bool lives;

    return provide_living(registrar, vat, &lives, error);
}

int vat_registrar_prepare(const struct vat_registrar *registrar,
                          const struct kernel_delivery *delivery, struct error *error)
{
    bool lives = true;

    if (!delivery->starts_incarnation && warehouse_knows(registrar->warehouse, delivery->vat))
        return 0;
    if (provide_living(registrar, delivery->vat, &lives, error) != 0)
        return -1;
    return lives ? 0
                 : error_set(error, ERROR_SYSTEM,
                             "the kernel delivers to v%" PRId64 ", which has been terminated",
                             delivery->vat);
}

int vat_registrar_stop(const struct vat_registrar *registrar, int64_t vat, struct error *error)
{
    struct kernel_vat described;
    bool lives;
    int result = kernel_vat_get(registrar->kernel, vat, &described, &lives, error);

    if (result != 0)
        return result;
    if (!lives) {
        warehouse_remove(registrar->warehouse, vat);
        return 0;
    }
    warehouse_put_away(registrar->warehouse, vat);
    result = vat_registrar_provide(registrar, &described, error);
    kernel_vat_free(&described);
    return result;
}
