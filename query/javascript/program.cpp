#include "query/javascript/program.h"

#include "base/byte_codec.h"
#include "base/digest.h"

namespace octavo::query::javascript {

namespace {

// Each text after its length, so that no two lists of texts look the same.
void append_sized(std::string& out, std::string_view text) {
  ByteWriter(out).u64(text.size());
  out += text;
}

}  // namespace

Program::Program(std::string_view database, std::vector<Function> functions, std::string modules, Kind kind)
    : kind_(kind), functions_(std::move(functions)), modules_(std::move(modules)) {
  std::string content;
  append_sized(content, database);
  append_sized(content, std::to_string(static_cast<int>(kind)));
  for (const auto& function : functions_) {
    append_sized(content, function.name);
    append_sized(content, function.source);
  }
  append_sized(content, modules_);
  identity_ = crypto::hash(crypto::Digest::sha256, content);
}

}  // namespace octavo::query::javascript
