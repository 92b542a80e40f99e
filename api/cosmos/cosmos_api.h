#pragma once

#include <functional>
#include <string>

#include "api/cosmos/call/authorization.h"
#include "api/cosmos/call/call.h"
#include "api/cosmos/resources/registry.h"
#include "api/http/cors.h"
#include "api/http/handler.h"
#include "config/live_settings.h"

namespace octavo::api::cosmos {

/// The Cosmos DB API: answers every HTTP request of the Azure Cosmos DB for NoSQL REST API.
///
/// Each request passes these steps: parse the path, authorize, call the resource's handler, add the common headers.
/// Errors are values, rendered in one place.
///
/// Thread-safe: it has no state of its own. A request sees the settings of `engine` that are in effect when it begins;
/// `settings` has the keys and addresses, which do not change. Both must outlive this.
class CosmosApi final : public Handler {
 public:
  /// `has_admins`: see Authorization. `certificate_pem` returns the certificate of this port, for clients that are to
  /// trust it; empty: the port has none. Both are called by any thread.
  CosmosApi(partitioning::Engine& engine, const config::Settings& settings, std::function<bool()> has_admins,
            std::function<std::string()> certificate_pem = {});

  Task<Reply> handle(Request& request) override;
  Reply protocol_error(int status, std::string_view reason) const override;
  /// For the other API.
  CosmosDatabases& databases() { return registry_; }

 private:
  Handled dispatch(Call& call);
  Task<Expected<void>> authorize(Call& call);

  Expected<Reply> certificate(const Request& request) const;
  static Expected<Reply> constant(const Request& request, std::string_view json);

  const std::function<std::string()> certificate_pem_;
  Registry registry_;
  Authorization authorization_;
  partitioning::Engine& engine_;
  config::MadeFromSettings<CorsPolicy> cors_;
};

}  // namespace octavo::api::cosmos
