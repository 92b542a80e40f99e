#pragma once

#include <string>
#include <string_view>

#include "storage/document/revision.h"

/// Documents as JSON text, spliced from the stored bytes without re-serialising them. The functions append to `out`.
namespace octavo::query {

/// `"N-hash"` with quotes. Only replicated revisions may need escapes.
void append_revision(std::string& out, const storage::Revision& revision);

/// `{"_id":…,"_rev":…,<members of body>`: without the closing brace, so that more members can follow, each with a comma
/// before it. `body`: as stored.
void begin_document(std::string& out, std::string_view id, const storage::Revision& revision, std::string_view body);

}  // namespace octavo::query
