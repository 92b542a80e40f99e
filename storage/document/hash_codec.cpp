#include "storage/document/hash_codec.h"

#include <string_view>

#include "base/assert.h"

namespace octavo::storage {

HashForm form_of(const RevisionHash& hash) {
  if (!hash.is_digest()) return HashForm::text;
  return hash.follows_from_half() ? HashForm::half : HashForm::digest;
}

void write_hash(ByteWriter& writer, const RevisionHash& hash, HashForm form) {
  OCTAVO_ASSERT(hash.is_digest() == (form != HashForm::text));
  OCTAVO_ASSERT(!hash.is_digest() || hash.bytes().size() == RevisionHash::digest_bytes);
  switch (form) {
    case HashForm::half:
      writer.bytes(hash.bytes().substr(0, RevisionHash::half_bytes));
      break;
    case HashForm::digest:
      writer.bytes(hash.bytes());
      break;
    case HashForm::text:
      writer.sized_bytes(hash.bytes());
      break;
  }
}

bool read_hash(ByteReader& reader, HashForm form, RevisionHash& hash) {
  switch (form) {
    case HashForm::half: {
      const std::string_view half = reader.bytes(RevisionHash::half_bytes);
      if (!reader.ok()) return false;
      hash = RevisionHash::from_half(half);
      return true;
    }
    case HashForm::digest: {
      const std::string_view digest = reader.bytes(RevisionHash::digest_bytes);
      if (!reader.ok()) return false;
      hash = RevisionHash::from_bytes(digest, true);
      return true;
    }
    case HashForm::text: {
      const std::string_view text = reader.sized_bytes();
      if (!reader.ok() || text.empty() || text.size() > RevisionHash::text_bytes_max) return false;
      hash = RevisionHash::from_bytes(text, false);
      return true;
    }
  }
  return false;
}

}  // namespace octavo::storage
