#pragma once

#include <cstdint>

#include "base/byte_codec.h"
#include "storage/document/revision.h"

namespace octavo::storage {

/// How a record stores the hash of a revision. Some part of the record names the form.
///
/// Format (hash in a record):
///   hash := half[8]          the rest follows from it (hash of a new revision)
///         | digest[16]
///         | sized            text
enum class HashForm : std::uint8_t { half, digest, text };

/// The shortest form of `hash`.
HashForm form_of(const RevisionHash& hash);
/// Precondition: form_of(hash), or `digest` for a half.
void write_hash(ByteWriter& writer, const RevisionHash& hash, HashForm form);
/// False: the bytes are damaged.
bool read_hash(ByteReader& reader, HashForm form, RevisionHash& hash);

}  // namespace octavo::storage
