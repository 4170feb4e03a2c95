/* Expectations of the C tests: each says what it is and where; the program's status tells whether any failed.
 */
#ifndef TRELLIS_TESTS_C_API_EXPECT_H_
#define TRELLIS_TESTS_C_API_EXPECT_H_

#include <stdio.h>
#include <string.h>

static int expect_failures = 0;

#define EXPECT(condition)                                                     \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      ++expect_failures;                                                      \
    }                                                                         \
  } while (0)

/* A call that must succeed; `why` is its message. */
#define EXPECT_OK(call, why)                                                                       \
  do {                                                                                             \
    const trellis_status status_ = (call);                                                         \
    if (status_ != TRELLIS_OK) {                                                                   \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, trellis_status_name(status_), (why)); \
      ++expect_failures;                                                                           \
    }                                                                                              \
  } while (0)

/* An error whose message contains `words`. */
#define EXPECT_ERROR(code, words, call, why)                                             \
  do {                                                                                   \
    const trellis_status status_ = (call);                                               \
    if (status_ != (code) || strstr((why), (words)) == NULL) {                           \
      fprintf(stderr, "%s:%d: %s \"%s\", expected %s with \"%s\"\n", __FILE__, __LINE__, \
              trellis_status_name(status_), (why), trellis_status_name(code), (words));  \
      ++expect_failures;                                                                 \
    }                                                                                    \
  } while (0)

#endif
