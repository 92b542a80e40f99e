#include "server/listen/development_certificate.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>

#include <climits>
#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "base/folder.h"

namespace octavo::server {
namespace {

constexpr std::string_view certificate_file = "development-certificate.pem";
constexpr long valid_for_s = 10L * 365 * 24 * 3600;
/// The clock of a client may be behind ours.
constexpr long valid_before_s = 24L * 3600;

struct FreeOpenSsl {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
  void operator()(BIO* bio) const { BIO_free_all(bio); }
};
template <class T>
using OpenSslPointer = std::unique_ptr<T, FreeOpenSsl>;

bool is_still_valid(const std::filesystem::path& file) {
  const OpenSslPointer<BIO> input(BIO_new_file(file.c_str(), "r"));
  const OpenSslPointer<X509> certificate(input ? PEM_read_bio_X509(input.get(), nullptr, nullptr, nullptr) : nullptr);
  const bool valid = certificate && X509_cmp_current_time(X509_get0_notAfter(certificate.get())) > 0;
  ERR_clear_error();
  return valid;
}

/// The name of this machine; empty if it cannot be in a certificate.
std::string machine_name() {
  std::array<char, HOST_NAME_MAX + 1> buffer{};
  if (::gethostname(buffer.data(), buffer.size() - 1) != 0) return {};
  std::string name = buffer.data();
  const bool usable = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  });
  return usable && name != "localhost" ? name : std::string();
}

bool add_extension(X509* certificate, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  const OpenSslPointer<X509_EXTENSION> extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

// It is no certificate authority: who steals its key cannot issue certificates for other names with it.
bool fill(X509* certificate, EVP_PKEY* key) {
  std::uint64_t serial = 0;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof(serial)) != 1) return false;
  X509_NAME* const name = X509_get_subject_name(certificate);
  const auto* const common_name = reinterpret_cast<const unsigned char*>("localhost");
  std::string names = "DNS:localhost,IP:127.0.0.1,IP:::1";
  if (const std::string machine = machine_name(); !machine.empty()) names += ",DNS:" + machine;
  return X509_set_version(certificate, X509_VERSION_3) == 1 &&
         ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial >> 1) == 1 &&
         X509_gmtime_adj(X509_getm_notBefore(certificate), -valid_before_s) != nullptr &&
         X509_gmtime_adj(X509_getm_notAfter(certificate), valid_for_s) != nullptr &&
         X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, common_name, -1, -1, 0) == 1 &&
         X509_set_issuer_name(certificate, name) == 1 && X509_set_pubkey(certificate, key) == 1 &&
         add_extension(certificate, NID_basic_constraints, "critical,CA:FALSE") &&
         add_extension(certificate, NID_ext_key_usage, "serverAuth") &&
         add_extension(certificate, NID_subject_key_identifier, "hash") &&
         add_extension(certificate, NID_subject_alt_name, names) && X509_sign(certificate, key, EVP_sha256()) != 0;
}

/// A new certificate and its key, as PEM; nullopt if OpenSSL fails.
std::optional<std::string> make_certificate() {
  const OpenSslPointer<EVP_PKEY> key(EVP_EC_gen("P-256"));
  const OpenSslPointer<X509> certificate(X509_new());
  const OpenSslPointer<BIO> output(BIO_new(BIO_s_mem()));
  const bool made = key && certificate && output && fill(certificate.get(), key.get()) &&
                    PEM_write_bio_X509(output.get(), certificate.get()) == 1 &&
                    PEM_write_bio_PrivateKey(output.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1;
  ERR_clear_error();
  if (!made) return std::nullopt;
  char* text = nullptr;
  const long bytes = BIO_get_mem_data(output.get(), &text);
  return std::string(text, static_cast<std::size_t>(bytes));
}

}  // namespace

Expected<std::filesystem::path> ensure_development_certificate(const std::filesystem::path& data_dir) {
  std::filesystem::path file = data_dir / certificate_file;
  if (is_still_valid(file)) return file;
  const auto pem = make_certificate();
  if (!pem) return fail(ErrorCode::internal, "A development certificate cannot be made.");
  std::error_code error;
  storage::replace_file(file, *pem, error);
  if (!error) storage::sync_folder(data_dir, error);
  if (error) {
    return fail(ErrorCode::io_failure,
                fmt::format("The development certificate {} cannot be written: {}.", file.string(), error.message()));
  }
  return file;
}

}  // namespace octavo::server
