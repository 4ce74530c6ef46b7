#pragma once

/// Marks what the shared libraries export; everything else stays hidden.
#if defined(__GNUC__)
#define OUROBOROS_API __attribute__((visibility("default")))
#else
#define OUROBOROS_API
#endif
