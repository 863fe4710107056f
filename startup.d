startup.o: supervisor/schedule/startup.c supervisor/schedule/startup.h \
  base/error.h supervisor/schedule/snapshot_policy.h \
  supervisor/schedule/vat_registrar.h kernel/kernel.h base/buf.h \
  proto/vat_message.h supervisor/vats/warehouse.h base/stamp.h \
  proto/meter.h slog/write/writer.h store/store.h \
  supervisor/process/launcher.h supervisor/process/confinement.h \
  sandbox/control_group.h sandbox/probe.h supervisor/process/guest.h \
  supervisor/process/placement/placement.h \
  supervisor/process/placement/placement_auto.h \
  supervisor/process/worker_process.h \
  supervisor/process/pipe/save_head.h supervisor/process/zygote/zygote.h \
  proto/fork_request.h supervisor/process/child_process.h \
  supervisor/process/zygote/nursery.h base/array.h

supervisor/schedule/startup.h:

base/error.h:

supervisor/schedule/snapshot_policy.h:

supervisor/schedule/vat_registrar.h:

kernel/kernel.h:

base/buf.h:

proto/vat_message.h:

supervisor/vats/warehouse.h:

base/stamp.h:

proto/meter.h:

slog/write/writer.h:

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

base/array.h:
