#pragma once

#include "api/cosmos/authorization.h"
#include "api/cosmos/call.h"
#include "api/cosmos/schema.h"
#include "api/http/handler.h"

namespace octavo::api::cosmos {

/// The Cosmos door: answers every HTTP request of the Azure Cosmos DB for NoSQL REST API.
///
/// Each request walks: which resource → may they → the resource's handler → headers every reply has. Errors on the way
/// leave as values and are rendered in one place.
///
/// Immutable after construction, so thread-safe. `engine` and `settings` must outlive the door.
class Door final : public Handler {
 public:
  /// `has_admins`: see Authorization.
  Door(partitioning::Engine& engine, const config::Settings& settings, std::function<bool()> has_admins);

  Task<Reply> handle(Request& request) override;
  Reply protocol_error(int status, std::string_view reason) const override;

 private:
  Handled dispatch(Call& call);

  Schema schema_;
  Authorization authorization_;
  Services services_;
};

}  // namespace octavo::api::cosmos
