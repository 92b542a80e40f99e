#pragma once

#include <ctime>
#include <string>
#include <string_view>

#include "api/cosmos/call/authorization.h"
#include "api/cosmos/cosmos_api.h"
#include "base/digest.h"
#include "base/encoding.h"
#include "support/api_driver.h"

namespace octavo::tests {

/// The Cosmos DB API over the engine of a test; requests are signed with `settings.cosmos_key`. Both outlive it.
class CosmosApiFixture final : public ApiDriver {
 public:
  CosmosApiFixture(partitioning::Engine& engine, const config::Settings& settings)
      : key_(settings.cosmos_key), api_(engine, settings, [] { return false; }) {}

 private:
  api::Handler& handler() override { return api_; }
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
  api::cosmos::CosmosApi api_;
};

}  // namespace octavo::tests
