/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_PASS_IR_OPCODE_NAME_H
#define GASPIPE_METER_PASS_IR_OPCODE_NAME_H

#include <llvm-c/Core.h>

/* An instruction's name in LLVM's language; "default" for one that this does not know. */
const char *opcode_name(LLVMOpcode opcode);

#endif
