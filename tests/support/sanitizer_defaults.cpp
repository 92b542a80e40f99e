// How the sanitizers behave in every program of a build that has them: whatever they find ends the program, so that no
// test passes over it. The variables ASAN_OPTIONS, UBSAN_OPTIONS and TSAN_OPTIONS still override.
//
// Suppressions are for libraries only, each with its reason. What they find in Octavo is fixed.

extern "C" {

const char* __asan_default_options() {
  return "detect_stack_use_after_return=1:strict_string_checks=1:"
         // A size beyond the memory gives null, as from malloc, and does not end the process.
         "allocator_may_return_null=1";
}

const char* __ubsan_default_options() {
  return "halt_on_error=1:print_stacktrace=1";
}

const char* __tsan_default_suppressions() {
  return
      // Not built with the sanitizer, which therefore does not see them count references.
      "race:liblucene++.so\n"
      // Nor this one, whose registry is made once, under a guard inside of the library.
      "race:libspdlog.so\n"
      // libstdc++ 12 ends a load of std::atomic<std::shared_ptr> with a relaxed unlock, which orders nothing for the
      // sanitizer; on x86 the load cannot move behind it.
      "race:bits/shared_ptr_atomic.h\n";
}

const char* __tsan_default_options() {
  return "halt_on_error=1:second_deadlock_stack=1";
}

}  // extern "C"
