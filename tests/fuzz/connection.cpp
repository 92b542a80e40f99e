// A whole connection: bytes go in as a client sends them, through the server's connection, router and API to an engine
// with real files, and the replies are read by a strict client.
//
// The first byte of the input chooses the server, how the rest is cut into packets, and what the rest is: bytes as they
// are, or requests in short form, each ending at 0xFF, so that lengths and standing headers need no luck:
//   METHOD target
//   Header: value …
//   (empty line)
//   body
#include "server/connection/connection.h"

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <spdlog/spdlog.h>

#include "api/couch/auth/authenticator.h"
#include "api/couch/auth/users_database.h"
#include "api/couch/couch_api.h"
#include "api/models/database_properties.h"
#include "base/encoding.h"
#include "fuzz/reply_check.h"
#include "fuzz/target.h"
#include "query/database/database_services.h"
#include "query/follow/active_tasks.h"
#include "query/json/parsed_document.h"
#include "support/engine_fixture.h"

namespace {

using namespace octavo;
using octavo::fuzz::ExpectedReply;
using octavo::fuzz::InputReader;
using octavo::fuzz::require;

constexpr std::string_view plain_name = "db";
constexpr std::string_view partitioned_name = "parts";
/// Inputs leave documents behind; after this number the databases are created again.
constexpr int inputs_per_database = 400;
constexpr std::chrono::seconds connection_time_max{20};
/// A feed may send heartbeats faster than that.
constexpr std::chrono::milliseconds tick_interval{5};

config::Settings make_settings(bool with_users) {
  config::Settings settings;
  settings.io_threads = settings.worker_threads = settings.writer_threads = 1;
  settings.access_log = false;
  settings.pbkdf2_iterations = 10;
  settings.q_max = 2;
  settings.map_bytes_initial = 1 << 20;
  settings.request_body_bytes_max = 64 << 10;
  settings.request_head_bytes_max = 8 << 10;
  settings.document_bytes_max = 16 << 10;
  settings.compression_bytes_min = 200;
  settings.sort_bytes_max = 4 << 10;
  settings.revs_limit = 5;
  settings.cors_enabled = true;
  settings.cors_origins = {"https://app.example.org"};
  settings.slow_request_ms = std::chrono::milliseconds{0};
  if (with_users) {
    settings.admins["admin"] = "secret";
    settings.cookie_secret = "0123456789abcdef";
    settings.jwt_keys["hs256:_default"] = crypto::base64_encode("a secret");
  }
  return settings;
}

/// The API, noting which replies the client may expect.
class Recorder final : public api::Handler {
 public:
  explicit Recorder(api::Handler& handler) : handler_(handler) {}
  Task<api::Reply> handle(api::Request& request) override {
    expected.push_back({request.method});
    return handler_.handle(request);
  }
  api::Reply protocol_error(int status, std::string_view reason) const override {
    require(status != 500, "no exception leaves a handler");
    expected.push_back({std::nullopt});
    return handler_.protocol_error(status, reason);
  }
  mutable std::vector<ExpectedReply> expected;

 private:
  api::Handler& handler_;
};

/// Everything of a server but its listener and threads.
class Server {
 public:
  explicit Server(bool with_users)
      : engine_(query::DatabaseServices::factory(&tasks_, api::read_definition), make_settings(with_users)),
        thread_(0, context_, engine_.engine().live_settings(), metrics_, bounds_, nullptr) {
    spdlog::set_level(spdlog::level::off);
    // What the libraries make on first use must be there longer than the threads of the engine, which end last of all.
    require(query::DocumentParser().parse("{}").has_value(), "JSON can be parsed");
    require(api::couch::ensure_system_databases(engine_.engine()).has_value(), "the system's databases can be made");
    auto authenticator = api::couch::Authenticator::create(engine_.settings(), engine_.engine());
    require(authenticator.has_value(), "the settings are good");
    authenticator_ = *std::move(authenticator);
    couch_ = std::make_unique<api::couch::CouchApi>(api::couch::Services{.engine = engine_.engine(),
                                                                         .authenticator = *authenticator_,
                                                                         .metrics = metrics_,
                                                                         .settings = engine_.settings(),
                                                                         .active_tasks = &tasks_});
    recorder_ = std::make_unique<Recorder>(*couch_);
    endpoint_ = std::make_unique<server::Endpoint>(server::Endpoint{.handler = *recorder_});
  }

  void serve(std::string_view bytes, std::size_t packet_bytes) {
    restore_databases();
    recorder_->expected.clear();
    received_.clear();
    int sockets[2];
    require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets) == 0,
            "there are descriptors");
    client_ = sockets[1];
    connection_ = nullptr;
    {
      server::Socket socket(context_.get_executor(), boost::asio::ip::tcp::v4(), sockets[0]);
      auto connection = std::make_unique<server::Connection>(
          std::move(socket), "127.0.0.1", server::ConnectionSlot(thread_, server::Admission::accepted), *endpoint_);
      connection_ = connection.get();
      boost::asio::co_spawn(context_, server::Connection::run(std::move(connection)), boost::asio::detached);
    }
    send(bytes, packet_bytes);
    ::shutdown(client_, SHUT_WR);
    wait_for_end();
    receive();
    ::close(client_);
    octavo::fuzz::check_replies(received_, recorder_->expected);
  }

 private:
  bool open() { return thread_.assigned_connections() != 0; }

  void poll() {
    if (context_.stopped()) context_.restart();
    context_.poll();
    receive();
  }

  void send(std::string_view bytes, std::size_t packet_bytes) {
    for (int idle = 0; !bytes.empty() && open() && idle < 1000;) {
      const ssize_t sent = ::send(client_, bytes.data(), std::min(packet_bytes, bytes.size()), MSG_NOSIGNAL);
      if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
      idle = sent > 0 ? 0 : idle + 1;
      if (sent < 0 && errno != EAGAIN) break;
      poll();
    }
  }

  void receive() {
    std::array<char, 16384> buffer;
    for (ssize_t got; (got = ::recv(client_, buffer.data(), buffer.size(), 0)) > 0;) {
      received_.append(buffer.data(), static_cast<std::size_t>(got));
    }
  }

  /// The client has said all it will say: whatever it asked for, its connection must end.
  void wait_for_end() {
    const auto give_up = std::chrono::steady_clock::now() + connection_time_max;
    auto next_tick = std::chrono::steady_clock::now() + tick_interval;
    while (open()) {
      if (context_.stopped()) context_.restart();
      const bool idle = context_.run_one_for(std::chrono::microseconds{200}) == 0;
      const auto now = std::chrono::steady_clock::now();
      if ((idle || now >= next_tick) && open()) {
        // The thread's clock does the same: this call notices that the client of a feed has left.
        connection_->on_tick();
        next_tick = now + tick_interval;
        require(now < give_up, "a connection ends when its client has left");
      }
      receive();
    }
  }

  void restore_databases() {
    auto& engine = engine_.engine();
    const bool renew = inputs_++ % inputs_per_database == 0;
    for (const std::string& name : engine.databases().names()) {
      const bool ours = name == plain_name || name == partitioned_name;
      if (name.starts_with('_') || (ours && !renew)) continue;
      require(engine.delete_database(name).has_value(), "a database can be deleted");
    }
    const auto names = engine.databases().names();
    if (std::ranges::find(names, plain_name) == names.end()) {
      fill(*engine_.create(plain_name), "");
    }
    if (std::ranges::find(names, partitioned_name) == names.end()) {
      fill(*engine_.create(partitioned_name, {.partitioned = true, .q = 2}), "p:");
    }
  }

  static void fill(partitioning::Database& database, const std::string& prefix) {
    using octavo::tests::EngineFixture;
    const auto first = EngineFixture::put(database, prefix + "a", R"({"n":1,"tags":["x","y"]})");
    EngineFixture::put(database, prefix + "a", R"({"n":2,"tags":["x"]})", first.revision);
    EngineFixture::put(database, prefix + "b", R"({"n":1.50,"s":"é"})");
    const auto gone = EngineFixture::put(database, prefix + "c", R"({"n":3})");
    EngineFixture::put(database, prefix + "c", "{}", gone.revision, true);
  }

  query::ActiveTasks tasks_;
  octavo::tests::EngineFixture engine_;
  boost::asio::io_context context_{1};
  api::HttpMetrics metrics_{1};
  server::SharedBounds bounds_;
  server::ThreadState thread_;
  std::unique_ptr<api::couch::Authenticator> authenticator_;
  std::unique_ptr<api::couch::CouchApi> couch_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<server::Endpoint> endpoint_;
  int client_ = -1;
  server::Connection* connection_ = nullptr;
  std::string received_;
  int inputs_ = 0;
};

std::string in_full(InputReader in, bool chunked) {
  std::string bytes;
  for (int requests = 0; requests < 8 && !in.empty(); ++requests) {
    const std::size_t end = std::min(in.rest().find('\xff'), in.rest().size());
    InputReader request(in.bytes(end));
    in.byte();
    bytes.append(request.line()).append(" HTTP/1.1\r\nHost: localhost\r\n");
    bool typed = false;
    for (std::string_view line = request.line(); !line.empty(); line = request.line()) {
      bytes.append(line).append("\r\n");
      typed = typed || line.starts_with("Content-Type");
    }
    const std::string_view body = request.rest();
    if (!typed) bytes += "Content-Type: application/json\r\n";
    if (chunked && !body.empty()) {
      const std::size_t first = body.size() / 2;
      bytes += "Transfer-Encoding: chunked\r\n\r\n";
      for (const std::string_view chunk : {body.substr(0, first), body.substr(first)}) {
        if (!chunk.empty()) bytes += fmt::format("{:x}\r\n{}\r\n", chunk.size(), chunk);
      }
      bytes += "0\r\n\r\n";
    } else {
      bytes += fmt::format("Content-Length: {}\r\n\r\n{}", body.size(), body);
    }
  }
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Server open_server(false);
  static Server guarded_server(true);
  InputReader in(octavo::fuzz::text_of(data, size));
  const std::uint8_t shape = in.byte();
  constexpr std::size_t packets[] = {SIZE_MAX, SIZE_MAX, SIZE_MAX, 1, 7, 100, 1000, 4096};
  const std::size_t packet_bytes = packets[shape >> 3 & 7];
  Server& server = shape & 1 ? guarded_server : open_server;
  server.serve(shape & 2 ? std::string(in.rest()) : in_full(in, (shape & 4) != 0), packet_bytes);
  return 0;
}
