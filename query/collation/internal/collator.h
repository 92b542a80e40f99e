#pragma once

#include <unicode/ucol.h>

namespace octavo::query {

/// This thread's collator (ICU root, tertiary), opened at first use.
const UCollator* thread_collator();

}  // namespace octavo::query
