/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SANDBOX_SANITIZED_H
#define GASPIPE_SANDBOX_SANITIZED_H

/* 1 in a build with sanitizers, whose reports need what the sandbox refuses. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_UNDEFINED__)
#define SANDBOX_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#define SANDBOX_SANITIZED 1
#endif
#endif
#ifndef SANDBOX_SANITIZED
#define SANDBOX_SANITIZED 0
#endif

#endif
