#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "api/http/handler.h"

namespace octavo::tests {

/// A reply as a client sees it, a streamed body included.
struct Received {
  int status = 0;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  bool streamed = false;
  bool broken = false;  ///< the stream ended by an exception: the client sees a broken body

  boost::json::value json() const { return boost::json::parse(body); }
  std::optional<std::string> header(std::string_view name) const {
    for (const auto& [known, value] : headers) {
      if (known == name) return value;
    }
    return std::nullopt;
  }
};

using Headers = std::map<std::string, std::string>;

/// An API without sockets: requests go in, replies come out.
class ApiDriver {
 public:
  virtual ~ApiDriver() = default;

  Received get(std::string_view target, Headers headers = {}) { return send("GET", target, "", std::move(headers)); }
  Received del(std::string_view target, Headers headers = {}) { return send("DELETE", target, "", std::move(headers)); }
  Received put(std::string_view target, std::string_view body = "", Headers headers = {}) {
    return send("PUT", target, body, std::move(headers));
  }
  Received post(std::string_view target, std::string_view body, Headers headers = {}) {
    headers.try_emplace("Content-Type", "application/json");
    return send("POST", target, body, std::move(headers));
  }

  /// One request from its first byte to the last of its reply.
  Received send(std::string_view method, std::string_view target, std::string_view body, Headers headers = {}) {
    Received received;
    start(received, method, target, body, std::move(headers));
    if (before_run) before_run();
    run();
    return received;
  }
  /// Called when the next request is ready to run.
  std::function<void()> before_run;
  /// Called when the first piece of a streamed reply has arrived.
  std::function<void()> after_first_piece;
  /// Called after each piece of any streamed reply.
  std::function<void()> after_each_piece;

  /// Starts a request; run() continues until all started ones are answered.
  void start(Received& received, std::string_view method, std::string_view target, std::string_view body,
             Headers headers = {}) {
    auto exchange = std::make_unique<Exchange>();
    exchange->target = target;
    exchange->body = body;
    exchange->fields.values = std::move(headers);
    auto& request = exchange->request;
    REQUIRE(api::parse_target(exchange->target, request));
    request.target = exchange->target;
    request.method = method_of(method);
    request.body = exchange->body;
    request.headers = &exchange->fields;
    prepare(request, exchange->fields.values);
    boost::asio::co_spawn(io_.get_executor(), serve(std::move(exchange), received),
                          [](const std::exception_ptr& error) {
                            if (error) std::rethrow_exception(error);
                          });
  }
  void run() {
    io_.restart();
    io_.run();
  }
  boost::asio::io_context& io() { return io_; }
  /// The client of the reply that is being streamed goes away.
  void hang_up() {
    if (streaming_) streaming_->hang_up();
  }

 protected:
  virtual api::Handler& handler() = 0;
  /// What every request of this API has.
  virtual void prepare(api::Request&, Headers&) const {}

 private:
  struct Fields final : api::HeaderSource {
    std::optional<std::string_view> find(std::string_view name) const override {
      const auto found = values.find(std::string(name));
      if (found == values.end()) return std::nullopt;
      return std::string_view(found->second);
    }
    void for_each(FunctionRef<void(std::string_view name, std::string_view value)> visit) const override {
      for (const auto& [name, value] : values) visit(name, value);
    }
    Headers values;
  };
  struct Exchange {
    std::string target;
    std::string body;
    Fields fields;
    api::Request request;
  };
  struct Collector final : api::BodySink {
    Collector(std::string& all, std::function<void()> after_first, const std::function<void()>& after_each)
        : out(all), after_first_piece(std::move(after_first)), after_each_piece(after_each) {}
    Task<bool> write(std::string_view bytes) override {
      out += bytes;
      if (after_first_piece) std::exchange(after_first_piece, nullptr)();
      if (after_each_piece) after_each_piece();
      co_return true;
    }
    bool closed() const override { return hung_up; }
    void on_closed(std::move_only_function<void()> callback) override { when_closed = std::move(callback); }
    void hang_up() {
      hung_up = true;
      if (when_closed) when_closed();
    }
    std::string& out;
    std::function<void()> after_first_piece;
    const std::function<void()>& after_each_piece;
    bool hung_up = false;
    std::move_only_function<void()> when_closed;
  };

  static api::Method method_of(std::string_view name) {
    for (const auto method : {api::Method::get, api::Method::head, api::Method::post, api::Method::put,
                              api::Method::del, api::Method::copy, api::Method::options, api::Method::patch}) {
      if (api::to_string(method) == name) return method;
    }
    return api::Method::other;
  }

  Task<void> serve(std::unique_ptr<Exchange> exchange, Received& received) {
    auto reply = co_await handler().handle(exchange->request);
    received.body = std::move(reply.body);
    if (reply.stream) {
      received.streamed = true;
      Collector sink(received.body, std::exchange(after_first_piece, nullptr), after_each_piece);
      streaming_ = &sink;
      try {
        co_await reply.stream(sink);
      } catch (const std::exception&) {
        received.broken = true;
      }
      streaming_ = nullptr;
    }
    received.status = reply.status;
    received.headers = std::move(reply.headers);
  }

  Collector* streaming_ = nullptr;
  boost::asio::io_context io_;
};

/// Text of a member, for short comparisons: `text(reply.json(), "reason")`.
inline std::string text(const boost::json::value& object, std::string_view member) {
  const auto* value = object.is_object() ? object.get_object().if_contains(member) : nullptr;
  return value && value->is_string() ? std::string(value->get_string()) : std::string();
}

}  // namespace octavo::tests
