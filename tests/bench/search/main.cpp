// Full-text search in one process: indexing against bare Lucene++ on the same documents in the same run, selective
// searches, and searches of one partition.
//
//   octavo_bench_search [DOCUMENTS]     default 100000
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <lucene++/LuceneHeaders.h>
#include <random>
#include <string>
#include <vector>

#include <boost/asio/thread_pool.hpp>
#include <fmt/format.h>

#include "query/search/search_index.h"
#include "query/search/search_kind.h"
#include "support/apply_changes.h"

namespace {

using namespace octavo;  // NOLINT(google-build-using-namespace): a program of one file
using Clock = std::chrono::steady_clock;

constexpr std::size_t category_count = 200;

double seconds_since(Clock::time_point begun) {
  return std::chrono::duration<double>(Clock::now() - begun).count();
}

struct Product {
  std::string id;
  std::string partition;
  std::string text;
  std::string brand;
  int price;
};

// 20,000 words, the frequent ones much more frequent.
std::string word(std::mt19937& random) {
  const double u = std::uniform_real_distribution<double>(0, 1)(random);
  return fmt::format("word{}", static_cast<int>(20'000 * u * u * u));
}

std::vector<Product> make_products(std::size_t count) {
  std::mt19937 random(1);
  std::vector<Product> products;
  for (std::size_t i = 0; i < count; ++i) {
    Product product;
    product.partition = fmt::format("category{}", i % category_count);
    product.id = fmt::format("{}:{}", product.partition, i);
    for (int k = 0; k < 30; ++k) product.text += (k > 0 ? " " : "") + word(random);
    product.brand = fmt::format("brand{}", random() % 500);
    product.price = static_cast<int>(random() % 10'000);
    products.push_back(std::move(product));
  }
  return products;
}

double bare_lucene(const std::vector<Product>& products, const std::filesystem::path& folder) {
  const auto begun = Clock::now();
  const auto directory = Lucene::FSDirectory::open(Lucene::StringUtils::toUnicode(folder.string()));
  const auto writer = Lucene::newLucene<Lucene::IndexWriter>(
      directory, Lucene::newLucene<Lucene::StandardAnalyzer>(Lucene::LuceneVersion::LUCENE_30), true,
      Lucene::IndexWriter::MaxFieldLengthUNLIMITED);
  const auto field = [](const Lucene::DocumentPtr& document, const wchar_t* name, const std::string& text,
                        Lucene::AbstractField::Store store, Lucene::AbstractField::Index index) {
    document->add(Lucene::newLucene<Lucene::Field>(name, Lucene::StringUtils::toUnicode(text), store, index));
  };
  using Lucene::AbstractField;
  for (const Product& product : products) {
    const auto document = Lucene::newLucene<Lucene::Document>();
    field(document, L"_id", product.id, AbstractField::STORE_YES, AbstractField::INDEX_NOT_ANALYZED_NO_NORMS);
    field(document, L"_partition", product.partition, AbstractField::STORE_NO,
          AbstractField::INDEX_NOT_ANALYZED_NO_NORMS);
    field(document, L"default", product.text, AbstractField::STORE_NO, AbstractField::INDEX_ANALYZED);
    field(document, L"brand", product.brand, AbstractField::STORE_YES, AbstractField::INDEX_ANALYZED);
    const auto price = Lucene::newLucene<Lucene::NumericField>(L"price", 8, AbstractField::STORE_YES, true);
    price->setDoubleValue(product.price);
    document->add(price);
    writer->addDocument(document);
  }
  writer->commit();
  writer->close();
  return static_cast<double>(products.size()) / seconds_since(begun);
}

std::vector<query::FeedDocument> feed_of(const std::vector<Product>& products) {
  std::vector<query::FeedDocument> documents;
  for (const Product& product : products) {
    query::FeedDocument document;
    document.sequence = documents.size() + 1;
    document.id = product.id;
    document.partition_key = product.partition;
    document.present = true;
    document.json = fmt::format(R"({{"_id":"{}","_rev":"1-0","type":"product","text":"{}","brand":"{}","price":{}}})",
                                product.id, product.text, product.brand, product.price);
    documents.push_back(std::move(document));
  }
  return documents;
}

template <class T>
T need(Expected<T> result) {
  if (!result) {
    fmt::print(stderr, "failed: {}\n", result.error().reason);
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

struct Rate {
  double per_second;
  double hits;
};

template <class Make>
Rate searches(query::search::SearchIndex& index, double seconds, Make make) {
  std::size_t count = 0;
  std::uint64_t hits = 0;
  const auto begun = Clock::now();
  while (seconds_since(begun) < seconds) {
    hits += need(index.search(make(count++))).total_rows;
  }
  return {static_cast<double>(count) / seconds_since(begun), static_cast<double>(hits) / static_cast<double>(count)};
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100'000;
  std::string pattern = (std::filesystem::temp_directory_path() / "octavo-bench-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) return 1;
  const std::filesystem::path folder = pattern;
  const auto products = make_products(count);
  const auto documents = feed_of(products);

  const double limit = bare_lucene(products, folder / "bare");
  fmt::print("bare Lucene++, one thread            {:>10.0f} documents/s\n", limit);

  const auto kind = query::search::search_index_kind();
  const std::string design = R"({"indexes":{"i":{"analyzer":"standard","index":"function (doc) {)"
                             R"( index('default', doc.text); index('brand', doc.brand, {store: true});)"
                             R"( index('price', doc.price, {store: true}); }"}}})";
  const auto definitions = kind.read("_design/d", "1-0", design, true);
  if (definitions.size() != 1) return 1;
  query::FeedIndexOptions options;
  options.folder = folder / "index";
  options.database_tag = "bench";
  boost::asio::thread_pool pool(1);
  options.pool = &pool;
  auto made = need(kind.make(definitions[0], options));
  auto& index = dynamic_cast<query::search::SearchIndex&>(*made);
  need(index.open(0));
  const auto begun = Clock::now();
  constexpr std::size_t batch_documents = 4096;
  for (std::size_t at = 0; at < documents.size(); at += batch_documents) {
    const std::size_t size = std::min(batch_documents, documents.size() - at);
    need(octavo::tests::apply_all(index, std::span(documents).subspan(at, size), at + size,
                                  at + size == documents.size()));
  }
  index.close_idle(UINT64_MAX);  // commits
  const double rate = static_cast<double>(count) / seconds_since(begun);
  fmt::print("search index, with its function      {:>10.0f} documents/s   {:.2f} of the limit\n", rate, rate / limit);

  std::mt19937 random(2);
  const auto request = [&](const std::string& text) {
    query::search::SearchRequest made_request;
    made_request.query = need(query::search::parse_query(text));
    return made_request;
  };
  const auto report = [](const char* name, const Rate& measured) {
    fmt::print("{:<36} {:>10.0f} searches/s    {:.0f} documents found each\n", name, measured.per_second,
               measured.hits);
  };
  report("selective: two words, both", searches(index, 3, [&](std::size_t) {
           return request(fmt::format("+word{} +word{}", 1000 + random() % 19'000, random() % 500));
         }));
  report("selective: one rare word",
         searches(index, 3, [&](std::size_t) { return request(fmt::format("word{}", 15'000 + random() % 5'000)); }));
  report("common words, best 25", searches(index, 3, [&](std::size_t) {
           return request(fmt::format("word{} word{}", random() % 20, random() % 20));
         }));
  report("numbers: a range of 1 %", searches(index, 3, [&](std::size_t) {
           const auto low = random() % 9'900;
           return request(fmt::format("price:[{} TO {}]", low, low + 100));
         }));
  report("partition: common words", searches(index, 3, [&](std::size_t) {
           auto one = request(fmt::format("word{} word{}", random() % 20, random() % 20));
           one.partition = fmt::format("category{}", random() % category_count);
           return one;
         }));
  made.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return 0;
}
