#include "base/digest.h"

#include <algorithm>
#include <limits>
#include <new>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "base/encoding.h"

namespace octavo::crypto {

namespace {

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_MD_CTX, FreeContext>;

struct FreeDigest {
  void operator()(EVP_MD* digest) const { EVP_MD_free(digest); }
};

const EVP_MD* openssl_digest(Digest digest) {
  switch (digest) {
    case Digest::sha1:
      return EVP_sha1();
    case Digest::sha224:
      return EVP_sha224();
    case Digest::sha256:
      return EVP_sha256();
    case Digest::sha384:
      return EVP_sha384();
    case Digest::sha512:
      return EVP_sha512();
  }
  return EVP_sha256();
}

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

void require(bool ok) {
  if (!ok) throw std::bad_alloc();
}

}  // namespace

std::optional<Digest> digest_from_name(std::string_view name) {
  if (name == "sha") return Digest::sha1;
  if (name == "sha224") return Digest::sha224;
  if (name == "sha256") return Digest::sha256;
  if (name == "sha384") return Digest::sha384;
  if (name == "sha512") return Digest::sha512;
  return std::nullopt;
}

std::string_view digest_name(Digest digest) {
  switch (digest) {
    case Digest::sha1:
      return "sha";
    case Digest::sha224:
      return "sha224";
    case Digest::sha256:
      return "sha256";
    case Digest::sha384:
      return "sha384";
    case Digest::sha512:
      return "sha512";
  }
  return "";
}

std::size_t digest_bytes(Digest digest) {
  return static_cast<std::size_t>(EVP_MD_get_size(openssl_digest(digest)));
}

std::string hash(Digest digest, std::string_view bytes) {
  std::string out(digest_bytes(digest), '\0');
  unsigned size = 0;
  require(EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(out.data()), &size,
                     openssl_digest(digest), nullptr) == 1);
  return out;
}

Sha256Value sha256(std::string_view bytes) {
  return sha256({bytes});
}

Sha256Value sha256(std::initializer_list<std::string_view> parts) {
  // Fetching the algorithm costs more than hashing a document, and takes a lock that all threads share.
  struct Sha256 {
    std::unique_ptr<EVP_MD, FreeDigest> digest{EVP_MD_fetch(nullptr, "SHA256", nullptr)};
    Context context{EVP_MD_CTX_new()};
  };
  thread_local const Sha256 sha256;
  require(sha256.digest && sha256.context);
  EVP_MD_CTX* context = sha256.context.get();
  require(EVP_DigestInit_ex2(context, sha256.digest.get(), nullptr) == 1);
  for (const std::string_view part : parts) require(EVP_DigestUpdate(context, part.data(), part.size()) == 1);
  Sha256Value value{};
  require(EVP_DigestFinal_ex(context, reinterpret_cast<unsigned char*>(value.data()), nullptr) == 1);
  return value;
}

std::string hex_identity(std::string_view content) {
  constexpr std::size_t kept_bytes = 16;
  const Sha256Value digest = sha256(content);
  return hex_encode({digest.data(), kept_bytes});
}

std::string hmac(Digest digest, std::string_view key, std::string_view message) {
  std::string out(digest_bytes(digest), '\0');
  unsigned size = 0;
  // To OpenSSL a null key pointer means "the previous key".
  const char* key_data = key.empty() ? "" : key.data();
  require(HMAC(openssl_digest(digest), key_data, static_cast<int>(key.size()), bytes_of(message), message.size(),
               reinterpret_cast<unsigned char*>(out.data()), &size) != nullptr);
  return out;
}

std::string pbkdf2(Digest digest, std::string_view password, std::string_view salt, std::uint32_t iterations,
                   std::size_t key_bytes) {
  std::string out(key_bytes, '\0');
  const auto rounds = std::clamp<std::uint32_t>(iterations, 1, std::numeric_limits<int>::max());
  require(PKCS5_PBKDF2_HMAC(password.empty() ? "" : password.data(), static_cast<int>(password.size()), bytes_of(salt),
                            static_cast<int>(salt.size()), static_cast<int>(rounds), openssl_digest(digest),
                            static_cast<int>(key_bytes), reinterpret_cast<unsigned char*>(out.data())) == 1);
  return out;
}

bool constant_time_equal(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string random_bytes(std::size_t count) {
  std::string out(count, '\0');
  require(RAND_bytes(reinterpret_cast<unsigned char*>(out.data()), static_cast<int>(count)) == 1);
  return out;
}

// The two halves of HMAC with the padded key already absorbed. Each message starts from copies of them.
struct KeyedHash::Contexts {
  std::unique_ptr<EVP_MD, FreeDigest> digest;
  Context inner;
  Context outer;
};

KeyedHash::KeyedHash(std::string_view key) : contexts_(std::make_unique<Contexts>()) {
  constexpr std::size_t block_bytes = 64;
  // Fetched once: EVP_sha256() is looked up at each use, under a lock that all threads share.
  contexts_->digest.reset(EVP_MD_fetch(nullptr, "SHA256", nullptr));
  contexts_->inner.reset(EVP_MD_CTX_new());
  contexts_->outer.reset(EVP_MD_CTX_new());
  require(contexts_->digest && contexts_->inner && contexts_->outer);

  std::string block = key.size() > block_bytes ? hash(Digest::sha256, key) : std::string(key);
  block.resize(block_bytes, '\0');
  const auto absorb = [&](const Context& context, char pad) {
    std::string padded = block;
    for (char& c : padded) c = static_cast<char>(c ^ pad);
    require(EVP_DigestInit_ex2(context.get(), contexts_->digest.get(), nullptr) == 1);
    require(EVP_DigestUpdate(context.get(), padded.data(), padded.size()) == 1);
  };
  absorb(contexts_->inner, 0x36);
  absorb(contexts_->outer, 0x5c);
}

KeyedHash::~KeyedHash() = default;
KeyedHash::KeyedHash(KeyedHash&&) noexcept = default;
KeyedHash& KeyedHash::operator=(KeyedHash&&) noexcept = default;

template <class Absorb>
KeyedHash::Value KeyedHash::compute(Absorb absorb) const {
  thread_local const Context context(EVP_MD_CTX_new());  // reused: each message copies into it
  require(context && EVP_MD_CTX_copy_ex(context.get(), contexts_->inner.get()) == 1);
  absorb([&](const void* bytes, std::size_t size) { require(EVP_DigestUpdate(context.get(), bytes, size) == 1); });
  Value value{};
  auto* out = reinterpret_cast<unsigned char*>(value.data());
  require(EVP_DigestFinal_ex(context.get(), out, nullptr) == 1);
  require(EVP_MD_CTX_copy_ex(context.get(), contexts_->outer.get()) == 1);
  require(EVP_DigestUpdate(context.get(), out, value.size()) == 1);
  require(EVP_DigestFinal_ex(context.get(), out, nullptr) == 1);
  return value;
}

KeyedHash::Value KeyedHash::operator()(std::initializer_list<std::string_view> parts) const {
  return compute([&](const auto& update) {
    for (const std::string_view part : parts) {
      std::array<unsigned char, 8> size{};
      for (std::size_t i = 0; i < size.size(); ++i) size[i] = static_cast<unsigned char>(part.size() >> (8 * i));
      update(size.data(), size.size());
      update(part.data(), part.size());
    }
  });
}

KeyedHash::Value KeyedHash::of_message(std::string_view message) const {
  return compute([&](const auto& update) { update(message.data(), message.size()); });
}

}  // namespace octavo::crypto
