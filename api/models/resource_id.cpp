#include "api/models/resource_id.h"

#include <algorithm>
#include <cstdint>
#include <random>

#include "base/digest.h"
#include "base/encoding.h"
#include "base/murmur3.h"

namespace octavo::api::cosmos {

namespace {

constexpr std::size_t part_bytes = 4;
constexpr std::size_t id_characters_max = 255;  // Azure Cosmos DB service limits

// Never all zero: clients treat zero as "no id".
std::string random_part() {
  std::string bytes = crypto::random_bytes(part_bytes);
  bytes.back() = static_cast<char>(bytes.back() | 1);
  return bytes;
}

// Counts UTF-16 units, as Azure Cosmos DB does.
std::size_t character_count(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0) != 0x80) count += byte >= 0xF0 ? 2 : 1;
  }
  return count;
}

}  // namespace

Expected<void> check_resource_id(std::string_view id) {
  if (id.empty()) return fail(ErrorCode::bad_request, "The input name is invalid: it is empty.");
  if (character_count(id) > id_characters_max) {
    // The words of Azure Cosmos DB, which has 255 as the limit, too.
    return fail(ErrorCode::bad_request,
                "The input name is invalid. Ensure to provide a unique non-empty string less than '255' characters.");
  }
  if (id.find_first_of("/\\?#") != std::string_view::npos) {
    return fail(ErrorCode::bad_request, "The input name '" + std::string(id) +
                                            "' is invalid. Ensure to provide a unique non-empty string "
                                            "without the characters '/', '\\', '#', '?'.");
  }
  if (id.back() == ' ') {
    return fail(ErrorCode::bad_request, "The input name '" + std::string(id) + "' is invalid: it ends with a space.");
  }
  return {};
}

std::string new_database_rid() {
  return random_part();
}

std::string new_container_rid(std::string_view database_rid) {
  std::string part = random_part();
  part.front() = static_cast<char>(part.front() | 0x80);
  return std::string(database_rid) + part;
}

std::string new_user_rid(std::string_view database_rid) {
  std::string part = random_part();
  part.front() = static_cast<char>(part.front() & 0x7F);
  return std::string(database_rid) + part;
}

std::string new_permission_rid(std::string_view user_rid) {
  return std::string(user_rid) + crypto::random_bytes(2 * part_bytes);
}

std::string new_script_rid(std::string_view container_rid, unsigned kind) {
  std::string bytes = std::string(container_rid) + crypto::random_bytes(2 * part_bytes);
  bytes.back() = static_cast<char>((static_cast<unsigned char>(bytes.back()) & 0x0FU) | (kind << 4U));
  return bytes;
}

std::string new_uuid() {
  thread_local std::mt19937_64 random{std::random_device{}()};
  std::string id = "00000000-0000-4000-8000-000000000000";
  std::uint64_t bits = random();
  for (std::size_t i = 0; i < id.size(); ++i) {
    if (i == 19) bits = random();
    if (id[i] == '-' || i == 14) continue;  // keeps the version digit
    const std::uint64_t digit = i == 19 ? 8 | (bits & 3) : bits & 15;
    id[i] = crypto::hex_digits[digit];
    bits >>= 4;
  }
  return id;
}

std::uint64_t item_number(std::string_view document_id) {
  // The highest four bits are the kind of resource: 0 is an item.
  return murmur3_x64_128(document_id).low & 0x0FFF'FFFF'FFFF'FFFFULL;
}

std::string item_rid(std::string_view container_rid, std::string_view document_id) {
  std::string bytes(container_rid);
  const std::uint64_t number = item_number(document_id);
  for (int shift = 0; shift < 64; shift += 8) bytes.push_back(static_cast<char>(number >> shift));
  return bytes;
}

std::string show_rid(std::string_view bytes) {
  std::string shown = crypto::base64_encode(bytes);
  std::ranges::replace(shown, '/', '-');
  return shown;
}

std::optional<std::string> parse_rid(std::string_view shown) {
  std::string text(shown);
  std::ranges::replace(text, '-', '/');
  auto bytes = crypto::base64_decode(text);
  if (!bytes || bytes->empty() || bytes->size() % part_bytes != 0 || bytes->size() > 5 * part_bytes) {
    return std::nullopt;
  }
  return bytes;
}

bool is_resource_id(std::string_view text, std::size_t bytes) {
  // The length in base64 and the padding exclude almost all names without decoding.
  if (text.size() != (bytes + 2) / 3 * 4 || !text.ends_with('=')) return false;
  const auto decoded = parse_rid(text);
  return decoded && decoded->size() == bytes;
}

Expected<std::string> id_of(const boost::json::object& body) {
  const auto* id = body.if_contains("id");
  if (id == nullptr || id->is_null()) {
    return fail(ErrorCode::bad_request,
                "The input content is invalid because the required properties - 'id; ' - are missing");
  }
  if (!id->is_string()) return fail(ErrorCode::bad_request, "The property id must be a string.");
  OCTAVO_TRY_VOID(check_resource_id(std::string_view(id->get_string())));
  return std::string(id->get_string());
}

}  // namespace octavo::api::cosmos
