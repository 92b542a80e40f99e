#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/document/document.h"

/// The text of replies to writes.
namespace octavo::api::couch {

/// `{"ok":true,"id":…,"rev":…}` without a newline.
void append_saved(std::string& out, std::string_view id, const storage::Revision& revision);
void append_saved_local(std::string& out, std::string_view id, std::uint64_t edit);

}  // namespace octavo::api::couch
