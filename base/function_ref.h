#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace octavo {

template <class Signature>
class FunctionRef;

/// A non-owning reference to a callable, for parameters that are only called during the call (like C++26 function_ref).
/// Converts implicitly at the call site; calls the referenced object without copying it.
template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
 public:
  template <class Callable>
    requires(!std::is_same_v<std::remove_cvref_t<Callable>, FunctionRef> &&
             std::is_invocable_r_v<Result, Callable&, Arguments...>)
  FunctionRef(
      Callable&& callable)  // NOLINT(google-explicit-constructor,cppcoreguidelines-missing-std-forward): see above
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
        call_([](void* object, Arguments... arguments) -> Result {
          return (*static_cast<std::remove_reference_t<Callable>*>(object))(std::forward<Arguments>(arguments)...);
        }) {}

  Result operator()(Arguments... arguments) const { return call_(object_, std::forward<Arguments>(arguments)...); }

 private:
  void* object_;
  Result (*call_)(void*, Arguments...);
};

}  // namespace octavo
