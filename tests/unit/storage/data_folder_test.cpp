#include "storage/data_folder.h"

#include <exception>
#include <filesystem>
#include <string>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "support/temporary_folder.h"

using octavo::ErrorCode;
using octavo::storage::DataFolder;
using octavo::tests::TemporaryFolder;

namespace {

/// This process is an ordinary user, as far as files are concerned. Only root can become one.
class OrdinaryUser {
 public:
  static constexpr uid_t uid = 12'345;

  OrdinaryUser() : before_(::geteuid()), changed_(before_ == 0 && ::seteuid(uid) == 0) {}
  ~OrdinaryUser() {
    if (changed_ && ::seteuid(before_) != 0) std::terminate();
  }
  OrdinaryUser(const OrdinaryUser&) = delete;
  OrdinaryUser& operator=(const OrdinaryUser&) = delete;
  bool changed() const { return changed_; }

 private:
  const uid_t before_;
  const bool changed_;
};

}  // namespace

TEST_CASE("advice on a folder that may not be written names both owners and what to type") {
  const TemporaryFolder temporary;
  std::filesystem::permissions(temporary.path(), std::filesystem::perms::owner_all);
  const std::string who = fmt::format("{}:{}", ::geteuid(), ::getegid());
  const std::string advice = DataFolder::advice_on_permissions(temporary.path() / "databases", temporary.path());
  CHECK(advice.starts_with(fmt::format("This process has uid {} and gid {}; {} belongs to {} and has mode 0700.",
                                       ::geteuid(), ::getegid(), temporary.path().string(), who)));
  CHECK(advice.find(fmt::format("Type as root: chown -R {} {} ", who, temporary.path().string())) != std::string::npos);
}

TEST_CASE("advice on a data folder that cannot be created says how to create it") {
  const TemporaryFolder temporary;
  const auto missing = temporary.path() / "below" / "data";
  const std::string advice = DataFolder::advice_on_permissions(missing / "databases", missing);
  CHECK(advice.find(temporary.path().string() + " belongs to ") != std::string::npos);
  CHECK(advice.find(fmt::format("Type as root: install -d -o {} -g {} -m 0770 {} ", ::geteuid(), ::getegid(),
                                missing.string())) != std::string::npos);
}

TEST_CASE("a data folder of another user is refused with advice") {
  const TemporaryFolder temporary;
  std::filesystem::permissions(temporary.path(), std::filesystem::perms(0755));
  const OrdinaryUser user;
  if (!user.changed()) return;
  DataFolder folder(temporary.path());
  const auto opened = folder.open();
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == ErrorCode::io_failure);
  CHECK(opened.error().reason.find("/databases: Permission denied. This process has uid 12345 ") != std::string::npos);
  CHECK(opened.error().reason.find("chown -R 12345:") != std::string::npos);
}
