#include "bench/cases/cosmos_cases.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <stdexcept>
#include <unistd.h>

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "bench/http_client.h"
#include "bench/measurement.h"

namespace octavo::bench {

namespace {

// The emulator's, which is public.
constexpr std::string_view well_known_key =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";
constexpr std::string_view container_link = "dbs/bench-cosmos/colls/items";
constexpr std::string_view couch_name = "bench-cosmos%2Fitems";
constexpr double cosmos_ratio = 0.85;
constexpr unsigned read_connections = 32;
constexpr unsigned write_connections = 256;
constexpr std::size_t reads_prepared = 20'000;

std::string decode_base64(std::string_view text) {
  std::string bytes(text.size() / 4 * 3, '\0');
  const int size =
      ::EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                        reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (size < 0) throw std::runtime_error("the key is no base64");
  bytes.resize(static_cast<std::size_t>(size) - static_cast<std::size_t>(std::ranges::count(text, '=')));
  return bytes;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

/// Signs requests with the account's key, for the moment it was made: the server accepts them for 15 minutes.
class Signer {
 public:
  Signer() : key_(decode_base64(well_known_key)) {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    std::array<char, 40> text{};
    date_.assign(text.data(), std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts));
  }

  /// The header lines that sign a request for the resource of `type` at `link`.
  std::string headers(std::string_view method, std::string_view type, std::string_view link) const {
    const auto text = fmt::format("{}\n{}\n{}\n{}\n\n", lower(method), type, link, lower(date_));
    std::array<unsigned char, EVP_MAX_MD_SIZE> mac{};
    unsigned size = 0;
    ::HMAC(::EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
           reinterpret_cast<const unsigned char*>(text.data()), text.size(), mac.data(), &size);
    std::array<unsigned char, 2 * EVP_MAX_MD_SIZE> base64{};
    const int length = ::EVP_EncodeBlock(base64.data(), mac.data(), static_cast<int>(size));
    std::string signature;
    for (const unsigned char c :
         std::string_view(reinterpret_cast<char*>(base64.data()), static_cast<std::size_t>(length))) {
      if (c == '+' || c == '/' || c == '=') {
        fmt::format_to(std::back_inserter(signature), "%{:02X}", c);
      } else {
        signature += static_cast<char>(c);
      }
    }
    return fmt::format(
        "x-ms-date: {}\r\nx-ms-version: 2020-07-15\r\nauthorization: type%3Dmaster%26ver%3D1.0%26sig%3D{}\r\n", date_,
        signature);
  }

 private:
  std::string key_;
  std::string date_;
};

void append_signed(std::string& out, std::string_view method, std::string_view target, std::string_view headers,
                   std::string_view body = {}) {
  fmt::format_to(std::back_inserter(out),
                 "{} {} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\n{}Content-Length: {}\r\n\r\n{}",
                 method, target, headers, body.size(), body);
}

/// One signed request, for setting up.
void expect_signed(Run& run, const Signer& signer, std::string_view target, std::string_view type,
                   std::string_view link, std::string_view body) {
  LoadOptions options;
  options.port = run.server->cosmos_port();
  options.connections = 1;
  options.expected_status = 201;
  options.warm_up = std::chrono::milliseconds(0);
  options.requests_max = 1;
  const auto result = run_load(options, [&](std::string& out, std::uint64_t) {
    append_signed(out, "POST", target, signer.headers("POST", type, link), body);
  });
  if (result.errors != 0) throw std::runtime_error(fmt::format("POST {}: {}", target, result.first_error));
}

/// The run's documents in a container of one physical partition, without indexes: the APIs are measured.
DataSet container_with_documents(Run& run, const Signer& signer) {
  DataSet items = run.data;
  items.database = couch_name;
  items.as_items = true;
  HttpClient client(run.server->port());
  if (client.request("GET", fmt::format("/{}", couch_name)).status == 200) return items;
  expect_signed(run, signer, "/dbs", "dbs", "", R"({"id":"bench-cosmos"})");
  expect_signed(run, signer, "/dbs/bench-cosmos/colls", "colls", "dbs/bench-cosmos",
                R"({"id":"items","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},)"
                R"("indexingPolicy":{"indexingMode":"none","automatic":false}})");
  items.write_all(run.server->port());
  return items;
}

/// The Cosmos DB API is the result, the CouchDB API the limit.
void add_beside_couch(Run& run, const std::string& name, unsigned connections, int status, const RequestSource& cosmos,
                      const RequestSource& couch) {
  add_in_turn(run, {name, "the same by the CouchDB API", connections, status, cosmos_ratio},
              {run.server->cosmos_port(), cosmos}, {run.server->port(), couch});
}

}  // namespace

void cosmos_get(Run& run) {
  const Signer signer;
  const auto items = container_with_documents(run, signer);
  Random random;
  std::vector<std::string> signed_reads;
  std::vector<std::string> plain_reads;
  while (signed_reads.size() < reads_prepared) {
    const auto id = DataSet::id(random.below(items.count));
    const auto key = id.substr(0, id.find(':'));
    const auto link = fmt::format("{}/docs/{}", container_link, id.substr(key.size() + 1));
    append_signed(signed_reads.emplace_back(), "GET", "/" + link,
                  signer.headers("GET", "docs", link) + fmt::format("x-ms-documentdb-partitionkey: [\"{}\"]\r\n", key));
    append_request(plain_reads.emplace_back(), "GET", fmt::format("/{}/{}", couch_name, id));
  }
  const auto from = [](const std::vector<std::string>& requests) {
    return [&requests](std::string& out, std::uint64_t index) { out += requests[index % requests.size()]; };
  };
  add_beside_couch(run, "point read by the Azure Cosmos DB API, 32 connections", read_connections, 200,
                   from(signed_reads), from(plain_reads));
}

void cosmos_upsert(Run& run) {
  const Signer signer;
  const auto items = container_with_documents(run, signer);
  const auto rest = run.data.document(1, false).substr(1);
  const auto headers =
      signer.headers("POST", "docs", std::string(container_link)) + "x-ms-documentdb-is-upsert: true\r\n";
  const auto target = fmt::format("/{}/docs", container_link);
  Random random;
  std::uint64_t count = 0;
  const auto body_of = [&](std::string_view key, std::uint64_t number) {
    return fmt::format(R"({{"id":"{}-{}","pk":"{}",{})", ::getpid(), number, key, rest);
  };
  const RequestSource cosmos = [&](std::string& out, std::uint64_t) {
    const auto key = fmt::format("w{:08x}", random.below(UINT32_MAX));
    append_signed(out, "POST", target, headers + fmt::format("x-ms-documentdb-partitionkey: [\"{}\"]\r\n", key),
                  body_of(key, count++));
  };
  const RequestSource couch = [&](std::string& out, std::uint64_t) {
    const auto key = fmt::format("w{:08x}", random.below(UINT32_MAX));
    const auto number = count++;
    append_request(out, "PUT", fmt::format("/{}/{}:{}-{}", couch_name, key, ::getpid(), number), body_of(key, number));
  };
  add_beside_couch(run, "durable upsert by the Azure Cosmos DB API, 256 connections", write_connections, 201, cosmos,
                   couch);
}

}  // namespace octavo::bench
