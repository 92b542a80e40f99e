#include "query/javascript/internal/runtime.h"

#include <algorithm>
#include <atomic>
#include <js/ContextOptions.h>
#include <js/GCAPI.h>
#include <js/GlobalObject.h>
#include <js/Initialization.h>
#include <js/Interrupt.h>
#include <js/Principals.h>
#include <js/Promise.h>
#include <js/PropertyAndElement.h>
#include <js/Realm.h>
#include <js/Stack.h>
#include <jsfriendapi.h>
#include <mutex>
#include <pthread.h>

#include <spdlog/spdlog.h>

#include "query/javascript/executable_memory.h"
#include "query/javascript/internal/allocation_guard.h"
#include "query/javascript/internal/function_log.h"
#include "query/javascript/internal/messages.h"
#include "query/javascript/interruption.h"

namespace octavo::query::javascript {

namespace {

constexpr std::size_t worlds_max = 32;
constexpr unsigned forgotten_worlds_max = 8;               // more of them start a garbage collection
constexpr std::size_t stack_reserve_bytes = 192ULL << 10;  // for natives, which check for overflow less often

Limits process_limits;
std::mutex process_limits_mutex;

// SpiderMonkey's global state: initialised at the first use, shut down at the end of the process if no context is left.
class Process {
 public:
  static Process& instance() {
    static Process process;
    return process;
  }
  bool available() const { return available_; }
  std::atomic<int> contexts{0};

 private:
  Process() : available_(init()) {
    if (available_ && !AllocationGuard::install()) {
      spdlog::warn("JavaScript: single large allocations cannot be refused on this system");
    }
  }
  ~Process() {
    if (available_ && contexts == 0) JS_ShutDown();
  }
  static bool init() {
    if (!executable_memory_allowed()) JS::DisableJitBackend();  // before JS_Init, which reserves such memory
    return JS_Init();
  }
  const bool available_;
};

// Reactions of promises never run: the result of a function is what it returns.
class NoJobs final : public JS::JobQueue {
 public:
  JSObject* getIncumbentGlobal(JSContext* context) override { return JS::CurrentGlobalOrNull(context); }
  bool enqueuePromiseJob(JSContext*, JS::HandleObject, JS::HandleObject, JS::HandleObject, JS::HandleObject) override {
    return true;
  }
  void runJobs(JSContext*) override {}
  bool empty() const override { return true; }

 protected:
  js::UniquePtr<SavedJobQueue> saveJobQueue(JSContext* context) override {
    JS_ReportOutOfMemory(context);
    return nullptr;
  }
};
NoJobs no_jobs;

// Disables eval and the like, as CouchDB does: functions come from design documents, not from data.
bool allows_code_from_text(JSContext*, JS::RuntimeCode, JS::HandleString) {
  return false;
}
constexpr JSSecurityCallbacks security_callbacks{allows_code_from_text, nullptr};

const JSClass keeper_class = {"keeper", JSCLASS_GLOBAL_FLAGS, &JS::DefaultGlobalClassOps, nullptr, nullptr, nullptr};

// The quota for SpiderMonkey, which measures it from the base of the thread's stack.
std::size_t stack_quota(std::size_t wanted) {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return wanted;
  void* low = nullptr;
  std::size_t size = 0;
  pthread_attr_getstack(&attributes, &low, &size);
  pthread_attr_destroy(&attributes);
  // Not the address of a variable: sanitizers store variables elsewhere.
  const auto* here = static_cast<const char*>(__builtin_frame_address(0));
  const auto used = static_cast<std::size_t>(static_cast<const char*>(low) + size - here);
  const auto available = size > stack_reserve_bytes ? size - stack_reserve_bytes : size / 2;
  return std::min(available, used + wanted);
}

std::string_view setting_of(Stop stop) {
  switch (stop) {
    case Stop::time:
      return "javascript.call_time";
    case Stop::heap:
      return "javascript.heap_bytes_max";
    case Stop::output:
      return "javascript.output_bytes_max";
    case Stop::none:
    case Stop::host:
    case Stop::unwanted:
      break;
  }
  return "";
}

std::unexpected<Error> stopped_call() {
  return fail(ErrorCode::overloaded, "The function was stopped, as what it worked for ends.");
}

std::string_view words_of(Stop stop) {
  switch (stop) {
    case Stop::time:
      return "the function took too long";
    case Stop::heap:
      return "the function used too much memory";
    case Stop::output:
      return "the function's output is too large";
    case Stop::none:
    case Stop::host:
    case Stop::unwanted:
      break;
  }
  return "";
}

}  // namespace

void set_limits(const Limits& limits) {
  const std::lock_guard lock(process_limits_mutex);
  process_limits = limits;
}

Limits limits() {
  const std::lock_guard lock(process_limits_mutex);
  return process_limits;
}

Runtime::Runtime(ContextPtr context)
    : limits_(limits()),
      context_(std::move(context)),
      watched_(context_.get()),
      keeper_(context_.get()),
      memory_info_(context_.get()) {
  ++Process::instance().contexts;
}

Runtime::~Runtime() {
  AllocationGuard::clear();
  worlds_by_identity_.clear();
  worlds_.clear();
  memory_info_.reset();
  keeper_.reset();
  --Process::instance().contexts;
}

std::unique_ptr<Runtime> Runtime::create() {
  static std::mutex first_context;  // no other thread may create one together with the first
  const std::lock_guard lock(first_context);
  if (!Process::instance().available()) return nullptr;
  ContextPtr context(JS_NewContext(static_cast<std::uint32_t>(limits().heap_bytes)));
  if (!context) return nullptr;
  std::unique_ptr<Runtime> runtime(new Runtime(std::move(context)));
  if (!runtime->set_up()) return nullptr;
  return runtime;
}

bool Runtime::set_up() {
  JSContext* context = context_.get();
  JS_SetContextPrivate(context, this);
  JS_SetNativeStackQuota(context, stack_quota(limits_.stack_bytes));
  JS::ContextOptionsRef(context).setAsmJS(false).setWasm(false);
  JS_SetSecurityCallbacks(context, &security_callbacks);
  JS::SetJobQueue(context, &no_jobs);
  JS_SetGCParameter(context, JSGC_INCREMENTAL_GC_ENABLED, 0);
  JS_SetGCParameter(context, JSGC_PER_ZONE_GC_ENABLED, 1);
  if (!JS::InitSelfHostedCode(context)) return false;
  JS_SetGCCallback(context, on_collection, this);
  JS_AddInterruptCallback(context, on_interrupt);

  keeper_ = JS_NewGlobalObject(context, &keeper_class, nullptr, JS::FireOnNewGlobalHook, JS::RealmOptions());
  if (!keeper_) return false;
  const JSAutoRealm realm(context, keeper_);
  memory_info_ = js::gc::NewMemoryInfoObject(context);
  if (!memory_info_) return false;
  // The memory in use is checked at each interrupt; large allocations request one.
  AllocationGuard::set(
      limits_.heap_bytes, limits_.heap_bytes / 4,
      [](void* argument) { JS_RequestInterruptCallback(static_cast<JSContext*>(argument)); }, context);
  return true;
}

Expected<void> Runtime::run(const ProgramPtr& program, const CallState& call, Body body) {
  if (calls_are_stopped()) return stopped_call();
  thread_local std::unique_ptr<Runtime> own;
  if (!own) own = create();
  if (!own) return out_of_memory();
  if (own->watched_.running()) return own->run_inside(program, call, body);
  own->call_ = call;
  own->call_.log_bytes_left = own->limits_.log_bytes;
  own->call_.output_bytes_max = own->limits_.output_bytes;
  own->program_ = program.get();
  own->stop_ = Stop::none;
  own->host_error_.reset();
  own->running_.clear();  // an exception may have left some
  own->watched_.begin(call.clock_bound);
  // Also called if an allocation fails and an exception leaves this function.
  const auto end = [&] {
    own->watched_.end();
    own->call_ = {};
    own->program_ = nullptr;
  };
  Expected<void> result;
  try {
    result = own->run_in_world(program, body);
    end();
    if (own->stop_ != Stop::heap) own->keep_in_bounds(program);
  } catch (...) {
    end();
    own.reset();
    throw;
  }
  if (own->stop_ == Stop::heap) own.reset();
  return result;
}

Expected<void> Runtime::run_inside(const ProgramPtr& program, const CallState& call, Body body) {
  if (call_.host == nullptr) return fail(ErrorCode::internal, "A design function was called within another one.");
  const CallState outer = std::exchange(call_, call);
  const Program* outer_program = std::exchange(program_, program.get());
  call_.log_bytes_left = limits_.log_bytes;
  call_.output_bytes_max = limits_.output_bytes;
  auto result = run_in_world(program, body);
  call_ = outer;
  program_ = outer_program;
  return result;
}

Expected<void> Runtime::run_in_world(const ProgramPtr& program, Body body) {
  JSContext* context = context_.get();
  const JSAutoRealm keeper(context, keeper_);
  World* world = world_of(program);
  if (world == nullptr) return std::unexpected(failure(program));
  const JSAutoRealm realm(context, world->global());
  running_.push_back(world);
  const bool succeeded = body(context, *this, *world);
  running_.pop_back();
  if (succeeded) return {};
  return std::unexpected(failure(program));
}

World* Runtime::world_of(const ProgramPtr& program) {
  static const std::string no_program;
  const std::string& identity = program ? program->identity() : no_program;
  if (const auto found = worlds_by_identity_.find(identity); found != worlds_by_identity_.end()) {
    worlds_.splice(worlds_.begin(), worlds_, found->second);
    return worlds_.front().get();
  }
  auto world = World::create(context_.get(), program);
  if (!world) return nullptr;
  worlds_.push_front(std::move(world));
  // The key is valid as long as the world, which owns its program.
  const auto& held = worlds_.front()->program();
  worlds_by_identity_.emplace(held ? std::string_view(held->identity()) : std::string_view(no_program),
                              worlds_.begin());
  return worlds_.front().get();
}

void Runtime::forget_world(const std::string& identity) {
  const auto found = worlds_by_identity_.find(identity);
  if (found == worlds_by_identity_.end()) return;
  const auto world = found->second;
  worlds_by_identity_.erase(found);
  worlds_.erase(world);
  ++worlds_forgotten_;
}

bool Runtime::forget_idle_worlds() {
  const auto before = worlds_.size();
  for (auto world = worlds_.begin(); world != worlds_.end();) {
    const auto next = std::next(world);
    if (std::ranges::find(running_, world->get()) == running_.end()) {
      const auto& program = (*world)->program();
      forget_world(program ? program->identity() : std::string());
    }
    world = next;
  }
  return worlds_.size() < before;
}

// The exception or the exceeded limit. The world may be in any state afterwards, so the next call gets a new one.
Error Runtime::failure(const ProgramPtr& program) {
  JSContext* context = context_.get();
  if (stop_ == Stop::host) {
    JS_ClearPendingException(context);
    return host_error_.value_or(Error{});
  }
  if (stop_ == Stop::none && JS_IsThrowingOutOfMemory(context)) stop_ = Stop::heap;
  std::string reason;
  auto code = ErrorCode::function_failed;
  std::string_view word = "function_failed";
  if (stop_ == Stop::none) {
    auto thrown = take_exception(context);  // may run into a limit itself
    reason = std::move(thrown.text);
    if (!thrown.kind.empty()) word = thrown.kind;
  }
  if (stop_ == Stop::unwanted) {
    JS_ClearPendingException(context);
    if (program) forget_world(program->identity());
    return stopped_call().error();
  }
  if (stop_ != Stop::none) {
    JS_ClearPendingException(context);
    reason = std::string(words_of(stop_)) + " (" + std::string(setting_of(stop_)) + ")";
    code = ErrorCode::function_stopped;
    word = "resource_limit";
    log_from_function(function_name(), reason);
    if (program) forget_world(program->identity());
  }
  const auto name = function_name();
  if (!name.empty()) reason = std::string(name) + ": " + reason;
  return Error{code, std::move(reason), word};
}

std::string_view Runtime::function_name() const {
  if (program_ == nullptr || call_.function >= program_->functions().size()) return {};
  return program_->functions()[call_.function].name;
}

bool Runtime::stop(Stop why) {
  if (stop_ == Stop::none) stop_ = why;
  return false;
}

bool Runtime::stop(Error error) {
  if (stop_ == Stop::none) host_error_ = std::move(error);
  return stop(Stop::host);
}

void Runtime::collect() {
  JS_GC(context_.get());
  worlds_forgotten_ = 0;
}

// Functions may keep anything in their globals until it leaves too little memory for others.
void Runtime::keep_in_bounds(const ProgramPtr& program) {
  while (worlds_.size() > worlds_max) {
    const auto& last = worlds_.back()->program();
    forget_world(last ? last->identity() : std::string());
  }
  if (worlds_forgotten_ >= forgotten_worlds_max) collect();
  if (!std::exchange(collected_, false)) return;
  const double bytes_max = static_cast<double>(limits_.heap_bytes) / 2;
  if (heap_bytes() < bytes_max) return;
  collect();
  if (heap_bytes() < bytes_max) return;
  worlds_by_identity_.clear();
  worlds_.clear();
  collect();
  collected_ = false;
  spdlog::info("JavaScript: discarded what functions kept in their globals; the last one that ran is {}",
               program && !program->functions().empty() ? program->functions().front().name : "");
}

double Runtime::heap_bytes() {
  JSContext* context = context_.get();
  const JSAutoRealm realm(context, keeper_);
  double sum = 0;
  for (const char* counter : {"gcBytes", "mallocBytes"}) {
    JS::RootedValue value(context);
    if (!JS_GetProperty(context, memory_info_, counter, &value)) {
      JS_ClearPendingException(context);
      continue;
    }
    if (value.isNumber()) sum += value.toNumber();
  }
  return sum;
}

bool Runtime::on_interrupt(JSContext* context) {
  auto& runtime = of(context);
  if (!runtime.watched_.running()) return true;
  if (runtime.stop_ != Stop::none) return false;
  if (runtime.watched_.expired()) return runtime.stop(Stop::time);
  if (calls_are_stopped()) return runtime.stop(Stop::unwanted);
  const auto bytes_max = static_cast<double>(runtime.limits_.heap_bytes);
  if (runtime.heap_bytes() <= bytes_max) return true;
  JS_GC(context);  // some of the memory may be garbage
  if (runtime.heap_bytes() <= bytes_max) return true;
  // The memory may belong to the globals of other programs, which is no reason to stop this function.
  if (!runtime.forget_idle_worlds()) return runtime.stop(Stop::heap);
  JS_GC(context);
  return runtime.heap_bytes() <= bytes_max || runtime.stop(Stop::heap);
}

void Runtime::on_collection(JSContext*, JSGCStatus status, JS::GCReason, void* data) {
  if (status == JSGC_END) static_cast<Runtime*>(data)->collected_ = true;
}

}  // namespace octavo::query::javascript
