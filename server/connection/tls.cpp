#include "server/connection/tls.h"

#include <array>
#include <string_view>

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

namespace octavo::server {
namespace {

namespace ssl = boost::asio::ssl;

// ALPN: only HTTP/1.1 is supported. If a client offers only others, the extension is not answered (RFC 7301 allows it).
int select_protocol(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* offered,
                    unsigned int offered_size, void*) {
  static constexpr std::array<unsigned char, 9> http_1_1{8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  unsigned char* chosen = nullptr;
  const int result = SSL_select_next_proto(&chosen, out_size, http_1_1.data(), http_1_1.size(), offered, offered_size);
  if (result != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_NOACK;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

Expected<ServerCertificate::Context> make_tls_context(const std::filesystem::path& certificate,
                                                      const std::filesystem::path& key) {
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  SSL_CTX* const native = context->native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  SSL_CTX_set_options(native, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  // Idle connections free their record buffers.
  SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_alpn_select_cb(native, select_protocol, nullptr);
  static constexpr std::string_view session_context = "octavo";
  SSL_CTX_set_session_id_context(native, reinterpret_cast<const unsigned char*>(session_context.data()),
                                 session_context.size());
  boost::system::error_code error;
  context->use_certificate_chain_file(certificate.string(), error);
  if (error) {
    return fail(ErrorCode::bad_request, fmt::format("The TLS certificate {} cannot be used: {}. It must be a PEM file.",
                                                    certificate.string(), error.message()));
  }
  context->use_private_key_file(key.string(), ssl::context::pem, error);
  if (error) {
    return fail(ErrorCode::bad_request,
                fmt::format("The TLS key {} cannot be used: {}. It must be the PEM key of the certificate.",
                            key.string(), error.message()));
  }
  if (SSL_CTX_check_private_key(native) != 1) {
    return fail(ErrorCode::bad_request, fmt::format("The TLS key {} does not belong to the certificate {}.",
                                                    key.string(), certificate.string()));
  }
  return context;
}

}  // namespace

Expected<std::shared_ptr<ServerCertificate>> ServerCertificate::load(const std::filesystem::path& certificate,
                                                                     const std::filesystem::path& key) {
  OCTAVO_TRY(auto context, make_tls_context(certificate, key));
  return std::make_shared<ServerCertificate>(std::move(context));
}

Expected<void> ServerCertificate::reload(const std::filesystem::path& certificate, const std::filesystem::path& key) {
  OCTAVO_TRY(auto context, make_tls_context(certificate, key));
  const std::lock_guard lock(mutex_);
  context_.swap(context);
  return {};
}

std::string ServerCertificate::pem() const {
  const Context used = context();
  const std::unique_ptr<BIO, decltype(&BIO_free_all)> memory(BIO_new(BIO_s_mem()), &BIO_free_all);
  char* text = nullptr;
  if (!memory || PEM_write_bio_X509(memory.get(), SSL_CTX_get0_certificate(used->native_handle())) != 1) return {};
  const long bytes = BIO_get_mem_data(memory.get(), &text);
  return std::string(text, static_cast<std::size_t>(bytes));
}

}  // namespace octavo::server
