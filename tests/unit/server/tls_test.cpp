#include "server/connection/tls.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <catch2/catch.hpp>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "server/listen/development_certificate.h"
#include "server/process/health.h"
#include "support/temporary_folder.h"
#include "unit/server/test_client.h"
#include "unit/server/test_server.h"

using namespace octavo::server;
using namespace octavo::server::test;
namespace asio = boost::asio;
using std::chrono::milliseconds;

namespace {

// A folder with a self-signed certificate for localhost, gone with the object.
class Certificate {
 public:
  Certificate() : folder_(std::filesystem::temp_directory_path() / ("octavo-tls-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
    EVP_PKEY* const key_pair = EVP_RSA_gen(2048);
    X509* const x509 = X509_new();
    ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
    X509_gmtime_adj(X509_getm_notBefore(x509), 0);
    X509_gmtime_adj(X509_getm_notAfter(x509), 3600);
    X509_set_pubkey(x509, key_pair);
    X509_NAME* const name = X509_get_subject_name(x509);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("localhost"), -1, -1,
                               0);
    X509_set_issuer_name(x509, name);
    X509_sign(x509, key_pair, EVP_sha256());
    std::FILE* file = std::fopen(certificate().c_str(), "w");
    PEM_write_X509(file, x509);
    std::fclose(file);
    file = std::fopen(key().c_str(), "w");
    PEM_write_PrivateKey(file, key_pair, nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(file);
    X509_free(x509);
    EVP_PKEY_free(key_pair);
  }
  ~Certificate() { std::filesystem::remove_all(folder_); }

  std::string certificate() const { return folder_ / "certificate.pem"; }
  std::string key() const { return folder_ / "key.pem"; }
  ListenOptions options() const { return {.certificate = ServerCertificate::load(certificate(), key()).value()}; }
  ListenOptions with_plain() const {
    ListenOptions both = options();
    both.plain_too = true;
    return both;
  }

 private:
  std::filesystem::path folder_;
};

class TlsClient {
 public:
  explicit TlsClient(std::uint16_t port, asio::ssl::context::method method = asio::ssl::context::tls_client)
      : context_(method), stream_(io_, context_) {
    stream_.next_layer().connect({asio::ip::address_v4::loopback(), port});
  }
  bool handshake() {
    boost::system::error_code error;
    stream_.handshake(asio::ssl::stream_base::client, error);
    return !error;
  }
  void send(const std::string& text) { asio::write(stream_, asio::buffer(text)); }
  std::string read_to_end() {
    std::string text;
    boost::system::error_code error;
    asio::read(stream_, asio::dynamic_buffer(text), error);
    clean_end = error == asio::error::eof;
    return text;
  }
  std::string read_until(const std::string& end) {
    asio::read_until(stream_, asio::dynamic_buffer(received_), end);
    return received_;
  }
  asio::ssl::stream<asio::ip::tcp::socket>& stream() { return stream_; }

  bool clean_end = false;

 private:
  asio::io_context io_;
  asio::ssl::context context_;
  asio::ssl::stream<asio::ip::tcp::socket> stream_;
  std::string received_;
};

}  // namespace

TEST_CASE("requests are served over TLS, and the end is told") {
  const Certificate certificate;
  TestServer server(test_settings(), certificate.options());
  TlsClient client(server.port());
  REQUIRE(client.handshake());
  client.send(post("/echo", "over tls") + post("/echo", "again", "Connection: close\r\n"));
  const auto text = client.read_to_end();
  CHECK(text.find("over tls") != std::string::npos);
  CHECK(text.ends_with("again"));
  CHECK(client.clean_end);
}

TEST_CASE("large bodies pass both ways over TLS") {
  const Certificate certificate;
  TestServer server(test_settings(), certificate.options());
  TlsClient client(server.port());
  REQUIRE(client.handshake());
  const std::string large(2'000'000, 'q');
  client.send(post("/echo", large, "Connection: close\r\n"));
  CHECK(client.read_to_end().ends_with("\r\n\r\n" + large));
}

TEST_CASE("a stream over TLS is chunked, and a waiting one notices that its client left") {
  const Certificate certificate;
  TestServer server(test_settings(), certificate.options());
  {
    TlsClient client(server.port());
    REQUIRE(client.handshake());
    client.send(get("/stream/3/20000") + get("/follow"));
    client.read_until("start");
    CHECK(server.handler.followers == 1);
  }
  CHECK(eventually([&] { return server.handler.followers_ended == 1; }));
}

TEST_CASE("a request sent during a TLS stream is answered after it") {
  const Certificate certificate;
  TestServer server(test_settings(), certificate.options());
  TlsClient client(server.port());
  REQUIRE(client.handshake());
  client.send(get("/stream/300/100000"));
  client.read_until("octavo");
  std::this_thread::sleep_for(milliseconds{600});
  client.send(post("/echo", "early", "Connection: close\r\n"));
  CHECK(client.read_to_end().ends_with("\r\n\r\nearly"));
}

TEST_CASE("TLS 1.1 is refused") {
  const Certificate certificate;
  TestServer server(test_settings(), certificate.options());
  TlsClient client(server.port());
  SSL_set_min_proto_version(client.stream().native_handle(), TLS1_1_VERSION);
  SSL_set_max_proto_version(client.stream().native_handle(), TLS1_1_VERSION);
  CHECK_FALSE(client.handshake());
}

TEST_CASE("a TLS handshake that does not come is given up") {
  const Certificate certificate;
  auto settings = test_settings();
  settings.header_timeout_ms = milliseconds{100};
  TestServer server(settings, certificate.options());
  Client client(server.port());
  CHECK(client.ended());
  CHECK(server.metrics.snapshot().timeouts[0] == 1);
}

TEST_CASE("plain HTTP on the TLS port is told the address with https") {
  const Certificate certificate;
  TestServer server(test_settings(), certificate.options());
  Client client(server.port());
  client.send("GET /show HTTP/1.1\r\nHost: db.example.com:5984\r\n\r\n");
  const auto reply = client.read_reply();
  CHECK(reply.status == 400);
  CHECK(reply.body.find("https://db.example.com:5984") != std::string::npos);
  CHECK(client.ended());
}

TEST_CASE("plain HTTP on the TLS port is told no host that could not be one") {
  const Certificate certificate;
  TestServer server(test_settings(), certificate.options());
  Client client(server.port());
  client.send("GET /show HTTP/1.1\r\nHost: <b>\r\n\r\n");
  const auto reply = client.read_reply();
  CHECK(reply.status == 400);
  CHECK(reply.body.find("https://localhost:" + std::to_string(server.port())) != std::string::npos);
}

TEST_CASE("TLS and plain HTTP are served on one port") {
  const Certificate certificate;
  TestServer server(test_settings(), certificate.with_plain());
  Client plain(server.port());
  TlsClient secure(server.port());
  REQUIRE(secure.handshake());
  CHECK(plain.ask(post("/echo", "plain")).body == "plain");
  secure.send(post("/echo", "secure", "Connection: close\r\n"));
  CHECK(secure.read_to_end().ends_with("secure"));
  CHECK(plain.ask(post("/echo", "again")).body == "again");
}

TEST_CASE("a first byte that comes late, alone, decides nothing but the scheme") {
  const Certificate certificate;
  TestServer server(test_settings(), certificate.with_plain());
  Client client(server.port());
  std::this_thread::sleep_for(milliseconds{50});
  client.send("G");
  std::this_thread::sleep_for(milliseconds{50});
  client.send("ET /show HTTP/1.1\r\nHost: localhost\r\n\r\n");
  CHECK(client.read_reply().status == 200);
}

TEST_CASE("a first byte that does not come is given up, also where plain HTTP is served") {
  const Certificate certificate;
  auto settings = test_settings();
  settings.header_timeout_ms = milliseconds{100};
  TestServer server(settings, certificate.with_plain());
  Client client(server.port());
  CHECK(client.ended());
  CHECK(server.metrics.snapshot().timeouts[0] == 1);
}

TEST_CASE("a first byte that begins neither TLS nor HTTP is answered 400") {
  const Certificate certificate;
  TestServer server(test_settings(), certificate.with_plain());
  Client client(server.port());
  client.send(std::string("\x80\x2e\x01", 3));
  CHECK(client.read_reply().status == 400);
}

TEST_CASE("a handshake that begins but is garbage ends the connection") {
  const Certificate certificate;
  TestServer server(test_settings(), certificate.with_plain());
  Client client(server.port());
  client.send(std::string("\x16garbage that is no handshake, whatever it begins with"));
  CHECK_FALSE(client.read_until("HTTP/1.1"));
}

TEST_CASE("a server with both schemes stops at once while connections have sent nothing") {
  const Certificate certificate;
  TestServer server(test_settings(), certificate.with_plain());
  Client silent(server.port());
  CHECK(eventually([&] { return server.metrics.snapshot().connections_open == 1; }));
  CHECK(server.server.stop());
}

TEST_CASE("a certificate is replaced for new connections, and kept if the new one cannot be used") {
  const Certificate certificate;
  const auto used = ServerCertificate::load(certificate.certificate(), certificate.key()).value();
  const auto before = used->pem();
  CHECK(before.starts_with("-----BEGIN CERTIFICATE-----"));
  CHECK_FALSE(used->reload("/nonexistent.pem", "/nonexistent.pem"));
  CHECK(used->pem() == before);
}

TEST_CASE("a development certificate is made once, for its owner only, and made again if it cannot be read") {
  const octavo::tests::TemporaryFolder folder;
  const auto file = ensure_development_certificate(folder.path()).value();
  const auto owner_only = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
  CHECK((std::filesystem::status(file).permissions() == owner_only));
  const auto first = ServerCertificate::load(file, file).value()->pem();
  CHECK(first.starts_with("-----BEGIN CERTIFICATE-----"));
  CHECK(first.find("PRIVATE KEY") == std::string::npos);
  CHECK(ensure_development_certificate(folder.path()).value().string() == file.string());
  CHECK(ServerCertificate::load(file, file).value()->pem() == first);
  std::ofstream(file) << "damaged";
  CHECK(ensure_development_certificate(folder.path()).value().string() == file.string());
  const auto second = ServerCertificate::load(file, file).value()->pem();
  CHECK(second.starts_with("-----BEGIN CERTIFICATE-----"));
  CHECK(second != first);
}

TEST_CASE("a TLS server stops with its idle connections") {
  const Certificate certificate;
  TestServer server(test_settings(), certificate.options());
  TlsClient client(server.port());
  REQUIRE(client.handshake());
  client.send(get("/show"));
  client.read_until("show");
  CHECK(eventually([&] { return server.metrics.snapshot().requests == 1; }));
  std::thread reader([&] { client.read_to_end(); });
  CHECK(server.server.stop());
  reader.join();
}

TEST_CASE("a missing certificate is an error that names the file") {
  const auto result = ServerCertificate::load("/nonexistent.pem", "/nonexistent.pem");
  REQUIRE_FALSE(result);
  CHECK(result.error().reason.find("/nonexistent.pem") != std::string::npos);
}

TEST_CASE("a health check asks over plain HTTP and over TLS") {
  const Certificate certificate;
  TestServer plain_server;
  TestServer tls_server(test_settings(), certificate.options());
  const auto url = [](const char* scheme, std::uint16_t port, const char* path) {
    return std::string{scheme} + "://127.0.0.1:" + std::to_string(port) + path;
  };
  CHECK(check_health(url("http", plain_server.port(), "/show"), milliseconds{5000}));
  CHECK(check_health(url("https", tls_server.port(), "/show"), milliseconds{5000}));
  CHECK_FALSE(check_health(url("http", plain_server.port(), "/status/404"), milliseconds{5000}));
  CHECK_FALSE(check_health(url("http", tls_server.port(), "/show"), milliseconds{5000}));
  CHECK_FALSE(check_health(url("http", plain_server.port(), "/slow/2500"), milliseconds{100}));
  CHECK(check_health("http://127.0.0.1:1/_up", milliseconds{5000}).error().reason ==
        "No answer from http://127.0.0.1:1/_up: Connection refused.");
  CHECK_FALSE(check_health("not a url", milliseconds{100}));
}
