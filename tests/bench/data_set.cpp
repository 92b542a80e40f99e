#include "bench/data_set.h"

#include <stdexcept>

#include <fmt/format.h>

#include "bench/load.h"

namespace octavo::bench {

namespace {
constexpr std::string_view filler =
    "Slim colourful design, electronic appliance for home and kitchen, weighs up to five kilograms, with a function "
    "for liquids in millilitres and fluid ounces, a fifteen year guarantee and a bowl of stainless steel";
constexpr std::uint64_t bulk_documents = 1000;
constexpr unsigned fill_connections = 4;
}  // namespace

std::string DataSet::partition(std::uint64_t number) {
  return fmt::format("c{:07}", number);
}

std::string DataSet::id(std::uint64_t number) {
  return fmt::format("{}:d{:03}", partition(number / documents_per_partition), number % documents_per_partition);
}

std::string DataSet::document(std::uint64_t number, bool with_id) const {
  std::string text = "{";
  if (with_id) text += fmt::format(R"("_id":"{}",)", id(number));
  if (as_items) {
    text += fmt::format(R"("id":"d{:03}","pk":"{}",)", number % documents_per_partition,
                        partition(number / documents_per_partition));
  }
  text += fmt::format(
      R"("type":"item","kind":"k{}","customer":"u{:07}","number":{},"price":{}.{:02},"name":"Item number {}","active":{},"tags":["red","green","blue"],"text":"{}"}})",
      number % 4, customers() == 0 ? 0 : number % customers(), number, number % 500, number % 100, number,
      number % 3 == 0, filler);
  return text;
}

double DataSet::fill(std::uint16_t port, unsigned q) const {
  HttpClient client(port);
  client.expect(201, "PUT", fmt::format("/{}?partitioned=true&q={}", database, q));
  return write_all(port);
}

double DataSet::write_all(std::uint16_t port) const {
  const auto batches = (count + bulk_documents - 1) / bulk_documents;
  const auto target = fmt::format("/{}/_bulk_docs", database);
  std::string body;
  const RequestSource source = [&](std::string& out, std::uint64_t index) {
    body = R"({"docs":[)";
    for (auto number = index * bulk_documents; number < std::min(count, (index + 1) * bulk_documents); ++number) {
      if (body.back() != '[') body += ',';
      body += document(number, true);
    }
    body += "]}";
    append_request(out, "POST", target, body);
  };
  LoadOptions options;
  options.port = port;
  options.connections = fill_connections;
  options.expected_status = 201;
  options.warm_up = std::chrono::milliseconds(0);
  options.duration = std::chrono::hours(24);
  options.requests_max = batches;
  const auto result = run_load(options, source);
  if (result.errors != 0) throw std::runtime_error("filling failed: " + result.first_error);
  return static_cast<double>(count) / result.seconds;
}

std::uint64_t Random::below(std::uint64_t bound) {
  state_ ^= state_ << 13;
  state_ ^= state_ >> 7;
  state_ ^= state_ << 17;
  return bound == 0 ? 0 : state_ % bound;
}

}  // namespace octavo::bench
