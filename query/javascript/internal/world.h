#pragma once

#include <deque>
#include <js/RootingAPI.h>
#include <jsapi.h>
#include <memory>
#include <string>
#include <string_view>

#include "query/javascript/program.h"

namespace octavo::query::javascript {

/// The JavaScript globals of one program in one thread. Changes to them are visible only to the program's functions.
///
/// Precondition of all functions: the world's realm is entered (JSAutoRealm). False and nullptr mean that an exception
/// is pending or the call has been stopped.
class World {
 public:
  /// Without a program: an empty world, for checking sources.
  static std::unique_ptr<World> create(JSContext* context, ProgramPtr program);
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  JSObject* global() const { return global_; }
  const ProgramPtr& program() const { return program_; }
  /// The function, compiled at its first use.
  bool function(JSContext* context, std::size_t index, JS::MutableHandleValue function);
  /// The object with the program's modules, parsed at its first use.
  bool modules(JSContext* context, JS::MutableHandleObject modules);
  /// The function that runs a script or a transform (script_prelude.js, transform_prelude.js), if this is one.
  JSObject* runner() const { return runner_; }
  /// The value of a JSON text. Caches the last one, because a feed's filter gets the same request for every document.
  bool request(JSContext* context, std::string_view text, JS::MutableHandleValue value);

 private:
  World(JSContext* context, ProgramPtr program, JSObject* global);

  const ProgramPtr program_;
  JS::PersistentRootedObject global_;
  JS::PersistentRootedObject modules_;
  JS::PersistentRootedObject runner_;
  std::deque<JS::PersistentRootedObject> functions_;
  std::string request_text_;
  JS::PersistentRootedValue request_;
};

/// Compiles `source` to a function in the current realm. `source` may be a function expression with or without a name,
/// or an arrow function, also with semicolons after it, or a script whose last value is a function.
bool compile_function(JSContext* context, std::string_view source, JS::MutableHandleValue function);

}  // namespace octavo::query::javascript
