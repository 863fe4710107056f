/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_MUSL_BITS_FLOAT_H
#define GASPIPE_METER_MUSL_BITS_FLOAT_H

/* long double is double on each machine (-mlong-double-64). */
#define FLT_EVAL_METHOD 0

#define LDBL_TRUE_MIN 4.94065645841246544177e-324L
#define LDBL_MIN      2.22507385850720138309e-308L
#define LDBL_MAX      1.79769313486231570815e+308L
#define LDBL_EPSILON  2.22044604925031308085e-16L

#define LDBL_MANT_DIG 53
#define LDBL_MIN_EXP  (-1021)
#define LDBL_MAX_EXP  1024

#define LDBL_DIG        15
#define LDBL_MIN_10_EXP (-307)
#define LDBL_MAX_10_EXP 308

#define DECIMAL_DIG 17

#endif
