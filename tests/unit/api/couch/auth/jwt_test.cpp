#include "api/couch/auth/jwt.h"

#include <catch2/catch.hpp>

#include "unit/api/couch/auth/jwt_signer.h"

using namespace octavo;
using namespace octavo::crypto;
using octavo::tests::sign_hmac;
using octavo::tests::sign_hs256;
using octavo::tests::SigningKey;

namespace {

constexpr std::int64_t now = 1'700'000'000;
const std::string secret = "a secret of at least thirty-two bytes";
const std::string hs256_header = R"({"alg":"HS256","typ":"JWT","kid":"k"})";

using Configured = std::map<std::string, std::string>;

JwtVerifier verifier(const Configured& configured, std::vector<std::string> required = {}) {
  auto keys = JwtKeys::load(configured);
  REQUIRE(keys);
  return JwtVerifier(std::move(*keys), std::move(required));
}

JwtVerifier hs256_verifier(std::vector<std::string> required = {}) {
  return verifier({{"hs256:k", base64_encode(secret)}}, std::move(required));
}

Error error_of(const Expected<JwtIdentity>& result) {
  REQUIRE_FALSE(result);
  return result.error();
}

// The payload of RFC 7515's examples: {"iss":"joe","exp":1300819380,"http://example.com/is_root":true}.
const std::string rfc_payload =
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
constexpr std::int64_t rfc_now = 1'300'000'000;
// With a valid signature the check reaches the missing `sub`.
const Error valid_but_nameless{ErrorCode::unauthorized, "Token missing sub claim.", ""};

const std::string rfc_rsa_key = R"(-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAofgWCuLjybRlzo0tZWJj
NiuSfb4p4fAkd/wWJcyQoTbji9k0l8W26mPddxHmfHQp+Vaw+4qPCJrcS2mJPMEz
P1Pt0Bm4d4QlL+yRT+SFd2lZS+pCgNMsD1W/YpRPEwOWvG6b32690r2jZ47soMZo
9wGzjb/7OMg0LOL+bSf63kpaSHSXndS5z5rexMdbBYUsLA9e+KXBdQOS+UTo7WTB
EMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6/I5IhlJH7aGhyxX
FvUK+DWNmoudF8NAco9/h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXp
oQIDAQAB
-----END PUBLIC KEY-----
)";
const std::string rfc_ec_key = R"(-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV7
6e8Tus9uPHvRVEXH8UTNG72bfocs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==
-----END PUBLIC KEY-----
)";

}  // namespace

TEST_CASE("the HS256 example of RFC 7515 verifies") {
  const std::string key =
      *base64url_decode("AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow");
  const auto tokens = verifier({{"hs256:_default", base64_encode(key)}});
  const std::string token =
      "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9." + rfc_payload + ".dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
  CHECK(error_of(tokens.verify(token, rfc_now)) == valid_but_nameless);
}

TEST_CASE("the RS256 example of RFC 7515 verifies") {
  const auto tokens = verifier({{"rs256:_default", rfc_rsa_key}});
  const std::string token =
      "eyJhbGciOiJSUzI1NiJ9." + rfc_payload +
      ".cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr"
      "7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi1"
      "2jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlU"
      "PQGe77Rw";
  CHECK(error_of(tokens.verify(token, rfc_now)) == valid_but_nameless);
}

TEST_CASE("the ES256 example of RFC 7515 verifies") {
  const auto tokens = verifier({{"es256:_default", rfc_ec_key}});
  const std::string token = "eyJhbGciOiJFUzI1NiJ9." + rfc_payload +
                            ".DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
  CHECK(error_of(tokens.verify(token, rfc_now)) == valid_but_nameless);
}

TEST_CASE("a token names the user and the roles") {
  const auto tokens = hs256_verifier();
  const auto identity = tokens.verify(
      sign_hs256(secret, hs256_header, R"({"sub":"jan","_couchdb.roles":["a","b"],"exp":1700000001})"), now);
  REQUIRE(identity);
  CHECK(identity->subject == "jan");
  CHECK(identity->roles == std::vector<std::string>{"a", "b"});
  CHECK(identity->expires_s == now + 1);
}

TEST_CASE("RS256 and ES256 tokens verify by their own keys only") {
  const auto rsa = SigningKey::rsa(2048);
  const auto ec = SigningKey::ec("P-256");
  const auto tokens = verifier({{"rs256:k", rsa.public_pem()}, {"es256:k", ec.public_pem()}});
  const std::string rs_header = R"({"alg":"RS256","kid":"k"})";
  const std::string es_header = R"({"alg":"ES256","kid":"k"})";
  const std::string payload = R"({"sub":"jan"})";

  CHECK(tokens.verify(rsa.token(rs_header, payload), now));
  CHECK(tokens.verify(ec.token(es_header, payload), now));
  CHECK(error_of(tokens.verify(rsa.token(es_header, payload), now)).reason == "Bad signature");
  CHECK(error_of(tokens.verify(ec.token(rs_header, payload), now)).reason == "Bad signature");
  CHECK(error_of(tokens.verify(SigningKey::rsa(2048).token(rs_header, payload), now)).reason == "Bad signature");
  CHECK(error_of(tokens.verify(SigningKey::ec("P-256").token(es_header, payload), now)).reason == "Bad signature");
}

TEST_CASE("the algorithms with 384 and 512 bits verify by their own keys only") {
  const auto rsa = SigningKey::rsa(2048);
  const auto p384 = SigningKey::ec("P-384");
  const auto p521 = SigningKey::ec("P-521");
  const auto tokens = verifier({{"hs384:k", base64_encode(secret)},
                                {"hs512:k", base64_encode(secret)},
                                {"rs384:k", rsa.public_pem()},
                                {"rs512:k", rsa.public_pem()},
                                {"es384:k", p384.public_pem()},
                                {"es512:k", p521.public_pem()}});
  const auto header = [](const std::string& alg) { return R"({"alg":")" + alg + R"(","kid":"k"})"; };
  const std::string payload = R"({"sub":"jan"})";

  CHECK(tokens.verify(sign_hmac(Digest::sha384, secret, header("HS384"), payload), now));
  CHECK(tokens.verify(sign_hmac(Digest::sha512, secret, header("HS512"), payload), now));
  CHECK(tokens.verify(rsa.token(header("RS384"), payload, "SHA384"), now));
  CHECK(tokens.verify(rsa.token(header("RS512"), payload, "SHA512"), now));
  CHECK(tokens.verify(p384.token(header("ES384"), payload, "SHA384"), now));
  CHECK(tokens.verify(p521.token(header("ES512"), payload, "SHA512"), now));

  CHECK(error_of(tokens.verify(sign_hs256(secret, header("HS512"), payload), now)).reason == "Bad HMAC");
  CHECK(error_of(tokens.verify(sign_hs256(secret, header("HS256"), payload), now)).reason == "Unknown kid");
  CHECK(error_of(tokens.verify(rsa.token(header("RS512"), payload, "SHA256"), now)).reason == "Bad signature");
  CHECK(error_of(tokens.verify(p384.token(header("ES512"), payload, "SHA512"), now)).reason == "Bad signature");
}

TEST_CASE("roles are read where the configured path leads") {
  auto keys = JwtKeys::load({{"hs256:k", base64_encode(secret)}});
  REQUIRE(keys);
  const JwtVerifier tokens(std::move(*keys), {}, R"(resource_access.my\.app.roles)");
  const auto verify = [&](const std::string& payload) {
    return tokens.verify(sign_hs256(secret, hs256_header, payload), now);
  };
  const auto identity = verify(R"({"sub":"jan","resource_access":{"my.app":{"roles":["a"]}},"_couchdb.roles":["b"]})");
  REQUIRE(identity);
  CHECK(identity->roles == std::vector<std::string>{"a"});
  CHECK(verify(R"({"sub":"jan","resource_access":{"my.app":5}})")->roles.empty());
  CHECK(verify(R"({"sub":"jan","resource_access":[]})")->roles.empty());
  CHECK(error_of(verify(R"({"sub":"jan","resource_access":{"my.app":{"roles":"a"}}})")).reason ==
        "Invalid roles claim");
}

TEST_CASE("a token signed with a public key as HMAC secret is refused") {
  const auto rsa = SigningKey::rsa(2048);
  const auto tokens = verifier({{"rs256:k", rsa.public_pem()}});
  const auto forged = sign_hs256(rsa.public_pem(), hs256_header, R"({"sub":"admin","_couchdb.roles":["_admin"]})");
  CHECK(error_of(tokens.verify(forged, now)).reason == "Unknown kid");
}

TEST_CASE("a token without signature is refused, however the algorithm is spelled") {
  const auto tokens = hs256_verifier();
  for (const std::string alg : {"none", "None", "NONE", "hs256", "HS999", ""}) {
    const std::string header = R"({"alg":")" + alg + R"(","kid":"k"})";
    const std::string token = base64url_encode(header) + "." + base64url_encode(R"({"sub":"jan"})") + ".";
    INFO(alg);
    CHECK(error_of(tokens.verify(token, now)).reason == "Invalid alg header parameter");
  }
}

TEST_CASE("a token with an empty signature is refused") {
  const auto tokens = hs256_verifier();
  const std::string token = base64url_encode(hs256_header) + "." + base64url_encode(R"({"sub":"jan"})") + ".";
  CHECK(error_of(tokens.verify(token, now)).reason == "Bad HMAC");
}

TEST_CASE("a changed payload is refused") {
  const auto tokens = hs256_verifier();
  const std::string token = sign_hs256(secret, hs256_header, R"({"sub":"jan"})");
  const std::size_t first = token.find('.');
  const std::size_t second = token.find('.', first + 1);
  const std::string forged = token.substr(0, first + 1) + base64url_encode(R"({"sub":"eve"})") + token.substr(second);
  CHECK(error_of(tokens.verify(forged, now)).reason == "Bad HMAC");
}

TEST_CASE("another secret is refused") {
  CHECK(error_of(hs256_verifier().verify(sign_hs256("other", hs256_header, R"({"sub":"jan"})"), now)) ==
        Error{ErrorCode::bad_request, "Bad HMAC", ""});
}

TEST_CASE("an unknown key id is refused, and a missing one if no default key is set") {
  const auto tokens = hs256_verifier();
  CHECK(error_of(tokens.verify(sign_hs256(secret, R"({"alg":"HS256","kid":"x"})", R"({"sub":"jan"})"), now)).reason ==
        "Unknown kid");
  CHECK(error_of(tokens.verify(sign_hs256(secret, R"({"alg":"HS256"})", R"({"sub":"jan"})"), now)).reason ==
        "Unknown kid");
}

TEST_CASE("exp and nbf count when they are there") {
  const auto tokens = hs256_verifier();
  const auto verify = [&](const std::string& payload) {
    return tokens.verify(sign_hs256(secret, hs256_header, payload), now);
  };
  CHECK(verify(R"({"sub":"jan","exp":1700000001})"));
  CHECK(error_of(verify(R"({"sub":"jan","exp":1700000000})")) ==
        Error{ErrorCode::unauthorized, "exp not in future", ""});
  CHECK(error_of(verify(R"({"sub":"jan","exp":"soon"})")).reason == "Invalid exp claim");
  CHECK(verify(R"({"sub":"jan","nbf":1700000000})"));
  CHECK(error_of(verify(R"({"sub":"jan","nbf":1700000001})")) == Error{ErrorCode::unauthorized, "nbf not in past", ""});
  CHECK(verify(R"({"sub":"jan","exp":1e300})"));
  CHECK(error_of(verify(R"({"sub":"jan","exp":0e400})")).reason == "exp not in future");
}

TEST_CASE("required claims must be there, with their value when one is given") {
  const auto tokens = hs256_verifier({"exp", "iss=https://login.example.com"});
  const auto verify = [&](const std::string& payload) {
    return tokens.verify(sign_hs256(secret, hs256_header, payload), now);
  };
  CHECK(verify(R"({"sub":"jan","exp":1700000001,"iss":"https://login.example.com"})"));
  CHECK(error_of(verify(R"({"sub":"jan","iss":"https://login.example.com"})")).reason == "Missing exp claim");
  CHECK(error_of(verify(R"({"sub":"jan","exp":1700000001})")).reason == "Missing iss claim");
  CHECK(error_of(verify(R"({"sub":"jan","exp":1700000001,"iss":"eve"})")).reason == "Invalid iss claim");
}

TEST_CASE("a token must name a user, and roles must be texts") {
  const auto tokens = hs256_verifier();
  const auto verify = [&](const std::string& payload) {
    return tokens.verify(sign_hs256(secret, hs256_header, payload), now);
  };
  CHECK(error_of(verify(R"({})")).reason == "Token missing sub claim.");
  CHECK(error_of(verify(R"({"sub":""})")).reason == "Invalid sub claim");
  CHECK(error_of(verify(R"({"sub":1})")).reason == "Invalid sub claim");
  CHECK(error_of(verify(R"({"sub":"jan","_couchdb.roles":"_admin"})")).reason == "Invalid _couchdb.roles claim");
  CHECK(error_of(verify(R"({"sub":"jan","_couchdb.roles":[1]})")).reason == "Invalid _couchdb.roles claim");
  CHECK(error_of(verify(R"([])")).reason == "Not an object");
}

TEST_CASE("what is no token at all is refused") {
  const auto tokens = hs256_verifier();
  CHECK(error_of(tokens.verify("", now)).reason == "Malformed token");
  CHECK(error_of(tokens.verify(".", now)).reason == "Malformed token");
  CHECK(error_of(tokens.verify("..", now)).reason == "Malformed token");
  CHECK(error_of(tokens.verify("a.b.c.d", now)).reason == "Malformed token");
  CHECK(error_of(tokens.verify("!!.??.##", now)).reason == "Malformed token");
  CHECK(error_of(tokens.verify(std::string(100'000, 'a'), now)).reason == "Malformed token");
  CHECK(error_of(tokens.verify(base64url_encode("[]") + ".e30.", now)).reason == "Not an object");
}

TEST_CASE("critical header extensions are refused, as none is known") {
  const auto token = sign_hs256(secret, R"({"alg":"HS256","kid":"k","crit":["x"]})", R"({"sub":"jan"})");
  CHECK(error_of(hs256_verifier().verify(token, now)).reason == "Invalid crit header parameter");
}

TEST_CASE("an ES256 signature of wrong length or of zeros is refused") {
  const auto tokens = verifier({{"es256:_default", rfc_ec_key}});
  const std::string message = base64url_encode(R"({"alg":"ES256"})") + "." + base64url_encode(R"({"sub":"jan"})") + ".";
  CHECK(error_of(tokens.verify(message, now)).reason == "Bad signature");
  CHECK(error_of(tokens.verify(message + base64url_encode(std::string(63, 'x')), now)).reason == "Bad signature");
  CHECK(error_of(tokens.verify(message + base64url_encode(std::string(64, '\0')), now)).reason == "Bad signature");
}

TEST_CASE("unusable keys are refused when they are loaded") {
  const auto reason = [](const std::string& name, const std::string& text) {
    const auto keys = JwtKeys::load({{name, text}});
    return keys ? std::string() : keys.error().reason;
  };
  CHECK(reason("hs256:k", "not base64!") == "jwt_keys \"hs256:k\" is no base64 secret");
  CHECK(reason("hs256:k", "") == "jwt_keys \"hs256:k\" is no base64 secret");
  for (const std::string name : {"k", "hs999:k", "hs256:", "hs256"}) {
    CHECK(reason(name, "aGVsbG8=") == "jwt_keys \"" + name +
                                          "\" must be named \"hs256:kid\", \"rs256:kid\" or \"es256:kid\", or the same "
                                          "with 384 or 512");
  }
  CHECK(reason("rs256:k", "nonsense").find("is no PEM public key") != std::string::npos);
  CHECK(reason("rs256:k", rfc_ec_key).ends_with("is no RSA key"));
  CHECK(reason("es256:k", rfc_rsa_key).ends_with("is no key on the curve P-256"));
  CHECK(reason("rs256:k", SigningKey::rsa(1024).public_pem()).ends_with("is shorter than 2048 bits"));
  CHECK(reason("es256:k", SigningKey::ec("P-384").public_pem()).ends_with("is no key on the curve P-256"));
  CHECK(reason("es512:k", SigningKey::ec("P-384").public_pem()).ends_with("is no key on the curve P-521"));
}

TEST_CASE("a PEM key may be written on one line") {
  std::string one_line;
  for (const char c : rfc_ec_key) one_line += c == '\n' ? std::string("\\n") : std::string(1, c);
  CHECK(JwtKeys::load({{"es256:k", one_line}}));
}
