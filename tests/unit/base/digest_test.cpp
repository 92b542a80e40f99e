#include "base/digest.h"

#include <catch2/catch.hpp>

#include "base/encoding.h"

using namespace octavo::crypto;

namespace {

std::string hex_of(const std::string& bytes) {
  return hex_encode(bytes);
}

}  // namespace

TEST_CASE("HMAC-SHA-256 gives the vectors of RFC 4231") {
  CHECK(hex_of(hmac(Digest::sha256, std::string(20, '\x0b'), "Hi There")) ==
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK(hex_of(hmac(Digest::sha256, "Jefe", "what do ya want for nothing?")) ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(hex_of(
            hmac(Digest::sha256, std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First")) ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST_CASE("HMAC-SHA-512 gives the vector of RFC 4231") {
  CHECK(hex_of(hmac(Digest::sha512, "Jefe", "what do ya want for nothing?")) ==
        "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
        "9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737");
}

TEST_CASE("HMAC takes an empty key") {
  CHECK(hex_of(hmac(Digest::sha256, "", "")) == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

TEST_CASE("PBKDF2 with SHA-1 gives the vectors of RFC 6070") {
  CHECK(hex_of(pbkdf2(Digest::sha1, "password", "salt", 1, 20)) == "0c60c80f961f0e71f3a9b524af6012062fe037a6");
  CHECK(hex_of(pbkdf2(Digest::sha1, "password", "salt", 4096, 20)) == "4b007901b765489abead49d926f721d065a429c1");
  CHECK(hex_of(pbkdf2(Digest::sha1, "passwordPASSWORDpassword", "saltSALTsaltSALTsaltSALTsaltSALTsalt", 4096, 25)) ==
        "3d2eec4fe41c849b80c8d83662c0e44a8b291a964cf2f07038");
  CHECK(hex_of(pbkdf2(Digest::sha1, std::string("pass\0word", 9), std::string("sa\0lt", 5), 4096, 16)) ==
        "56fa6aa75548099dcc37d7f03425e0c3");
}

TEST_CASE("PBKDF2 with SHA-256 gives the vectors of RFC 7914") {
  CHECK(hex_of(pbkdf2(Digest::sha256, "passwd", "salt", 1, 64)) ==
        "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc"
        "49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783");
  CHECK(hex_of(pbkdf2(Digest::sha256, "Password", "NaCl", 80000, 64)) ==
        "4ddcd8f60b98be21830cee5ef22701f9641a4418d04c0414aeff08876b34ab56"
        "a1d425a1225833549adb841b51c9b3176a272bdebba1d078478f62b397f33c8d");
}

TEST_CASE("an identity is the beginning of the SHA-256 of its content") {
  CHECK(hex_identity("abc") == "ba7816bf8f01cfea414140de5dae2223");
  CHECK(hex_identity("") == "e3b0c44298fc1c149afbf4c8996fb924");
}

TEST_CASE("CouchDB's names of digests are known") {
  CHECK(digest_from_name("sha") == Digest::sha1);
  CHECK(digest_from_name("sha256") == Digest::sha256);
  CHECK_FALSE(digest_from_name("md5"));
  CHECK(digest_bytes(Digest::sha1) == 20);
  CHECK(digest_bytes(Digest::sha256) == 32);
}

TEST_CASE("constant-time comparison tells equal from different") {
  CHECK(constant_time_equal("", ""));
  CHECK(constant_time_equal("abc", "abc"));
  CHECK_FALSE(constant_time_equal("abc", "abd"));
  CHECK_FALSE(constant_time_equal("abc", "ab"));
}

TEST_CASE("random bytes differ from call to call") {
  CHECK(random_bytes(16).size() == 16);
  CHECK(random_bytes(16) != random_bytes(16));
}

TEST_CASE("a keyed hash is HMAC over the parts and their lengths") {
  const KeyedHash keyed("secret");
  const auto value = keyed({"ab"});
  const std::string message = std::string("\x02\0\0\0\0\0\0\0", 8) + "ab";
  CHECK(std::string(value.begin(), value.end()) == hmac(Digest::sha256, "secret", message));
}

TEST_CASE("a keyed hash takes keys longer than a block") {
  const std::string key(100, 'k');
  const KeyedHash keyed(key);
  const auto value = keyed({});
  CHECK(std::string(value.begin(), value.end()) == hmac(Digest::sha256, key, ""));
}

TEST_CASE("a keyed hash tells parts apart that look alike when joined") {
  const KeyedHash keyed("secret");
  CHECK(keyed({"ab", "c"}) == keyed({"ab", "c"}));
  CHECK(keyed({"ab", "c"}) != keyed({"a", "bc"}));
  CHECK(keyed({"ab", "c"}) != KeyedHash("other")({"ab", "c"}));
}

TEST_CASE("SHA-256 of parts is that of their concatenation") {
  const auto abc = sha256("abc");
  CHECK(hex_encode({abc.data(), abc.size()}) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256({"a", "", "bc"}) == abc);
  CHECK(sha256({{}, "abc"}) == abc);
  CHECK(std::string(abc.data(), abc.size()) == hash(Digest::sha256, "abc"));
}
