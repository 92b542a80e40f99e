#include <catch2/catch.hpp>

#include "support/patience.h"
#include "unit/server/test_client.h"
#include "unit/server/test_server.h"

using namespace octavo::server::test;
using octavo::tests::patiently;

TEST_CASE("a connection serves one request after the other") {
  TestServer server;
  Client client(server.port());
  const auto first = client.ask(post("/echo", "one"));
  const auto second = client.ask(post("/echo", "two"));
  CHECK(first.body == "one");
  CHECK(second.body == "two");
  CHECK(server.metrics.snapshot().connections_accepted == 1);
}

TEST_CASE("pipelined requests are answered in order") {
  TestServer server;
  Client client(server.port());
  client.send(post("/echo", "1") + get("/slow/50") + post("/echo", "2") + get("/stream/2/3") + post("/echo", "3"));
  CHECK(client.read_reply().body == "1");
  CHECK(client.read_reply().body == "slow");
  CHECK(client.read_reply().body == "2");
  CHECK(client.read_reply().body.size() == 6);
  CHECK(client.read_reply().body == "3");
}

TEST_CASE("a pipelined reply does not wait for a slow request behind it") {
  TestServer server;
  Client client(server.port());
  client.send(post("/echo", "quick") + get("/slow/6000"));
  const auto begun = std::chrono::steady_clock::now();
  CHECK(client.read_reply().body == "quick");
  CHECK(std::chrono::steady_clock::now() - begun < patiently(std::chrono::milliseconds{5000}));
}

TEST_CASE("hundreds of pipelined requests in one packet are all answered") {
  TestServer server;
  Client client(server.port());
  std::string requests;
  for (int i = 0; i < 500; ++i) requests += post("/echo", std::to_string(i));
  client.send(requests);
  bool in_order = true;
  for (int i = 0; i < 500; ++i) in_order = client.read_reply().body == std::to_string(i) && in_order;
  CHECK(in_order);
}

TEST_CASE("a request that arrives byte by byte is served") {
  TestServer server;
  Client client(server.port());
  for (const char c : post("/echo", "slowly")) client.send({&c, 1});
  CHECK(client.read_reply().body == "slowly");
}

TEST_CASE("empty lines before a request line are ignored") {
  TestServer server;
  Client client(server.port());
  CHECK(client.ask("\r\n\r\n" + post("/echo", "x")).body == "x");
}

TEST_CASE("the server adds its headers to every reply") {
  TestServer server;
  Client client(server.port());
  const auto reply = client.ask(get("/own_headers"));
  CHECK(reply.header("server").starts_with("Octavo/"));
  CHECK(reply.header("date").ends_with(" GMT"));
  CHECK(reply.header("x-couch-request-id").size() == 10);
  CHECK(reply.header("etag") == "\"1-a\"");
  CHECK(reply.header("content-length") == "3");
  CHECK(reply.header("content-type") == "application/json");
  CHECK(reply.header("connection").empty());
}

TEST_CASE("a client's request id is passed on and echoed") {
  TestServer server;
  Client client(server.port());
  const auto reply = client.ask(get("/id", "X-Request-Id: trace-42\r\n"));
  CHECK(reply.body == "trace-42");
  CHECK(reply.header("x-request-id") == "trace-42");
}

TEST_CASE("a client's request id is taken by CouchDB's name, too") {
  TestServer server;
  Client client(server.port());
  const auto reply = client.ask(get("/id", "X-Couch-Request-ID: trace-43\r\n"));
  CHECK(reply.body == "trace-43");
  CHECK(reply.header("x-couch-request-id") == "trace-43");
  CHECK(reply.header("x-request-id").empty());
  const auto both = client.ask(get("/id", "X-Couch-Request-ID: c\r\nX-Request-Id: d\r\n"));
  CHECK(both.header("x-couch-request-id") == "c");
  CHECK(both.header("x-request-id") == "d");
}

TEST_CASE("a malformed client request id is replaced") {
  TestServer server;
  Client client(server.port());
  const auto reply = client.ask(get("/id", "X-Request-Id: a\"b<c>\r\n"));
  CHECK(reply.body.size() == 10);
  CHECK(reply.header("x-request-id").empty());
}

TEST_CASE("Connection: close ends the connection after the reply") {
  TestServer server;
  Client client(server.port());
  const auto reply = client.ask(get("/show", "Connection: close\r\n"));
  CHECK(reply.status == 200);
  CHECK(reply.header("connection") == "close");
  CHECK(client.ended());
}

TEST_CASE("a handler can end the connection") {
  TestServer server;
  Client client(server.port());
  CHECK(client.ask(get("/close")).header("connection") == "close");
  CHECK(client.ended());
}

TEST_CASE("an HTTP/1.0 request ends the connection unless it asks to keep it") {
  TestServer server;
  Client client(server.port());
  const auto kept = client.ask("GET /show HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  CHECK(kept.status == 200);
  CHECK(kept.header("connection") == "keep-alive");
  const auto last = client.ask("GET /show HTTP/1.0\r\n\r\n");
  CHECK(last.status == 200);
  CHECK(client.ended());
}

TEST_CASE("an HTTP/1.0 client gets a stream without chunks, ended by the connection") {
  TestServer server;
  Client client(server.port());
  const auto reply = client.ask("GET /stream/3/10 HTTP/1.0\r\n\r\n");
  CHECK(reply.header("transfer-encoding").empty());
  CHECK(reply.body.size() == 30);
}

TEST_CASE("HEAD has the headers of GET and no body") {
  TestServer server;
  Client client(server.port());
  client.send("HEAD /big/5000 HTTP/1.1\r\nHost: test\r\n\r\n");
  const auto reply = client.read_reply(true);
  CHECK(reply.status == 200);
  CHECK(reply.header("content-length") == "5000");
  CHECK(client.ask(post("/echo", "next")).body == "next");
}

TEST_CASE("HEAD does not run a stream") {
  TestServer server;
  Client client(server.port());
  client.send("HEAD /follow HTTP/1.1\r\nHost: test\r\n\r\n");
  CHECK(client.read_reply(true).status == 200);
  CHECK(client.ask(post("/echo", "next")).body == "next");
  CHECK(server.handler.followers == 0);
}

TEST_CASE("HEAD may tell a length without having made the body") {
  TestServer server;
  Client client(server.port());
  client.send("HEAD /length_only HTTP/1.1\r\nHost: test\r\n\r\n");
  CHECK(client.read_reply(true).header("content-length") == "1234");
}

TEST_CASE("the reply to a refused HEAD request has no body") {
  TestServer server;
  Client client(server.port());
  client.send("HEAD /%zz HTTP/1.1\r\nHost: test\r\n\r\n");
  CHECK(client.read_reply(true).status == 400);
  CHECK(client.ended());
}

TEST_CASE("304 has neither body nor length") {
  TestServer server;
  Client client(server.port());
  const auto reply = client.ask(get("/status/304"));
  CHECK(reply.status == 304);
  CHECK_FALSE(reply.headers.contains("content-length"));
  CHECK(client.ask(post("/echo", "next")).body == "next");
}

TEST_CASE("path segments are decoded one by one, and the query apart from them") {
  TestServer server;
  Client client(server.port());
  CHECK(client.ask(get("/show/a%2Fb/p%231:x?key=%22a+b%22&key=2&empty=&bare")).body ==
        "GET show|a/b|p#1:x| key=\"a b\"&key=2&empty=&bare=& ");
}

TEST_CASE("malformed percent-encoding is a bad request") {
  TestServer server;
  Client client(server.port());
  CHECK(client.ask(get("/show/%4")).status == 400);
}

TEST_CASE("an absolute-form target is served by its path") {
  TestServer server;
  Client client(server.port());
  CHECK(client.ask(get("http://test:5984/show/x?y=1")).body == "GET show|x| y=1& ");
}

TEST_CASE("CouchDB's COPY and other methods reach the handler") {
  TestServer server;
  Client client(server.port());
  CHECK(client.ask("COPY /show HTTP/1.1\r\nHost: test\r\n\r\n").body.starts_with("COPY "));
  CHECK(client.ask("DELETE /show HTTP/1.1\r\nHost: test\r\n\r\n").body.starts_with("DELETE "));
  CHECK(client.ask("BREW /show HTTP/1.1\r\nHost: test\r\n\r\n").body.starts_with("OTHER "));
}

TEST_CASE("an exception in a handler is answered 500 and the connection stays open") {
  TestServer server;
  Client client(server.port());
  CHECK(client.ask(get("/throw")).status == 500);
  CHECK(client.ask(post("/echo", "next")).body == "next");
}

TEST_CASE("a line break in a handler's header never reaches the client") {
  TestServer server;
  Client client(server.port());
  const auto reply = client.ask(get("/bad_header"));
  CHECK(reply.status == 500);
  CHECK_FALSE(reply.headers.contains("set-cookie"));
}

TEST_CASE("a large body arrives whole without chunks") {
  TestServer server;
  Client client(server.port());
  const auto reply = client.ask(get("/big/3000000"));
  CHECK(reply.body.size() == 3000000);
  CHECK(reply.header("content-length") == "3000000");
}

TEST_CASE("many connections at once on several threads are all served") {
  auto settings = test_settings();
  settings.io_threads = 3;
  TestServer server(settings);
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int c = 0; c < 20; ++c) {
        Client client(server.port());
        for (int r = 0; r < 20; ++r) {
          const auto text = std::to_string(t * 10000 + c * 100 + r);
          if (client.ask(post("/echo", text)).body == text) ++right;
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(right == 8 * 20 * 20);
  for (std::size_t i = 0; i < 3; ++i) CHECK(server.metrics.shard(i).connections_accepted.value() > 5);
}

TEST_CASE("a client that leaves in the middle of a request does not disturb others") {
  TestServer server;
  for (int i = 0; i < 50; ++i) {
    Client client(server.port());
    client.send(post("/echo", "whole").substr(0, static_cast<std::size_t>(i)));
  }
  Client client(server.port());
  CHECK(client.ask(post("/echo", "x")).body == "x");
  client.close();
  CHECK(eventually([&] { return server.metrics.snapshot().connections_open == 0; }));
}
