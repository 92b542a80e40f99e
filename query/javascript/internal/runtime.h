#pragma once

#include <js/RootingAPI.h>
#include <jsapi.h>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/function_ref.h"
#include "query/javascript/functions.h"
#include "query/javascript/internal/watchdog.h"
#include "query/javascript/internal/world.h"
#include "query/javascript/limits.h"
#include "query/javascript/script.h"

namespace octavo::query::javascript {

/// Why a call was ended from outside.
enum class Stop : std::uint8_t { none, time, heap, output, host, unwanted };

/// What the native functions of the running call write to.
struct CallState {
  std::uint32_t function = 0;  ///< index in the program: for messages
  Watchdog::ClockBound clock_bound = Watchdog::ClockBound::wide;
  MapOutput* rows = nullptr;                    ///< where `emit` goes
  std::vector<IndexedField>* fields = nullptr;  ///< where `index` goes
  bool emitted = false;
  bool emitting = false;              ///< the parts of a row are being written
  ScriptHost* host = nullptr;         ///< what a script works on
  std::string* script_log = nullptr;  ///< where `console.log` goes
  std::size_t log_bytes_left = 0;
  std::size_t output_bytes = 0;
  std::size_t output_bytes_max = 0;
};

/// JavaScript in one thread: a context of SpiderMonkey with the worlds of the programs used last. Made at the thread's
/// first call, ends with the thread; after a call that used up the memory it is made anew.
class Runtime {
 public:
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  static Runtime& of(JSContext* context) { return *static_cast<Runtime*>(JS_GetContextPrivate(context)); }

  /// Something done in a world, in its realm: false as in world.h.
  using Body = FunctionRef<bool(JSContext* context, Runtime& runtime, World& world)>;
  /// Runs `body` in the world of `program` on this thread, within the limits. Errors: function_failed: what was thrown
  /// or which limit was exceeded; overloaded: no memory for a context, or stopped (interruption.h). A script's host may
  /// run a function of another program meanwhile, within what is left of the script's time.
  static Expected<void> run(const ProgramPtr& program, const CallState& call, Body body);

  CallState& call() { return call_; }
  /// Name of the function that runs.
  std::string_view function_name() const;
  /// For natives: ends the call. Returns false, as nothing is to be caught.
  bool stop(Stop why);
  /// As above, with the error that the call ends with.
  bool stop(Error error);
  bool stopped() const { return stop_ != Stop::none; }
  Stop stop_reason() const { return stop_; }
  /// The next of several calls in one run: its time starts anew.
  void begin_next() { watched_.begin_next(); }

 private:
  struct ContextDeleter {
    void operator()(JSContext* context) const { JS_DestroyContext(context); }
  };
  using ContextPtr = std::unique_ptr<JSContext, ContextDeleter>;

  explicit Runtime(ContextPtr context);
  static std::unique_ptr<Runtime> create();
  bool set_up();

  Expected<void> run_in_world(const ProgramPtr& program, Body body);
  Expected<void> run_inside(const ProgramPtr& program, const CallState& call, Body body);
  World* world_of(const ProgramPtr& program);
  void forget_world(const std::string& identity);
  /// All but those whose functions run. False: there are none.
  bool forget_idle_worlds();
  void collect();
  Error failure(const ProgramPtr& program);
  void keep_in_bounds(const ProgramPtr& program);
  double heap_bytes();
  static bool on_interrupt(JSContext* context);
  static void on_collection(JSContext* context, JSGCStatus status, JS::GCReason reason, void* data);

  const Limits limits_;
  ContextPtr context_;
  Watchdog::Watched watched_;
  JS::PersistentRootedObject keeper_;       ///< a global that runs no functions
  JS::PersistentRootedObject memory_info_;  ///< SpiderMonkey's counters, in the keeper's realm

  /// Most recently used first.
  std::list<std::unique_ptr<World>> worlds_;
  std::unordered_map<std::string_view, std::list<std::unique_ptr<World>>::iterator> worlds_by_identity_;
  std::vector<const World*> running_;  ///< the innermost one last
  unsigned worlds_forgotten_ = 0;      ///< since the last collection

  CallState call_;
  const Program* program_ = nullptr;  ///< of the running call
  Stop stop_ = Stop::none;
  std::optional<Error> host_error_;  ///< with Stop::host
  bool collected_ = false;           ///< memory was collected since the last look
};

}  // namespace octavo::query::javascript
