/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_DELIVERY_LOG_SLOG_H
#define GASPIPE_SUPERVISOR_DELIVERY_LOG_SLOG_H

#include "supervisor/schedule/delivery_log.h"

/* The lines of a crank in the slog; each does nothing where none is written. */

int delivery_log_slog_deliver(struct delivery_log *log, struct error *error);
int delivery_log_slog_syscall(struct delivery_log *log, const struct vat_syscall *syscall,
                              const struct kernel_syscall_texts *texts, struct stamp come,
                              struct error *error);
int delivery_log_slog_syscall_result(struct delivery_log *log, const struct vat_syscall *syscall,
                                     const struct kernel_syscall_texts *texts, struct stamp come,
                                     struct stamp answered, struct error *error);
int delivery_log_slog_console(struct delivery_log *log, const struct vat_console *console,
                              struct stamp come, struct error *error);
int delivery_log_slog_result(struct delivery_log *log, const struct delivery_log_end *end,
                             struct error *error);

/* The host's trouble cost the delivery, which is tried again: the tally of its tries. */
int delivery_log_slog_trouble(struct delivery_log *log, const char *problem, unsigned tries,
                              struct error *error);

/* What the kernel tells: these need no delivery. */

int delivery_log_slog_start(struct slog_writer *slog, const struct kernel_crank *crank,
                            struct stamp started, struct error *error);
int delivery_log_slog_finish(struct slog_writer *slog, const struct kernel_crank_end *end,
                             struct stamp started, struct error *error);
int delivery_log_slog_clist(struct slog_writer *slog, int64_t crank_num,
                            const struct kernel_clist_change *change, struct error *error);
int delivery_log_slog_terminate(struct slog_writer *slog,
                                const struct kernel_termination *termination, struct error *error);

#endif
