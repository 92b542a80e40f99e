#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/format_1.h"
#include "support/partition_fixture.h"

namespace octavo::tests {

/// Fills a partition with something of everything that is stored: histories, conflicts, tombstones, local documents,
/// keys beyond LMDB's limit, values over several pages, packed bodies, trees with branch pages, free pages.
inline void fill_sample_partition(PartitionFixture& fixture, int documents) {
  using storage::Revision;
  const auto revision = [](std::uint64_t generation, std::string_view hash) {
    return Revision{generation, *storage::RevisionHash::from_text(hash)};
  };
  std::vector<storage::DocumentWrite> writes;
  for (int i = 0; i < documents; ++i) {
    const std::string id = "p" + std::to_string(i % 3) + ":" + std::to_string(1000 + i);
    writes.push_back(PartitionFixture::make(id, R"({"n":)" + std::to_string(i) + R"(,"text":")" +
                                                    std::string(static_cast<std::size_t>(i % 40), 'x') + R"("})"));
  }
  fixture.write(std::move(writes));
  const auto first = fixture.put("p0:history", R"({"v":1})");
  const auto second = fixture.put("p0:history", R"({"v":2})", first->revision);
  fixture.put("p0:history", R"({"v":3})", second->revision);
  fixture.replicate("p1:conflict", R"({"a":1})", {revision(2, "a"), revision(1, "x")});
  fixture.replicate("p1:conflict", R"({"a":2})", {revision(2, "b"), revision(1, "x")});
  const auto gone = fixture.put("p1:gone", "{}");
  fixture.put("p1:gone", "{}", gone->revision, true);
  const auto gone_before = fixture.put("p1:gone-before", "{}");
  fixture.put("p1:gone-before", "{}", gone_before->revision, true);
  move_to_documents(fixture, "p1:gone-before");
  for (const char last : {'a', 'b', 'c'}) fixture.put("p2:" + std::string(600, 'k') + last, R"({"long":true})");
  const auto put_unpacked = [&](std::string id, char filling, std::size_t bytes, std::optional<Revision> parent) {
    auto write = PartitionFixture::make(std::move(id), R"({"large":")" + std::string(bytes, filling) + R"("})", parent);
    write.packed = "";
    return fixture.write({std::move(write)}).front();
  };
  const auto large = put_unpacked("p2:large", 'z', 20'000, {});
  put_unpacked("p2:small-now", 'y', 9'000, {});
  put_unpacked("p2:large", 'w', 14'000, large->revision);
  fixture.put("p2:packed", R"({"large":")" + std::string(9'000, 'v') + R"("})");
  for (int i = 0; i < documents; i += 7) {
    const std::string id = "p" + std::to_string(i % 3) + ":" + std::to_string(1000 + i);
    const auto snapshot = fixture.snapshot();
    const auto stored = snapshot.find(id);
    if (stored && *stored) fixture.put(id, "{}", (*stored)->revision, true);
  }
  store_logical_as_format_1(fixture, "p1");
}

}  // namespace octavo::tests
