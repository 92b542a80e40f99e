#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "storage/document.h"

namespace octavo::storage {

/// When documents of a database end by themselves. From that moment on they are deleted to every reader and writer of
/// the partition; their rows stay until somebody deletes them in earnest.
class TimeToLive {
 public:
  virtual ~TimeToLive() = default;
  /// Unix time; nullopt: never. Only of live documents. Any thread.
  virtual std::optional<std::int64_t> expires_s(const DocumentView& document) const = 0;
  /// Rules with the same one say the same of every document, in another run of the server too.
  virtual std::int64_t identity() const = 0;
};

/// A time to live and the time it is applied at, for as long as a snapshot or a transaction. Cheap where there is none.
class Expiry {
 public:
  Expiry() = default;
  Expiry(std::shared_ptr<const TimeToLive> rule, std::int64_t now_s) : rule_(std::move(rule)), now_s_(now_s) {}
  bool applies_to(const DocumentView& document) const {
    if (rule_ == nullptr || document.deleted) return false;
    const auto end = rule_->expires_s(document);
    return end && *end <= now_s_;
  }
  /// The document as readers see it.
  DocumentView seen(DocumentView document) const {
    if (applies_to(document)) {
      document.deleted = true;
      document.body = "{}";
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
