/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_CRANK_SLOG_H
#define GASPIPE_SUPERVISOR_CRANK_SLOG_H

#include "supervisor/crank.h"

/* The lines of a crank in the slog; each does nothing where none is written. */

int crank_slog_deliver(struct crank *crank, struct error *error);
int crank_slog_syscall(struct crank *crank, const struct vat_syscall *syscall, const char *ksc,
                       struct stamp come, struct error *error);
int crank_slog_syscall_result(struct crank *crank, const struct vat_syscall *syscall,
                              const struct kernel_syscall_texts *texts, struct stamp come,
                              struct stamp answered, struct error *error);
int crank_slog_console(struct crank *crank, const struct vat_console *console, struct stamp come,
                       struct error *error);
int crank_slog_result(struct crank *crank, const struct crank_end *end, struct error *error);

/* What the kernel tells: these need no delivery. */

int crank_slog_start(struct slog_writer *slog, const struct kernel_crank *crank,
                     struct stamp started, struct error *error);
int crank_slog_finish(struct slog_writer *slog, const struct kernel_crank_end *end,
                      struct stamp started, struct error *error);
int crank_slog_clist(struct slog_writer *slog, int64_t crank_num,
                     const struct kernel_clist_change *change, struct error *error);
int crank_slog_terminate(struct slog_writer *slog, const struct kernel_termination *termination,
                         struct error *error);

#endif
