#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "storage/document/document.h"

namespace octavo::storage {

/// When documents of a database expire. From then on they are deleted to every reader and writer of the partition;
/// their rows stay until a background job deletes them.
class TimeToLive {
 public:
  virtual ~TimeToLive() = default;
  /// Expiration time as Unix time; nullopt: never. For live documents only. Any thread.
  virtual std::optional<std::int64_t> expires_s(const DocumentView& document) const = 0;
  /// Rules with the same identity give the same result for every document, also in another run of the server.
  virtual std::int64_t identity() const = 0;
};

/// A time to live and the time at which it is applied, for one snapshot or transaction. Cheap without a rule.
class Expiry {
 public:
  Expiry() = default;
  Expiry(std::shared_ptr<const TimeToLive> rule, std::int64_t now_s) : rule_(std::move(rule)), now_s_(now_s) {}
  bool applies_to(const DocumentView& document) const {
    if (rule_ == nullptr || document.deleted) return false;
    const auto expiration = rule_->expires_s(document);
    return expiration && *expiration <= now_s_;
  }
  /// The document as readers see it. With a rule, a packed body is opened into `buffer`, and the result has its JSON.
  Expected<DocumentRecord> seen(DocumentRecord document, BodyBuffer& buffer) const {
    if (rule_ == nullptr || document.deleted) return document;
    OCTAVO_TRY(const DocumentView opened, open_document(document, buffer));
    document.body = StoredBody::of_json(opened.body);
    if (applies_to(opened)) {
      document.deleted = true;
      document.body = {};
    }
    return document;
  }
  const TimeToLive* rule() const { return rule_.get(); }
  std::int64_t now_s() const { return now_s_; }

 private:
  std::shared_ptr<const TimeToLive> rule_;
  std::int64_t now_s_ = 0;
};

}  // namespace octavo::storage
