#include "query/mango/projection.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/json_writer.h"

namespace octavo::query {

Projection::Projection(const std::vector<FieldPath>& fields) : fields_(fields.size()) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    std::vector<Node>* level = &nodes_;
    Node* node = nullptr;
    for (const auto& part : fields[i].parts()) {
      auto found = std::ranges::find(*level, part.name, &Node::name);
      if (found == level->end()) {
        Node created;
        created.name = part.name;
        append_json_string(created.key, part.name);
        created.key += ':';
        level->push_back(std::move(created));
        found = std::prev(level->end());
      }
      node = &*found;
      level = &node->children;
    }
    if (node && node->field < 0) {
      node->field = static_cast<std::ptrdiff_t>(i);
      node->path = fields[i];
    }
  }
}

Expected<void> Projection::check_cost(std::string_view id, std::size_t document_bytes) const {
  constexpr std::size_t read_bytes_max = 1ULL << 30;  // about a second
  if (fields_ * document_bytes <= read_bytes_max) return {};
  return fail(
      ErrorCode::too_large,
      fmt::format("{} `fields` take too much time for the document {}; ask for fewer, or for all of it.", fields_, id));
}

void Projection::append(std::string& out, FieldText field_text) const {
  out += '{';
  append_nodes(out, nodes_, field_text);
  out += '}';
}

// True when anything was appended.
bool Projection::append_nodes(std::string& out, const std::vector<Node>& nodes, FieldText field_text) {
  bool any = false;
  for (const Node& node : nodes) {
    const std::size_t before = out.size();
    if (any) out += ',';
    out += node.key;
    bool present = false;
    if (node.field >= 0) {
      const std::string_view text = field_text(static_cast<std::size_t>(node.field), node.path);
      out += text;
      present = !text.empty();
    }
    if (!present && !node.children.empty()) {
      out += '{';
      present = append_nodes(out, node.children, field_text);
      out += '}';
    }
    if (present) {
      any = true;
    } else {
      out.resize(before);
    }
  }
  return any;
}

}  // namespace octavo::query
