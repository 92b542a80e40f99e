#pragma once

#include <string>
#include <string_view>

#include "api/scripts/document_model.h"
#include "config/settings.h"
#include "partitioning/database.h"

namespace octavo::api::couch {

/// Documents of one partition as stored procedures see them: with `_id`, `_rev`, and `_self`, the link for reading,
/// replacing and deleting them. A document without `_id` gets one; an `_id` without a partition means one in this
/// partition.
class PartitionModel final : public scripts::DocumentModel {
 public:
  /// `settings` must outlive this.
  PartitionModel(const partitioning::Database& database, std::string partition, const config::Settings& settings)
      : partition_(std::move(partition)), settings_(settings), rows_("dbs/" + database.name()) {}

  Expected<Parsed> parse(std::string_view json, bool makes_id) const override;
  void append(std::string& out, const storage::DocumentView& document) const override {
    rows_.append_row(document, out);
  }
  std::string self_link() const override { return rows_.link; }
  std::string alt_link() const override { return rows_.link; }
  std::string document_id(std::string_view id) const override;
  std::string self_name(std::string_view document_id) const override { return std::string(document_id); }
  const query::sql::RowShape& shape() const override { return rows_; }

 private:
  // The rows of the CouchDB API, with `_self`.
  class Rows final : public query::sql::RowShape {
   public:
    explicit Rows(std::string collection) : link(std::move(collection)) {}
    bool is_system_property(std::string_view name) const override;
    void append_system_property(const storage::DocumentView& document, std::string_view name,
                                std::string& out) const override;
    void append_row(const storage::DocumentView& document, std::string& out) const override;
    std::optional<query::FieldPath> field_path(std::span<const std::string> path) const override;
    const std::string link;
  };

  const std::string partition_;
  const config::Settings& settings_;
  const Rows rows_;
};

}  // namespace octavo::api::couch
