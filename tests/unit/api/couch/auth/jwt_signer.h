#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "base/digest.h"
#include "base/encoding.h"

namespace octavo::tests {

inline std::string sign_hmac(crypto::Digest digest, std::string_view secret, std::string_view header,
                             std::string_view payload) {
  const std::string message = crypto::base64url_encode(header) + "." + crypto::base64url_encode(payload);
  return message + "." + crypto::base64url_encode(crypto::hmac(digest, secret, message));
}

inline std::string sign_hs256(std::string_view secret, std::string_view header, std::string_view payload) {
  return sign_hmac(crypto::Digest::sha256, secret, header, payload);
}

/// A key pair made for one test.
class SigningKey {
 public:
  static SigningKey rsa(unsigned bits) { return SigningKey(EVP_RSA_gen(bits)); }
  static SigningKey ec(const char* curve) { return SigningKey(EVP_EC_gen(curve)); }

  std::string public_pem() const {
    BIO* bio = BIO_new(BIO_s_mem());
    PEM_write_bio_PUBKEY(bio, key_.get());
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    std::string pem(data, static_cast<std::size_t>(size));
    BIO_free(bio);
    return pem;
  }

  std::string token(std::string_view header, std::string_view payload, const char* digest = "SHA256") const {
    const std::string message = crypto::base64url_encode(header) + "." + crypto::base64url_encode(payload);
    std::string signature = sign(message, digest);
    if (EVP_PKEY_get_base_id(key_.get()) == EVP_PKEY_EC) signature = raw_ecdsa(signature);
    return message + "." + crypto::base64url_encode(signature);
  }

 private:
  explicit SigningKey(EVP_PKEY* key) : key_(key, EVP_PKEY_free) {}

  std::string sign(const std::string& message, const char* digest) const {
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    EVP_DigestSignInit_ex(context, nullptr, digest, nullptr, nullptr, key_.get(), nullptr);
    std::size_t size = 0;
    const auto* bytes = reinterpret_cast<const unsigned char*>(message.data());
    EVP_DigestSign(context, nullptr, &size, bytes, message.size());
    std::string signature(size, '\0');
    EVP_DigestSign(context, reinterpret_cast<unsigned char*>(signature.data()), &size, bytes, message.size());
    signature.resize(size);
    EVP_MD_CTX_free(context);
    return signature;
  }

  std::string raw_ecdsa(const std::string& der) const {
    const int coordinate_bytes = (EVP_PKEY_get_bits(key_.get()) + 7) / 8;
    const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
    ECDSA_SIG* signature = d2i_ECDSA_SIG(nullptr, &bytes, static_cast<long>(der.size()));
    std::string raw(2 * static_cast<std::size_t>(coordinate_bytes), '\0');
    auto* out = reinterpret_cast<unsigned char*>(raw.data());
    BN_bn2binpad(ECDSA_SIG_get0_r(signature), out, coordinate_bytes);
    BN_bn2binpad(ECDSA_SIG_get0_s(signature), out + coordinate_bytes, coordinate_bytes);
    ECDSA_SIG_free(signature);
    return raw;
  }

  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key_;
};

}  // namespace octavo::tests
