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

/// Why a call was stopped.
enum class Stop : std::uint8_t { none, time, heap, output, host, unwanted };

/// The state of the running call, which its native functions read and write.
struct CallState {
  std::uint32_t function = 0;  ///< index in the program, for messages
  Watchdog::ClockBound clock_bound = Watchdog::ClockBound::wide;
  MapOutput* rows = nullptr;                    ///< where `emit` goes
  std::vector<IndexedField>* fields = nullptr;  ///< where `index` goes
  bool emitted = false;
  bool emitting = false;              ///< the key and value of a row are being written
  ScriptHost* host = nullptr;         ///< performs the operations of a script
  std::string* script_log = nullptr;  ///< where `console.log` goes
  std::size_t log_bytes_left = 0;
  std::size_t output_bytes = 0;
  std::size_t output_bytes_max = 0;
};

/// JavaScript in one thread: a SpiderMonkey context with the worlds of the most recently used programs. Created at the
/// thread's first call, and again after a call that ran out of memory; destroyed with the thread.
class Runtime {
 public:
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  static Runtime& of(JSContext* context) { return *static_cast<Runtime*>(JS_GetContextPrivate(context)); }

  /// Code that runs in the realm of a world. Returns false as in world.h.
  using Body = FunctionRef<bool(JSContext* context, Runtime& runtime, World& world)>;
  /// Runs `body` in the world of `program` on this thread, within the limits. Errors: function_failed: the exception;
  /// function_stopped: the exceeded limit; overloaded: no memory for a context, or stopped (interruption.h). A script's
  /// host may call it for another program meanwhile, within the rest of the script's time.
  static Expected<void> run(const ProgramPtr& program, const CallState& call, Body body);

  CallState& call() { return call_; }
  /// Name of the running function.
  std::string_view function_name() const;
  /// For natives: ends the call. Always returns false, with no exception pending, so JavaScript cannot catch it.
  bool stop(Stop why);
  /// Ends the call with `error`.
  bool stop(Error error);
  bool stopped() const { return stop_ != Stop::none; }
  Stop stop_reason() const { return stop_; }
  /// Begins the next of several calls in one run, with its own time.
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
  /// Destroys all worlds except those whose functions are running. False: there was none to destroy.
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
  JS::PersistentRootedObject keeper_;       ///< a global in which no functions run
  JS::PersistentRootedObject memory_info_;  ///< SpiderMonkey's counters, in the keeper's realm

  /// Most recently used first.
  std::list<std::unique_ptr<World>> worlds_;
  std::unordered_map<std::string_view, std::list<std::unique_ptr<World>>::iterator> worlds_by_identity_;
  std::vector<const World*> running_;  ///< the innermost last
  unsigned worlds_forgotten_ = 0;      ///< since the last collection

  CallState call_;
  const Program* program_ = nullptr;  ///< of the running call
  Stop stop_ = Stop::none;
  std::optional<Error> host_error_;  ///< with Stop::host
  bool collected_ = false;           ///< garbage was collected since keep_in_bounds() last checked
};

}  // namespace octavo::query::javascript
