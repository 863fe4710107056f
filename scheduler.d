scheduler.o: supervisor/schedule/scheduler.c \
  supervisor/schedule/scheduler.h base/error.h kernel/kernel.h \
  base/buf.h proto/vat_message.h slog/write/writer.h base/stamp.h \
  store/store.h supervisor/process/launcher.h \
  supervisor/process/confinement.h sandbox/control_group.h \
  sandbox/probe.h supervisor/process/guest.h \
  supervisor/process/placement/placement.h \
  supervisor/process/placement/placement_auto.h \
  supervisor/process/worker_process.h \
  supervisor/process/pipe/save_head.h supervisor/process/zygote/zygote.h \
  proto/fork_request.h supervisor/process/child_process.h \
  supervisor/process/zygote/nursery.h \
  supervisor/schedule/log/delivery_report.h proto/meter.h \
  slog/model/model.h gas/gas_model.h slog/model/entries.h \
  slog/read/names.h slog/read/record.h base/json/scan.h \
  slog/model/phases.h supervisor/process/worker_exit.h \
  supervisor/schedule/snapshot_policy.h base/log.h \
  supervisor/schedule/active_crank.h \
  supervisor/schedule/delivery_route.h supervisor/vats/warehouse.h \
  supervisor/schedule/log/delivery_log.h \
  supervisor/schedule/log/report_builder.h \
  supervisor/schedule/log/delivery_times.h slog/model/spans.h \
  supervisor/schedule/vat_registrar.h supervisor/schedule/commit_sync.h \
  supervisor/schedule/retry.h \
  supervisor/schedule/speculation/speculation.h \
  supervisor/schedule/startup.h

supervisor/schedule/scheduler.h:

base/error.h:

kernel/kernel.h:

base/buf.h:

proto/vat_message.h:

slog/write/writer.h:

base/stamp.h:

store/store.h:

supervisor/process/launcher.h:

supervisor/process/confinement.h:

sandbox/control_group.h:

sandbox/probe.h:

supervisor/process/guest.h:

supervisor/process/placement/placement.h:

supervisor/process/placement/placement_auto.h:

supervisor/process/worker_process.h:

supervisor/process/pipe/save_head.h:

supervisor/process/zygote/zygote.h:

proto/fork_request.h:

supervisor/process/child_process.h:

supervisor/process/zygote/nursery.h:

supervisor/schedule/log/delivery_report.h:

proto/meter.h:

slog/model/model.h:

gas/gas_model.h:

slog/model/entries.h:

slog/read/names.h:

slog/read/record.h:

base/json/scan.h:

slog/model/phases.h:

supervisor/process/worker_exit.h:

supervisor/schedule/snapshot_policy.h:

base/log.h:

supervisor/schedule/active_crank.h:

supervisor/schedule/delivery_route.h:

supervisor/vats/warehouse.h:

supervisor/schedule/log/delivery_log.h:

supervisor/schedule/log/report_builder.h:

supervisor/schedule/log/delivery_times.h:

slog/model/spans.h:

supervisor/schedule/vat_registrar.h:

supervisor/schedule/commit_sync.h:

supervisor/schedule/retry.h:

supervisor/schedule/speculation/speculation.h:

supervisor/schedule/startup.h:
