#pragma once

#include <ctime>
#include <string>
#include <string_view>

#include "api/cosmos/call/authorization.h"
#include "api/cosmos/door.h"
#include "base/digest.h"
#include "base/encoding.h"
#include "support/door_driver.h"

namespace octavo::tests {

/// The Cosmos door over the engine of a test; requests are signed with `settings.cosmos_key`. Both outlive it.
class CosmosDoor final : public DoorDriver {
 public:
  CosmosDoor(partitioning::Engine& engine, const config::Settings& settings)
      : key_(settings.cosmos_key), door_(engine, settings, [] { return false; }) {}

 private:
  api::Handler& door() override { return door_; }
  void prepare(api::Request& request, Headers& headers) const override {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    char date[64];
    headers["x-ms-date"] = std::string(date, std::strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", &parts));
    const auto path = api::cosmos::ResourcePath::parse(request.segments).value();
    const auto text = api::cosmos::text_to_sign(api::to_string(request.method), path.signed_type, path.signed_link,
                                                headers["x-ms-date"], "");
    const auto signature = crypto::hmac(crypto::Digest::sha256, crypto::base64_decode(key_).value(), text);
    headers["Authorization"] = api::percent_encode("type=master&ver=1.0&sig=" + crypto::base64_encode(signature));
  }

  const std::string key_;
  api::cosmos::Door door_;
};

}  // namespace octavo::tests
