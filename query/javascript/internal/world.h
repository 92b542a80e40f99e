#pragma once

#include <deque>
#include <js/RootingAPI.h>
#include <jsapi.h>
#include <memory>
#include <string>
#include <string_view>

#include "query/javascript/program.h"

namespace octavo::query::javascript {

/// A program's own JavaScript globals in one thread: what its functions do to them, nobody else sees.
///
/// All functions need the world's realm entered (JSAutoRealm). False and nullptr: an exception is pending, or the call
/// has been stopped.
class World {
 public:
  /// No program: an empty world, to try sources in.
  static std::unique_ptr<World> create(JSContext* context, ProgramPtr program);
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  JSObject* global() const { return global_; }
  const ProgramPtr& program() const { return program_; }
  /// The function, compiled at its first use.
  bool function(JSContext* context, std::size_t index, JS::MutableHandleValue function);
  /// The object that the program's modules are in: parsed at its first use.
  bool modules(JSContext* context, JS::MutableHandleObject modules);
  /// Of a program of scripts: the function that runs one of them (script_prelude.js).
  JSObject* runner() const { return runner_; }
  /// The value of a JSON text, remembered until another one is asked for: a feed's filter is given the same request for
  /// every document.
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

/// The function that `source` is an expression of, in the current realm: `function(doc) {…}`, with or without a name,
/// arrow functions; also with semicolons after it, and a script whose last value is a function.
bool compile_function(JSContext* context, std::string_view source, JS::MutableHandleValue function);

}  // namespace octavo::query::javascript
