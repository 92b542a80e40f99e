#include "api/couch/auth/jwt.h"

#include <algorithm>
#include <array>

#include <boost/json.hpp>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/obj_mac.h>
#include <openssl/pem.h>

#include "base/ascii_case.h"
#include "base/digest.h"
#include "base/encoding.h"
#include "query/json/parsed_document.h"

// Format (JSON Web Token):
//   token     := header "." payload "." signature, each base64url without padding
//   signature := HMAC | RSASSA-PKCS1-v1_5 | r[n] s[n] over `header "." payload`, with SHA-256, SHA-384 or SHA-512;
//                n is 32, 48 and 66 for the curves P-256, P-384 and P-521

namespace octavo::api::couch {

namespace {

constexpr std::size_t token_bytes_max = 64 * 1024;
constexpr int rsa_bits_min = 2048;  // RFC 7518 section 3.3
constexpr std::string_view default_key_id = "_default";
constexpr std::string_view default_roles_claim = "_couchdb.roles";
constexpr std::string_view key_names =
    "must be named \"hs256:kid\", \"rs256:kid\" or \"es256:kid\", or the same with 384 or 512";

enum class Family : std::uint8_t { hmac, rsa, ecdsa };

/// A signature algorithm of RFC 7518.
struct Algorithm {
  std::string_view name;    ///< as in a token's header
  std::string_view prefix;  ///< of the names of its keys
  Family family;
  crypto::Digest digest;
  const char* openssl_digest;
  std::string_view curve = {};  ///< OpenSSL's short name
  int coordinate_bytes = 0;     ///< of `r` and `s`
};
constexpr std::array algorithms{
    Algorithm{"HS256", "hs256:", Family::hmac, crypto::Digest::sha256, "SHA256"},
    Algorithm{"HS384", "hs384:", Family::hmac, crypto::Digest::sha384, "SHA384"},
    Algorithm{"HS512", "hs512:", Family::hmac, crypto::Digest::sha512, "SHA512"},
    Algorithm{"RS256", "rs256:", Family::rsa, crypto::Digest::sha256, "SHA256"},
    Algorithm{"RS384", "rs384:", Family::rsa, crypto::Digest::sha384, "SHA384"},
    Algorithm{"RS512", "rs512:", Family::rsa, crypto::Digest::sha512, "SHA512"},
    Algorithm{"ES256", "es256:", Family::ecdsa, crypto::Digest::sha256, "SHA256", SN_X9_62_prime256v1, 32},
    Algorithm{"ES384", "es384:", Family::ecdsa, crypto::Digest::sha384, "SHA384", SN_secp384r1, 48},
    Algorithm{"ES512", "es512:", Family::ecdsa, crypto::Digest::sha512, "SHA512", SN_secp521r1, 66},
};

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

const Algorithm* algorithm_of_token(std::string_view name) {
  const auto* found = std::ranges::find(algorithms, name, &Algorithm::name);
  return found == algorithms.end() ? nullptr : found;
}

const Algorithm* algorithm_of_key(std::string_view key_name) {
  const auto* found = std::ranges::find_if(
      algorithms, [&](const Algorithm& algorithm) { return key_name.starts_with(algorithm.prefix); });
  return found == algorithms.end() ? nullptr : found;
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

Expected<PublicKey> read_public_key(const Algorithm& algorithm, std::string_view text) {
  const std::string pem = with_line_ends(text);
  const std::unique_ptr<BIO, FreeBio> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  PublicKey key(bio ? PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr) : nullptr);
  ERR_clear_error();
  if (!key) return malformed("is no PEM public key (-----BEGIN PUBLIC KEY-----)");
  if (algorithm.family == Family::rsa) {
    if (EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_RSA) return malformed("is no RSA key");
    if (EVP_PKEY_get_bits(key.get()) < rsa_bits_min) return malformed("is shorter than 2048 bits");
    return key;
  }
  char group[64] = {};
  std::size_t size = 0;
  const bool on_curve = EVP_PKEY_get_base_id(key.get()) == EVP_PKEY_EC &&
                        EVP_PKEY_get_group_name(key.get(), group, sizeof group, &size) == 1 &&
                        std::string_view(group, size) == algorithm.curve;
  if (!on_curve) {
    const int bits = algorithm.coordinate_bytes == 66 ? 521 : algorithm.coordinate_bytes * 8;
    return malformed("is no key on the curve P-" + std::to_string(bits));
  }
  return key;
}

/// Converts an ECDSA signature from JOSE's form (r and s) to DER for OpenSSL. nullopt if it is malformed.
std::optional<std::string> der_signature(std::string_view raw, int coordinate_bytes) {
  if (raw.size() != 2 * static_cast<std::size_t>(coordinate_bytes)) return std::nullopt;
  const auto* bytes = reinterpret_cast<const unsigned char*>(raw.data());
  const std::unique_ptr<ECDSA_SIG, FreeSignature> signature(ECDSA_SIG_new());
  BIGNUM* r = BN_bin2bn(bytes, coordinate_bytes, nullptr);
  BIGNUM* s = BN_bin2bn(bytes + coordinate_bytes, coordinate_bytes, nullptr);
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

bool verify_signature(EVP_PKEY* key, const char* digest, std::string_view message, std::string_view signature) {
  const std::unique_ptr<EVP_MD_CTX, FreeVerification> context(EVP_MD_CTX_new());
  const bool ok =
      context && EVP_DigestVerifyInit_ex(context.get(), nullptr, digest, nullptr, nullptr, key, nullptr) == 1 &&
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

/// The names in a path such as `resource_access.app.roles`; `\.` is a dot in a name.
std::vector<std::string> parse_claim_path(std::string_view text) {
  std::vector<std::string> names(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == '.') {
      names.back() += text[++i];
    } else if (text[i] == '.') {
      names.emplace_back();
    } else {
      names.back() += text[i];
    }
  }
  return names;
}

/// The claim at a path; nullptr if it is absent or null.
const boost::json::value* find_nested(const boost::json::object& claims, const std::vector<std::string>& path) {
  const boost::json::object* object = &claims;
  const boost::json::value* value = nullptr;
  for (const std::string& name : path) {
    value = object == nullptr ? nullptr : find(*object, name);
    if (value == nullptr) return nullptr;
    object = value->if_object();
  }
  return value;
}

Expected<JwtIdentity> read_identity(const boost::json::object& claims, const std::vector<std::string>& roles_path) {
  JwtIdentity identity;
  const auto* subject = find(claims, "sub");
  if (subject == nullptr) return fail(ErrorCode::unauthorized, "Token missing sub claim.");
  if (!subject->is_string() || subject->get_string().empty()) return malformed("Invalid sub claim");
  identity.subject = subject->get_string();
  if (const auto* roles = find_nested(claims, roles_path)) {
    const auto invalid_roles = [&] { return malformed("Invalid " + roles_path.back() + " claim"); };
    if (!roles->is_array()) return invalid_roles();
    for (const auto& role : roles->get_array()) {
      if (!role.is_string()) return invalid_roles();
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
  const Algorithm* algorithm;
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
                   lower.begin(), to_lower);
    const auto bad = [&](const std::string& what) { return malformed("jwt_keys \"" + name + "\" " + what); };
    auto key = std::make_unique<Key>();
    key->algorithm = algorithm_of_key(lower);
    if (key->algorithm == nullptr || lower.size() == key->algorithm->prefix.size()) return bad(std::string(key_names));
    if (key->algorithm->family == Family::hmac) {
      auto secret = crypto::base64_decode(text);
      if (!secret || secret->empty()) return bad("is no base64 secret");
      key->secret = std::move(*secret);
    } else {
      auto public_key = read_public_key(*key->algorithm, text);
      if (!public_key) return bad(public_key.error().reason);
      key->public_key = std::move(*public_key);
    }
    keys.keys_.emplace(std::move(lower), std::move(key));
  }
  return keys;
}

JwtVerifier::JwtVerifier(JwtKeys keys, std::vector<std::string> required_claims, std::string_view roles_claim_path)
    : keys_(std::move(keys)),
      required_claims_(std::move(required_claims)),
      roles_path_(roles_claim_path.empty() ? std::vector{std::string(default_roles_claim)}
                                           : parse_claim_path(roles_claim_path)) {}

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
  const auto* algorithm = alg->is_string() ? algorithm_of_token(std::string_view(alg->get_string())) : nullptr;
  if (algorithm == nullptr) return malformed("Invalid alg header parameter");
  const auto* kid = find(header, "kid");
  if (kid != nullptr && !kid->is_string()) return malformed("Invalid kid header parameter");
  const std::string_view key_id = kid == nullptr ? default_key_id : std::string_view(kid->get_string());
  const auto found = keys_.keys_.find(std::string(algorithm->prefix) + std::string(key_id));
  if (found == keys_.keys_.end()) return malformed("Unknown kid");

  // The payload is not parsed before its signature is verified.
  const JwtKeys::Key& key = *found->second;
  const std::string_view message = token.substr(0, second);
  const auto signature = crypto::base64url_decode(token.substr(second + 1));
  if (!signature) return malformed("Malformed token");
  if (algorithm->family == Family::hmac) {
    if (!crypto::constant_time_equal(hmac(algorithm->digest, key.secret, message), *signature))
      return malformed("Bad HMAC");
  } else {
    const bool ecdsa = algorithm->family == Family::ecdsa;
    const auto bytes = ecdsa ? der_signature(*signature, algorithm->coordinate_bytes) : signature;
    const bool valid = bytes && verify_signature(key.public_key.get(), algorithm->openssl_digest, message, *bytes);
    if (!valid) return malformed("Bad signature");
  }

  OCTAVO_TRY(const auto claims, decode_object(token.substr(first + 1, second - first - 1)));
  OCTAVO_TRY_VOID(check_required(claims, required_claims_));
  OCTAVO_TRY_VOID(check_times(claims, static_cast<double>(now_s)));
  return read_identity(claims, roles_path_);
}

}  // namespace octavo::api::couch
