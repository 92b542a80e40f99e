#include "query/javascript/program.h"

#include <array>
#include <cstdint>

#include <openssl/evp.h>

namespace octavo::query::javascript {

namespace {

// Lengths first, so that no two lists of texts look the same.
class Hash {
 public:
  Hash() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) { EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr); }

  void add(std::string_view text) {
    const std::uint64_t size = text.size();
    EVP_DigestUpdate(context_.get(), &size, sizeof size);
    EVP_DigestUpdate(context_.get(), text.data(), text.size());
  }
  std::string finish() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    EVP_DigestFinal_ex(context_.get(), digest.data(), &size);
    return std::string(reinterpret_cast<const char*>(digest.data()), size);
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

Program::Program(std::string_view database, std::vector<Function> functions, std::string modules, Kind kind)
    : kind_(kind), functions_(std::move(functions)), modules_(std::move(modules)) {
  Hash hash;
  hash.add(database);
  hash.add(std::to_string(static_cast<int>(kind)));
  for (const auto& function : functions_) {
    hash.add(function.name);
    hash.add(function.source);
  }
  hash.add(modules_);
  identity_ = hash.finish();
}

}  // namespace octavo::query::javascript
