/* What every test program includes: cmocka in the order it needs. */
#ifndef NAS_TESTS_CHECK_H
#define NAS_TESTS_CHECK_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

/* The folder of shared benchmark tables, or NULL: tests that need it skip loudly without it. */
const char *check_data_dir(void);

#endif
