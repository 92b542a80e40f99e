#pragma once

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>

#include <catch2/catch.hpp>

#include "api/couch/auth/authenticator.h"
#include "api/couch/auth/users_database.h"
#include "api/couch/call/call.h"
#include "api/http/metrics.h"
#include "base/encoding.h"
#include "support/engine_fixture.h"

namespace octavo::tests {

/// A request made in a test; owns what Request only views.
class TestRequest : public api::HeaderSource {
 public:
  explicit TestRequest(api::Method method = api::Method::get, std::string target = "/") : target_(std::move(target)) {
    request_.method = method;
    request_.headers = this;
    request_.peer_address = "192.0.2.1";
    // Not REQUIRE: Catch must not be called by several threads.
    if (!api::parse_target(target_, request_)) throw std::invalid_argument(target_);
  }
  TestRequest(const TestRequest&) = delete;

  TestRequest& header(std::string name, std::string value) {
    headers_.insert_or_assign(lower(std::move(name)), std::move(value));
    return *this;
  }
  TestRequest& basic(const std::string& name, const std::string& password) {
    return header("Authorization", "Basic " + crypto::base64_encode(name + ":" + password));
  }
  TestRequest& cookie(const std::string& value) { return header("Cookie", "AuthSession=" + value); }
  TestRequest& body(std::string text, std::string content_type = "application/json") {
    body_ = std::move(text);
    request_.body = body_;
    return header("Content-Type", std::move(content_type));
  }

  api::Request& get() { return request_; }

  std::optional<std::string_view> find(std::string_view name) const override {
    const auto found = headers_.find(lower(std::string(name)));
    if (found == headers_.end()) return std::nullopt;
    return found->second;
  }
  void for_each(FunctionRef<void(std::string_view name, std::string_view value)> visit) const override {
    for (const auto& [name, value] : headers_) visit(name, value);
  }

 private:
  static std::string lower(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
  }

  std::string target_;
  std::string body_;
  std::map<std::string, std::string> headers_;
  api::Request request_;
};

/// An engine with an authenticator, cheap passwords, and handlers called as the API calls them.
class AuthFixture {
 public:
  static config::Settings settings_with(std::map<std::string, std::string> admins) {
    config::Settings settings;
    settings.admins = std::move(admins);
    settings.pbkdf2_iterations = 10;
    return settings;
  }

  explicit AuthFixture(config::Settings settings = settings_with({{"admin", "secret"}}))
      : engine_fixture_({}, settings), settings_(std::move(settings)) {
    REQUIRE(api::couch::ensure_system_databases(engine()));
    start();
  }

  void start() {
    auto created = api::couch::Authenticator::create(settings_, engine());
    REQUIRE(created);
    authenticator_ = std::move(*created);
  }
  void stop() { authenticator_.reset(); }

  partitioning::Engine& engine() { return engine_fixture_.engine(); }
  config::Settings& settings() { return settings_; }
  api::couch::Authenticator& authenticator() { return *authenticator_; }
  std::shared_ptr<partitioning::Database> users() { return engine().find_database(api::couch::users_database); }

  Expected<api::couch::UserContext> authenticate(TestRequest& request) {
    return run_task(wrap(authenticator_->authenticate(request.get()))).value;
  }
  Expected<api::couch::UserContext> basic(const std::string& name, const std::string& password) {
    TestRequest request;
    request.basic(name, password);
    return authenticate(request);
  }

  api::couch::Services services() { return {engine(), *authenticator_, metrics_, settings_}; }

  /// Runs the handler of the route with that method and pattern, without the API's checks.
  Expected<api::Reply> handle(const api::couch::RouteList& routes, std::string_view pattern, TestRequest& request,
                              api::couch::UserContext user = {},
                              std::vector<std::pair<std::string_view, std::string>> parameters = {},
                              std::shared_ptr<partitioning::Database> database = nullptr) {
    const auto route = std::ranges::find_if(routes, [&](const api::couch::Route& candidate) {
      return candidate.method == request.get().method && candidate.pattern == pattern;
    });
    REQUIRE(route != routes.end());
    auto shared = services();
    api::couch::Call call{.request = request.get(),
                          .services = shared,
                          .user = std::move(user),
                          .database = std::move(database),
                          .path_parameters = std::move(parameters)};
    return std::move(run_task(wrap(route->handler(call))).value);
  }

  /// Prepares the body, then stores it, as a document handler does.
  Expected<storage::WrittenDocument> write_user(const api::couch::UserContext& user, const std::string& name,
                                                const std::string& body, bool deleted = false) {
    const std::string id = std::string(api::couch::user_id_prefix) + name;
    OCTAVO_TRY(auto prepared, prepare(user, id, body, deleted));
    std::optional<storage::Revision> parent;
    {
      const auto snapshot = users()->snapshot_for_document(id);
      const auto old = *snapshot->find(id);
      if (old && !old->deleted) parent = old->revision;
    }
    return EngineFixture::put(*users(), id, std::move(prepared), parent, deleted);
  }
  Expected<std::string> prepare(const api::couch::UserContext& user, const std::string& id, const std::string& body,
                                bool deleted = false) {
    TestRequest request(api::Method::put);
    auto shared = services();
    api::couch::Call call{
        .request = request.get(), .services = shared, .user = user, .database = users(), .path_parameters = {}};
    return std::move(run_task(wrap(api::couch::prepare_user_document(call, id, deleted, body))).value);
  }

  static api::couch::UserContext server_admin() { return {"admin", {"_admin"}, "default"}; }
  static api::couch::UserContext known(std::string name, std::vector<std::string> roles = {}) {
    return {std::move(name), std::move(roles), "default"};
  }

 private:
  // run_task needs a type that can be default-constructed.
  template <class T>
  struct Wrapped {
    T value = fail(ErrorCode::internal, "nothing ran");
  };
  template <class T>
  static Task<Wrapped<T>> wrap(Task<T> task) {
    Wrapped<T> wrapped;
    wrapped.value = co_await std::move(task);
    co_return wrapped;
  }

  EngineFixture engine_fixture_;
  config::Settings settings_;
  api::HttpMetrics metrics_{1};
  std::unique_ptr<api::couch::Authenticator> authenticator_;
};

}  // namespace octavo::tests
