zygote.o: supervisor/process/zygote/zygote.c \
  supervisor/process/zygote/zygote.h base/error.h proto/fork_request.h \
  supervisor/process/child_process.h

supervisor/process/zygote/zygote.h:

base/error.h:

proto/fork_request.h:

supervisor/process/child_process.h:
