#include "api/couch/auth/jwt.h"

#include <algorithm>

#include <boost/json.hpp>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/obj_mac.h>
#include <openssl/pem.h>

#include "base/digest.h"
#include "base/encoding.h"
#include "query/json/parsed_document.h"

// Format (JSON Web Token):
//   token     := header "." payload "." signature, each base64url without padding
//   signature := HMAC-SHA-256 | RSASSA-PKCS1-v1_5 | r[32] s[32] over `header "." payload`

namespace octavo::api::couch {

namespace {

constexpr std::size_t token_bytes_max = 64 * 1024;
constexpr int rsa_bits_min = 2048;  // RFC 7518 section 3.3
constexpr std::size_t es256_signature_bytes = 64;
constexpr std::string_view default_key_id = "_default";

enum class Algorithm : std::uint8_t { hs256, rs256, es256 };

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using PublicKey = std::unique_ptr<EVP_PKEY, FreeKey>;

struct FreeVerification {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
struct FreeSignature {
  void operator()(ECDSA_SIG* signature) const { ECDSA_SIG_free(signature); }
};

std::optional<Algorithm> algorithm_from_name(std::string_view name) {
  if (name == "HS256") return Algorithm::hs256;
  if (name == "RS256") return Algorithm::rs256;
  if (name == "ES256") return Algorithm::es256;
  return std::nullopt;
}

std::string_view key_prefix(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::hs256:
      return "hs256:";
    case Algorithm::rs256:
      return "rs256:";
    case Algorithm::es256:
      return "es256:";
  }
  return "";
}

std::unexpected<Error> malformed(std::string reason) {
  return fail(ErrorCode::bad_request, std::move(reason));
}

/// Replaces `\n` by line ends: keys are often written on one line, for environment variables and CouchDB's ini files.
std::string with_line_ends(std::string_view pem) {
  std::string out;
  for (std::size_t i = 0; i < pem.size(); ++i) {
    if (pem[i] == '\\' && i + 1 < pem.size() && pem[i + 1] == 'n') {
      out.push_back('\n');
      ++i;
    } else {
      out.push_back(pem[i]);
    }
  }
  return out;
}

Expected<PublicKey> read_public_key(Algorithm algorithm, std::string_view text) {
  const std::string pem = with_line_ends(text);
  const std::unique_ptr<BIO, FreeBio> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  PublicKey key(bio ? PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr) : nullptr);
  ERR_clear_error();
  if (!key) return malformed("is no PEM public key (-----BEGIN PUBLIC KEY-----)");
  if (algorithm == Algorithm::rs256) {
    if (EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_RSA) return malformed("is no RSA key");
    if (EVP_PKEY_get_bits(key.get()) < rsa_bits_min) return malformed("is shorter than 2048 bits");
    return key;
  }
  char group[64] = {};
  std::size_t size = 0;
  const bool p256 = EVP_PKEY_get_base_id(key.get()) == EVP_PKEY_EC &&
                    EVP_PKEY_get_group_name(key.get(), group, sizeof group, &size) == 1 &&
                    std::string_view(group, size) == SN_X9_62_prime256v1;
  if (!p256) return malformed("is no key on the curve P-256");
  return key;
}

/// Converts an ECDSA signature from JOSE's form (r and s) to DER for OpenSSL. nullopt if it is malformed.
std::optional<std::string> der_signature(std::string_view raw) {
  if (raw.size() != es256_signature_bytes) return std::nullopt;
  const auto* bytes = reinterpret_cast<const unsigned char*>(raw.data());
  const std::unique_ptr<ECDSA_SIG, FreeSignature> signature(ECDSA_SIG_new());
  BIGNUM* r = BN_bin2bn(bytes, 32, nullptr);
  BIGNUM* s = BN_bin2bn(bytes + 32, 32, nullptr);
  if (!signature || ECDSA_SIG_set0(signature.get(), r, s) != 1) {
    BN_free(r);
    BN_free(s);
    return std::nullopt;
  }
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(signature.get(), &der);
  if (size <= 0) return std::nullopt;
  std::string out(reinterpret_cast<char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  return out;
}

bool verify_signature(EVP_PKEY* key, std::string_view message, std::string_view signature) {
  const std::unique_ptr<EVP_MD_CTX, FreeVerification> context(EVP_MD_CTX_new());
  const bool ok =
      context && EVP_DigestVerifyInit_ex(context.get(), nullptr, "SHA256", nullptr, nullptr, key, nullptr) == 1 &&
      EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(signature.data()), signature.size(),
                       reinterpret_cast<const unsigned char*>(message.data()), message.size()) == 1;
  ERR_clear_error();
  return ok;
}

Expected<boost::json::object> decode_object(std::string_view part) {
  const auto text = crypto::base64url_decode(part);
  if (!text) return malformed("Malformed token");
  // Not boost::json::parse: it reads 0e400 as NaN, and no time compares as later than that.
  auto value = query::parse_json(*text);
  if (!value) return malformed("Malformed token");
  if (!value->is_object()) return malformed("Not an object");
  return std::move(value->as_object());
}

const boost::json::value* find(const boost::json::object& object, std::string_view name) {
  const auto* value = object.if_contains({name.data(), name.size()});
  return value != nullptr && value->is_null() ? nullptr : value;
}

/// A NumericDate may have a fraction. nullopt if the value is not a number.
std::optional<double> numeric_date(const boost::json::value& value) {
  if (value.is_int64()) return static_cast<double>(value.get_int64());
  if (value.is_uint64()) return static_cast<double>(value.get_uint64());
  if (value.is_double()) return value.get_double();
  return std::nullopt;
}

Expected<void> check_times(const boost::json::object& claims, double now_s) {
  if (const auto* exp = find(claims, "exp")) {
    const auto at = numeric_date(*exp);
    if (!at) return malformed("Invalid exp claim");
    if (*at <= now_s) return fail(ErrorCode::unauthorized, "exp not in future");
  }
  if (const auto* nbf = find(claims, "nbf")) {
    const auto at = numeric_date(*nbf);
    if (!at) return malformed("Invalid nbf claim");
    if (*at > now_s) return fail(ErrorCode::unauthorized, "nbf not in past");
  }
  return {};
}

Expected<void> check_required(const boost::json::object& claims, const std::vector<std::string>& required) {
  for (const std::string& rule : required) {
    const std::size_t equals = rule.find('=');
    const std::string name = rule.substr(0, equals);
    const auto* value = find(claims, name);
    if (value == nullptr) return malformed("Missing " + name + " claim");
    if (equals != std::string::npos && !(value->is_string() && value->get_string() == rule.substr(equals + 1))) {
      return malformed("Invalid " + name + " claim");
    }
  }
  return {};
}

Expected<JwtIdentity> read_identity(const boost::json::object& claims) {
  JwtIdentity identity;
  const auto* subject = find(claims, "sub");
  if (subject == nullptr) return fail(ErrorCode::unauthorized, "Token missing sub claim.");
  if (!subject->is_string() || subject->get_string().empty()) return malformed("Invalid sub claim");
  identity.subject = subject->get_string();
  if (const auto* roles = find(claims, "_couchdb.roles")) {
    if (!roles->is_array()) return malformed("Invalid _couchdb.roles claim");
    for (const auto& role : roles->get_array()) {
      if (!role.is_string()) return malformed("Invalid _couchdb.roles claim");
      identity.roles.emplace_back(role.get_string());
    }
  }
  if (const auto* exp = find(claims, "exp")) {
    const double at = numeric_date(*exp).value_or(0);
    identity.expires_s = static_cast<std::int64_t>(std::min(at, 9e15));
  }
  return identity;
}

}  // namespace

struct JwtKeys::Key {
  Algorithm algorithm;
  std::string secret;
  PublicKey public_key;
};

JwtKeys::JwtKeys() = default;
JwtKeys::~JwtKeys() = default;
JwtKeys::JwtKeys(JwtKeys&&) noexcept = default;
JwtKeys& JwtKeys::operator=(JwtKeys&&) noexcept = default;

bool JwtKeys::empty() const {
  return keys_.empty();
}

Expected<JwtKeys> JwtKeys::load(const std::map<std::string, std::string>& configured) {
  JwtKeys keys;
  for (const auto& [name, text] : configured) {
    std::string lower = name;
    std::transform(lower.begin(), lower.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(5, lower.size())),
                   lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    const auto bad = [&](const std::string& what) { return malformed("jwt_keys \"" + name + "\" " + what); };
    auto key = std::make_unique<Key>();
    if (lower.size() <= 6 || lower[5] != ':') return bad("must be named \"hs256:kid\", \"rs256:kid\" or \"es256:kid\"");
    if (lower.starts_with("hs256:")) {
      key->algorithm = Algorithm::hs256;
      auto secret = crypto::base64_decode(text);
      if (!secret || secret->empty()) return bad("is no base64 secret");
      key->secret = std::move(*secret);
    } else if (lower.starts_with("rs256:") || lower.starts_with("es256:")) {
      key->algorithm = lower[0] == 'r' ? Algorithm::rs256 : Algorithm::es256;
      auto public_key = read_public_key(key->algorithm, text);
      if (!public_key) return bad(public_key.error().reason);
      key->public_key = std::move(*public_key);
    } else {
      return bad("must be named \"hs256:kid\", \"rs256:kid\" or \"es256:kid\"");
    }
    keys.keys_.emplace(std::move(lower), std::move(key));
  }
  return keys;
}

JwtVerifier::JwtVerifier(JwtKeys keys, std::vector<std::string> required_claims)
    : keys_(std::move(keys)), required_claims_(std::move(required_claims)) {}

Expected<JwtIdentity> JwtVerifier::verify(std::string_view token, std::int64_t now_s) const {
  if (token.size() > token_bytes_max) return malformed("Malformed token");
  const std::size_t first = token.find('.');
  const std::size_t second = first == token.npos ? token.npos : token.find('.', first + 1);
  if (second == token.npos || token.find('.', second + 1) != token.npos) return malformed("Malformed token");

  OCTAVO_TRY(const auto header, decode_object(token.substr(0, first)));
  const auto* typ = find(header, "typ");
  if (typ != nullptr && !(typ->is_string() && (typ->get_string() == "JWT" || typ->get_string() == "jwt" ||
                                               typ->get_string() == "at+jwt"))) {
    return malformed("Invalid typ header parameter");
  }
  // `crit` names extensions that must be understood. We support none (RFC 7515 section 4.1.11).
  if (header.contains("crit")) return malformed("Invalid crit header parameter");
  const auto* alg = find(header, "alg");
  if (alg == nullptr) return malformed("Missing alg header parameter");
  const auto algorithm = alg->is_string() ? algorithm_from_name(std::string_view(alg->get_string())) : std::nullopt;
  if (!algorithm) return malformed("Invalid alg header parameter");
  const auto* kid = find(header, "kid");
  if (kid != nullptr && !kid->is_string()) return malformed("Invalid kid header parameter");
  const std::string_view key_id = kid == nullptr ? default_key_id : std::string_view(kid->get_string());
  const auto found = keys_.keys_.find(std::string(key_prefix(*algorithm)) + std::string(key_id));
  if (found == keys_.keys_.end()) return malformed("Unknown kid");

  // The payload is not parsed before its signature is verified.
  const JwtKeys::Key& key = *found->second;
  const std::string_view message = token.substr(0, second);
  const auto signature = crypto::base64url_decode(token.substr(second + 1));
  if (!signature) return malformed("Malformed token");
  if (key.algorithm == Algorithm::hs256) {
    if (!crypto::constant_time_equal(hmac(crypto::Digest::sha256, key.secret, message), *signature))
      return malformed("Bad HMAC");
  } else {
    const auto bytes = key.algorithm == Algorithm::es256 ? der_signature(*signature) : signature;
    if (!bytes || !verify_signature(key.public_key.get(), message, *bytes)) return malformed("Bad signature");
  }

  OCTAVO_TRY(const auto claims, decode_object(token.substr(first + 1, second - first - 1)));
  OCTAVO_TRY_VOID(check_required(claims, required_claims_));
  OCTAVO_TRY_VOID(check_times(claims, static_cast<double>(now_s)));
  return read_identity(claims);
}

}  // namespace octavo::api::couch
