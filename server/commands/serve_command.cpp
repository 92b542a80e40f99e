#include "server/commands/serve_command.h"

#include <chrono>
#include <cstdint>
#include <exception>
#include <expected>
#include <filesystem>
#include <memory>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "analytics/analytics.h"
#include "api/cosmos/cosmos_api.h"
#include "api/couch/auth/authenticator.h"
#include "api/couch/auth/user_databases.h"
#include "api/couch/auth/users_database.h"
#include "api/couch/couch_api.h"
#include "api/http/database_metrics.h"
#include "api/http/metrics.h"
#include "api/http/storage_metrics.h"
#include "api/models/database_properties.h"
#include "api/models/item_key.h"
#include "api/scripts/script_store.h"
#include "base/machine/resources.h"
#include "config/load.h"
#include "config/setting_table.h"
#include "config/validate.h"
#include "config/version.h"
#include "partitioning/backup/server_backup.h"
#include "partitioning/engine.h"
#include "query/database/database_services.h"
#include "query/database/prepare_backup.h"
#include "query/follow/active_tasks.h"
#include "query/javascript/executable_memory.h"
#include "query/javascript/interruption.h"
#include "query/javascript/limits.h"
#include "server/connection/descriptor_budget.h"
#include "server/connection/tls.h"
#include "server/listen/development_certificate.h"
#include "server/listen/http_server.h"
#include "server/process/access_log.h"
#include "server/process/address_file.h"
#include "server/process/couchdb_volume.h"
#include "server/process/lifecycle.h"
#include "server/process/logging.h"
#include "server/process/memory_budget.h"
#include "server/process/memory_trimmer.h"
#include "server/process/service_manager.h"

namespace octavo::server {
namespace {

// Time to close the engine, after the time for running requests.
constexpr std::chrono::milliseconds closing_time{4'000};

constexpr std::uint64_t mebibyte = 1ULL << 20;

// Before anything can fail, so that a log shows what was started where.
void log_resources(const config::Settings& settings, bool short_of_memory) {
  const Resources machine = machine_resources();
  const Resources& available = available_resources();
  const std::size_t workers = partitioning::worker_count(settings);
  spdlog::info("octavo {} may use {} of {} processors and {} of {} MiB of memory: io_threads={} worker_threads={}",
               config::version(), available.processors, machine.processors, available.memory_bytes / mebibyte,
               machine.memory_bytes / mebibyte, io_thread_count(settings), workers);
  if (const auto limit = body_limit(settings, buffered_bytes_max(available.memory_bytes));
      limit.bytes < settings.request_body_bytes_max) {
    spdlog::warn("http.request_body_bytes_max={}, but the memory allows request bodies of {} bytes at most",
                 settings.request_body_bytes_max, limit.bytes);
  }
  if (!short_of_memory) return;
  spdlog::warn(
      "{} MiB of memory are too few for the settings, which are lowered: worker_threads={}, "
      "javascript.heap_bytes_max={} "
      "in each of {} threads, storage.queued_bytes_max={}, query.sort_bytes_max={}",
      available.memory_bytes / mebibyte, workers, settings.javascript_heap_bytes_max,
      partitioning::function_threads(workers), settings.queued_bytes_max, settings.sort_bytes_max);
}

// Lowers settings to the limits of the system: smaller limits are better than failures later.
config::Settings fitted_to_system(const config::Settings& wanted) {
  config::Settings settings = wanted;
  raise_descriptor_limit();
  if (fit_to_descriptors(settings, descriptor_limit())) {
    spdlog::warn(
        "the system allows {} open files: at most {} connections and {} open partitions are kept, instead of {} and "
        "{}. Raise the limit (ulimit -n, LimitNOFILE) for more.",
        descriptor_limit(), settings.connections_max, settings.open_partitions_max, wanted.connections_max,
        wanted.open_partitions_max);
  }
  const bool short_of_memory = fit_to_memory(settings, available_resources().memory_bytes);
  log_resources(settings, short_of_memory);
  return settings;
}

// A forgotten variable is stronger than the file that is edited.
void log_replaced_sources(const config::Settings& settings) {
  for (const auto& [name, source] : settings.sources.by_name) {
    if (source.find(config::instead_of) != std::string::npos) spdlog::info("{} is given by {}", name, source);
  }
}

// All but the time are as at the start: only those settings change later that can.
void limit_functions(const config::Settings& settings) {
  query::javascript::set_limits({.call_time = settings.javascript_call_time_ms,
                                 .heap_bytes = settings.javascript_heap_bytes_max,
                                 .stack_bytes = settings.javascript_stack_bytes_max,
                                 .output_bytes = settings.javascript_output_bytes_max,
                                 .log_bytes = settings.javascript_log_bytes_max});
}

// Open databases have taken these settings over. Others do that when they are opened.
class DatabaseSettings {
 public:
  explicit DatabaseSettings(partitioning::Engine& engine) : engine_(engine), applied_(values(engine.settings())) {}

  // RuntimeSettings calls this for one thread at a time.
  void operator()(const config::Settings& now) {
    if (values(now) == applied_) return;
    applied_ = values(now);
    for (const auto& database : engine_.databases().open_databases()) {
      if (auto* extension = database->extension()) extension->definition_changed();
    }
  }

 private:
  using Values = std::tuple<bool, std::chrono::seconds, std::uint32_t>;
  static Values values(const config::Settings& settings) {
    return {settings.enforce_throughput, settings.replaced_kept_s, settings.replaced_share_max};
  }

  partitioning::Engine& engine_;
  Values applied_;
};

// The path itself if the system does not tell where relative paths begin.
std::string absolute_path(const std::filesystem::path& path) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  return (error ? path : absolute.lexically_normal()).string();
}

int refuse(const Error& error) {
  spdlog::error("cannot start: {}", reason_of(error));
  return 1;
}

// The check of settings that change while the server runs.
std::expected<void, std::string> fits_system(const config::Settings& settings) {
  config::Settings fitted = settings;
  const bool short_of_descriptors = fit_to_descriptors(fitted, descriptor_limit());
  fit_to_memory(fitted, available_resources().memory_bytes);
  if (fitted.sort_bytes_max < settings.sort_bytes_max) {
    return std::unexpected(
        fmt::format("the memory allows query.sort_bytes_max = {} (bytes) at most", fitted.sort_bytes_max));
  }
  if (!short_of_descriptors) return {};
  return std::unexpected(
      fmt::format("the system allows {} open files, which is enough for {} connections and {} open partitions, not for "
                  "http.connections_max = {} and storage.open_partitions_max = {}",
                  descriptor_limit(), fitted.connections_max, fitted.open_partitions_max, settings.connections_max,
                  settings.open_partitions_max));
}

// Reads the configuration again and applies what can change while the server runs.
class Reloading {
 public:
  /// `certificate` is the configured one; null: none.
  Reloading(const config::Settings& at_start, const Reload& read, std::shared_ptr<ServerCertificate> certificate,
            storage::RuntimeSettings& runtime_settings, api::couch::Authenticator& authenticator)
      : configured_(at_start),
        read_(read),
        certificate_(std::move(certificate)),
        runtime_settings_(runtime_settings),
        authenticator_(authenticator) {}

  // RuntimeSettings calls this for one thread at a time.
  Expected<void> operator()() {
    auto wanted = read_();
    if (!wanted) {
      return fail(ErrorCode::bad_request, "the configuration cannot be used, nothing changes: " + wanted.error());
    }
    if (auto applied = apply(*wanted); !applied) {
      return fail(applied.error().code, applied.error().reason + " The previous configuration stays in force.");
    }
    return {};
  }

 private:
  // Certificates first, because they can fail.
  Expected<void> apply(const config::Settings& wanted) {
    // TLS is switched on or off by the next start.
    if (certificate_ && !wanted.tls_certificate.empty()) {
      OCTAVO_TRY_VOID(certificate_->reload(wanted.tls_certificate, wanted.tls_key));
      configured_.tls_certificate = wanted.tls_certificate;
      configured_.tls_key = wanted.tls_key;
    }
    OCTAVO_TRY_VOID(authenticator_.reload_admins(wanted));
    configured_.admins = wanted.admins;
    OCTAVO_TRY_VOID(runtime_settings_.reconfigure(fitted_to_system(wanted)));
    auto configured = config::draft_of(configured_);
    const auto now = config::draft_of(wanted);
    for (const auto& setting : config::setting_table()) {
      if (setting.at_run_time) config::copy_value(configured, now, setting);
    }
    configured_ = configured;
    spdlog::info(
        "SIGHUP: certificates, admins and settings that can change at run time are as the configuration has them now{}",
        wanted == configured_ ? "" : "; other settings that differ take effect at the next start");
    return {};
  }

  config::Settings configured_;  ///< as read last, but settings that change only at the start are those in effect
  const Reload& read_;
  std::shared_ptr<ServerCertificate> certificate_;
  storage::RuntimeSettings& runtime_settings_;
  api::couch::Authenticator& authenticator_;
};

void reload_at_signal(storage::RuntimeSettings& runtime_settings) {
  try {
    if (auto reloaded = runtime_settings.reload(); !reloaded) spdlog::error("SIGHUP: {}", reason_of(reloaded.error()));
  } catch (const std::exception& error) {
    spdlog::error("SIGHUP: the configuration could not be read: {}", error.what());
  }
}

// Null if there is no such certificate: HTTP is still served then.
std::shared_ptr<ServerCertificate> development_certificate(const config::Settings& settings) {
  const auto load = [&]() -> Expected<std::shared_ptr<ServerCertificate>> {
    OCTAVO_TRY(const auto file, ensure_development_certificate(settings.data_dir));
    return ServerCertificate::load(file, file);
  };
  auto loaded = load();
  if (loaded) return *std::move(loaded);
  spdlog::warn("{} The Azure Cosmos DB API is served over HTTP only.", reason_of(loaded.error()));
  return nullptr;
}

// `configured` is the certificate of the settings; null: none.
std::shared_ptr<ServerCertificate> cosmos_certificate(const config::Settings& settings,
                                                      const std::shared_ptr<ServerCertificate>& configured) {
  if (!settings.cosmos_enabled || settings.cosmos_tls == config::CosmosTls::off) return nullptr;
  return configured ? configured : development_certificate(settings);
}

}  // namespace

int run_serve(const config::Settings& wanted, const Reload& reload) {
  const auto started = std::chrono::steady_clock::now();
  keep_large_blocks_apart();
  ShutdownSignal shutdown_signal;
  std::optional<ShutdownDeadline> deadline;  // must outlive everything below
  umask(077);  // only the server may read its files, which include password hashes and secrets
  set_up_logging(wanted);
  log_replaced_sources(wanted);
  const config::Settings settings = fitted_to_system(wanted);

  limit_functions(settings);
  if (!query::javascript::executable_memory_allowed()) {
    spdlog::warn(
        "the system does not let memory become executable: JavaScript functions are interpreted, not compiled, "
        "and take several times as long. Allow it (MemoryDenyWriteExecute=no) for speed.");
  }

  // The order matters: objects below use those above, and are destroyed before them.
  query::ActiveTasks active_tasks;
  analytics::Analytics analytics(settings, &active_tasks);
  auto opened = partitioning::Engine::open(
      settings, query::DatabaseServices::factory(&active_tasks, api::read_definition, unix_now_s, api::read_form,
                                                 analytics.attachments(api::analytical_ttl_of),
                                                 {api::scripts::carry_scripts, api::cosmos::former_key_fact}));
  if (!opened) return refuse(opened.error());
  partitioning::Engine& engine = **opened;
  if (auto taken_up = engine.take_up_backup(); !taken_up) return refuse(taken_up.error());
  if (auto ready = api::couch::ensure_system_databases(engine); !ready) return refuse(ready.error());
  storage::RuntimeSettings& runtime_settings = engine.runtime_settings();
  runtime_settings.set_check(fits_system);
  runtime_settings.observe([](const config::Settings& now) {
    set_log_level(now.log_level);
    limit_functions(now);
  });
  runtime_settings.observe(DatabaseSettings(engine));
  engine.moves().start();
  query::project::Projections::resume(engine);
  query::copy::Copies::resume(engine);
  if (analytics.enabled()) analytics::DatabaseAnalytics::resume(engine);
  auto authenticator = api::couch::Authenticator::create(settings, engine);
  if (!authenticator) return refuse(authenticator.error());
  std::shared_ptr<ServerCertificate> configured;
  if (!settings.tls_certificate.empty()) {
    auto loaded = ServerCertificate::load(settings.tls_certificate, settings.tls_key);
    if (!loaded) return refuse(loaded.error());
    configured = *std::move(loaded);
  }
  const auto for_cosmos = cosmos_certificate(settings, configured);
  api::HttpMetrics metrics(io_thread_count(settings));
  metrics.add_collector(api::database_metrics(engine));
  metrics.add_collector(api::storage_metrics(engine));
  api::cosmos::CosmosApi cosmos_api(
      engine, settings, [&] { return (*authenticator)->has_admins(); },
      [&] { return for_cosmos ? for_cosmos->pem() : std::string(); });
  partitioning::ServerBackup backup(engine, query::prepare_backup);
  api::couch::CouchApi couch_api({.engine = engine,
                                  .authenticator = **authenticator,
                                  .metrics = metrics,
                                  .settings = settings,
                                  .analytics = &analytics,
                                  .active_tasks = &active_tasks,
                                  .cosmos_databases = &cosmos_api.databases(),
                                  .backup = &backup});
  AccessLog access_log(settings.log_format, write_log_lines);
  HttpServer server(engine.live_settings(), metrics, &access_log);
  const ListenOptions couch{
      .address = settings.bind, .port = settings.port, .handler = &couch_api, .certificate = configured};
  if (auto listening = server.listen(couch); !listening) return refuse(listening.error());
  if (settings.cosmos_enabled) {
    const ListenOptions cosmos{.address = settings.cosmos_bind.empty() ? settings.bind : settings.cosmos_bind,
                               .port = settings.cosmos_port,
                               .handler = &cosmos_api,
                               .certificate = for_cosmos,
                               .plain_too = !configured || settings.cosmos_tls == config::CosmosTls::both};
    if (auto listening = server.listen(cosmos); !listening) {
      listening.error().reason +=
          " (cosmos.port is the port of the Azure Cosmos DB API; --cosmos-enabled=false does "
          "without it.)";
      return refuse(listening.error());
    }
    if (settings.cosmos_key.empty() && !config::is_loopback(cosmos.address)) {
      spdlog::warn(
          "the Azure Cosmos DB API answers 401 to everything: other machines need a key. Set cosmos.key "
          "(OCTAVO_COSMOS_KEY).");
    }
    if (settings.cosmos_key == config::emulator_key_name && !config::is_loopback(cosmos.address)) {
      spdlog::warn(
          "the Azure Cosmos DB API accepts the emulator's well-known key, which everybody knows, from other machines: "
          "use this for tests only.");
    }
  }
  api::couch::UserDatabases user_databases(engine);
  user_databases.start();
  runtime_settings.set_reload(Reloading(wanted, reload, configured, runtime_settings, **authenticator));
  server.start();
  const AddressFile announced(settings.data_dir, local_url(settings, server.port()));

  const auto ready_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - started).count();
  const std::string folder = absolute_path(settings.data_dir);
  // A wrong name is noticed by this line.
  if (engine.folder_is_new()) spdlog::info("created a new data folder: {}", folder);
  if (runs_in_container()) {
    if (const auto warning = unused_couchdb_volume("/opt/couchdb/data", folder)) spdlog::warn("{}", *warning);
  }
  spdlog::info("READY port={} in={}ms cosmos_port={} databases={} data={}", server.port(), ready_ms,
               settings.cosmos_enabled ? server.port(1) : 0, engine.databases().count(), folder);
  notify_service_manager("READY=1");

  const MemoryTrimmer memory_trimmer;
  const int signal = shutdown_signal.wait([&] { reload_at_signal(runtime_settings); });
  // Before anything that may wait, such as a write to the log.
  const auto shutdown_timeout = engine.settings().shutdown_timeout_ms;
  deadline.emplace(shutdown_timeout + closing_time);
  notify_service_manager("STOPPING=1");
  spdlog::info("signal {}: finishing what runs, at most {} ms", signal, shutdown_timeout.count());
  const bool in_time = server.stop();
  user_databases.stop();
  query::javascript::stop_all_calls();
  backup.stop();
  analytics.stop();
  engine.shut_down();
  spdlog::info("stopped{}", in_time ? "" : "; some requests were cut off");
  return 0;
}

}  // namespace octavo::server
