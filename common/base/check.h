#pragma once

#include <cstdio>
#include <cstdlib>

// CHECK(condition) states an invariant. A broken one means the program no longer knows what it is
// doing: it prints the place and aborts, in release builds too, and is restarted from clean state.
#define CHECK(condition)                                                                   \
  do {                                                                                     \
    if (!(condition)) [[unlikely]] {                                                       \
      std::fprintf(stderr, "CHECK failed: %s at %s:%d\n", #condition, __FILE__, __LINE__); \
      std::abort();                                                                        \
    }                                                                                      \
  } while (false)
