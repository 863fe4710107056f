nursery.o: supervisor/process/zygote/nursery.c \
  supervisor/process/zygote/nursery.h supervisor/process/zygote/zygote.h \
  base/error.h proto/fork_request.h supervisor/process/child_process.h \
  base/buf.h

supervisor/process/zygote/nursery.h:

supervisor/process/zygote/zygote.h:

base/error.h:

proto/fork_request.h:

supervisor/process/child_process.h:

base/buf.h:
