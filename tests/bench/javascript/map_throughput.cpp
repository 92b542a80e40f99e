// How many documents a second one core maps, beside a bare loop over SpiderMonkey with the same documents and
// functions. usage: octavo_bench_map [DOCUMENTS]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <time.h>
#include <vector>

#include "bench/javascript/bare_spidermonkey.h"
#include "query/javascript/functions.h"

namespace {

using namespace octavo;

constexpr int rounds = 5;  // the best of them counts: what disturbs only makes it slower

struct Case {
  const char* name;
  std::string function;
};

std::vector<std::string> make_documents(std::size_t count) {
  std::vector<std::string> documents;
  documents.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto n = std::to_string(i);
    documents.push_back(
        R"({"_id":"customer)" + std::to_string(i % 1000) + ":order" + n +
        R"(","_rev":"1-0123456789abcdef0123456789abcdef","type":"order","status":")" + (i % 3 == 0 ? "open" : "paid") +
        R"(","total":)" + std::to_string(i % 997) + "." + std::to_string(i % 10) + R"(,"year":)" +
        std::to_string(2000 + i % 25) + R"(,"month":)" + std::to_string(1 + i % 12) + R"(,"day":)" +
        std::to_string(1 + i % 28) + R"(,"customer":{"name":"Customer )" + n + R"(","city":"City )" +
        std::to_string(i % 100) + R"(","tags":["a","b","c"]},"items":[{"sku":"sku-)" + std::to_string(i % 5000) +
        R"(","count":2,"price":19.99},{"sku":"sku-)" + std::to_string((i * 7) % 5000) +
        R"(","count":1,"price":5}],"note":"Please leave the parcel with the neighbours if no one is at )"
        R"(home; the bell does not work, so knock loudly."})");
  }
  return documents;
}

// Time of this thread: other programs do not count.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Documents a second, of the best round.
template <class Map>
double measure(const std::vector<std::string>& documents, Map map) {
  double best = 0;
  for (int round = 0; round < rounds; ++round) {
    const double began = processor_seconds();
    for (const auto& document : documents) map(document);
    best = std::max(best, static_cast<double>(documents.size()) / (processor_seconds() - began));
  }
  return best;
}

void run(const Case& c, const std::vector<std::string>& documents) {
  query::javascript::MapOutput output;
  const auto program = std::make_shared<const query::javascript::Program>(
      "bench", std::vector<query::javascript::Program::Function>{{c.name, c.function}}, "");
  double ours = 0, bare = 0;
  std::thread([&] {
    ours = measure(documents, [&](const std::string& document) {
      if (!query::javascript::map(program, document, output)) std::abort();
    });
  }).join();
  // A thread has one JavaScript context at a time.
  std::thread([&] {
    bench::BareSpiderMonkey spidermonkey(c.function);
    bare = measure(documents, [&](const std::string& document) {
      if (!spidermonkey.map(document)) std::abort();
    });
  }).join();
  std::printf("%-24s %10.0f docs/s   bare %10.0f docs/s   ratio %.2f\n", c.name, ours, bare, ours / bare);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t count = argc > 1 ? static_cast<std::size_t>(std::atoll(argv[1])) : 100'000;
  const auto documents = make_documents(count);
  std::size_t bytes = 0;
  for (const auto& document : documents) bytes += document.size();
  std::printf("%zu documents of %zu bytes, best of %d rounds\n", count, bytes / count, rounds);
  for (const auto& c : {
           Case{"one number", "function(doc) { if (doc.type === 'order') emit(doc.total, null); }"},
           Case{"array key, number", "function(doc) { emit([doc.year, doc.month, doc.day], doc.total); }"},
           Case{"three strings",
                "function(doc) { emit(doc.customer.name, doc.customer.city); emit(doc.status, 1); "
                "emit(doc.items[0].sku, doc.items[0].count); }"},
           Case{"loop, object value",
                "function(doc) { for (var i = 0; i < doc.items.length; ++i) "
                "emit(doc.items[i].sku, {count: doc.items[i].count, price: doc.items[i].price}); }"},
           Case{"whole document", "function(doc) { emit(doc._id, doc); }"},
       }) {
    run(c, documents);
  }
}
