// Random batches against a model that works out the target from all documents.
#include <array>

#include "query/project/internal/settlement.h"
#include "unit/query/project/projection_state_fixture.h"

using namespace octavo;
using octavo::tests::below;
using octavo::tests::ProjectionModel;
using octavo::tests::ProjectionStateFixture;
using octavo::tests::Random;
using query::project::ProjectedDocument;
using query::project::ProjectionState;

namespace {

using namespace std::string_literals;

/// Long ids, and ids with NUL, whose keys are stored in another form.
std::string state_source_id(std::size_t number) {
  const std::string letter(1, static_cast<char>('a' + number % 13));
  if (number % 5 == 1) return std::string(500, 's') + letter;
  if (number % 5 == 2) return letter + "\0"s + letter;
  return letter + std::to_string(number);
}

std::string state_target_id(std::size_t number) {
  const std::array<std::string, 8> all{
      "g:a", "g:a\0b"s, "g:b", "h:" + std::string(490, 'l'), "g:a\1", "h:" + std::string(490, 'l') + "\0"s,
      "h:c", "g:c"};
  return all.at(number);
}

std::string random_join_key(Random& random) {
  return std::string(1, static_cast<char>('x' + below(random, 3)));
}

std::optional<std::string> random_join_key_or_none(Random& random) {
  return below(random, 3) == 0 ? std::nullopt : std::optional(random_join_key(random));
}

void change_rows(ProjectionModel::Document& document, std::size_t kind, Random& random) {
  if (kind <= 2) {
    document.targets.clear();
  } else if (kind <= 6 || document.targets.empty()) {
    document.targets.clear();
    const std::size_t several = below(random, 3) == 0 ? 2 + below(random, 3) : 1;
    for (std::size_t n = 0; n < several; ++n) document.targets.insert(state_target_id(below(random, 8)));
  }
}

void change_document(ProjectionStateFixture& fixture, Random& random, std::size_t sources) {
  const std::string id = state_source_id(below(random, sources));
  auto& documents = fixture.model().documents;
  fixture.touch(id);
  if (below(random, 4) == 0) {
    documents.erase(id);
    return;
  }
  ProjectionModel::Document& document = documents[id];
  const auto kind = below(random, 10);
  document.skip = kind == 0   ? ProjectedDocument::Skip::no_key
                  : kind == 1 ? ProjectedDocument::Skip::error
                              : ProjectedDocument::Skip::none;
  // Of several rows, one without a key may be missing.
  if (kind != 0 || below(random, 2) == 0) change_rows(document, kind, random);
  ++document.version;
  if (below(random, 2) == 0) document.order = static_cast<int>(below(random, 5));
  if (below(random, 2) == 0) document.lookup = random_join_key_or_none(random);
  if (below(random, 2) == 0) document.counted = random_join_key_or_none(random);
}

void change_lookup(ProjectionStateFixture& fixture, Random& random) {
  const std::string key = random_join_key(random);
  ++fixture.model().looked_up[key];
  fixture.note_fan_out(0, key);
  auto batch = fixture.next_batch();
  batch.fan_outs.emplace_back(0, key);
  batch.input.emplace(0, ProjectionState::Input{batch.checkpoint, 0});
  fixture.commit(std::move(batch));
}

void change_member(ProjectionStateFixture& fixture, Random& random) {
  const std::string id = "m" + std::to_string(below(random, 5));
  const auto key = random_join_key_or_none(random);
  auto& members = fixture.model().members;
  const auto before = members.contains(id) ? std::optional(members[id]) : std::nullopt;
  if (before != key && before) fixture.note_fan_out(1, *before);
  if (before != key && key) fixture.note_fan_out(1, *key);
  members.erase(id);
  if (key) members[id] = *key;
  auto batch = fixture.next_batch();
  batch.members.push_back({1, id, key});
  fixture.commit(std::move(batch));
  CHECK(fixture.state().has_member(1, id).value() == key.has_value());
}

// Clients write and delete documents at ids that rows would have.
void change_taken(ProjectionStateFixture& fixture, Random& random) {
  const std::string id = state_target_id(below(random, 8));
  if (fixture.model().taken.erase(id) == 0 && !fixture.target().contains(id)) fixture.model().taken.insert(id);
}

// The target loses what it had since, and the projection does not know what.
void begin_again(ProjectionStateFixture& fixture, Random& random) {
  std::erase_if(fixture.target(), [&](const auto&) { return below(random, 2) == 0; });
  for (auto& [id, body] : fixture.target()) body += below(random, 3) == 0 ? "?" : "";
  auto batch = fixture.next_batch();
  batch.begins_again = true;
  fixture.commit(std::move(batch));
  for (const auto& [id, document] : fixture.model().documents) fixture.touch(id);
}

void run_random_batches(std::uint32_t seed, std::uint32_t newest, std::size_t sources) {
  CAPTURE(seed, newest, sources);
  Random random(seed);
  ProjectionStateFixture fixture(newest);
  for (int round = 0; round < 40; ++round) {
    CAPTURE(round);
    for (std::size_t n = below(random, 12); n > 0; --n) {
      switch (below(random, 12)) {
        case 0:
          change_lookup(fixture, random);
          break;
        case 1:
          change_member(fixture, random);
          break;
        case 2:
          change_taken(fixture, random);
          break;
        case 3:
          fixture.step(1 + below(random, 2));
          break;
        case 4:
          fixture.commit(fixture.batch_of_changes(1 + below(random, 4)));
          break;
        case 5:
          fixture.deliver_again();
          break;
        default:
          change_document(fixture, random, sources);
      }
    }
    if (below(random, 8) == 0) begin_again(fixture, random);
    if (below(random, 6) == 0) fixture.reopen();
    if (below(random, 2) == 0) fixture.check();
  }
  fixture.check();
}

}  // namespace

TEST_CASE("whatever the batches, a projection's target has the rows of the documents, and the numbers are right") {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) run_random_batches(seed, 0, 10);
}

TEST_CASE("with `newest` a projection's target has the first rows of each partition key, whatever the batches") {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    run_random_batches(100 + seed, 1 + seed % 3, 10);
    run_random_batches(200 + seed, 2, 25);
  }
}

TEST_CASE("a source record of one row has the form that it always had, and that of several rows has another one") {
  using query::project::decode_source;
  using query::project::encode_source;
  using query::project::SourceRecord;
  const auto is_read_as = [](const std::string& bytes, const SourceRecord& record) {
    const auto read = decode_source(bytes).value();
    CHECK(read.skip == record.skip);
    CHECK(read.targets == record.targets);
    CHECK(read.join_keys == record.join_keys);
    CHECK(encode_source(record) == bytes);
  };
  const std::vector<std::optional<std::string>> joins{std::nullopt, "k"};
  is_read_as("\0\3g:a"s, {ProjectedDocument::Skip::none, {"g:a"}, {}});
  is_read_as("\0\3g:a\0\1\1k"s, {ProjectedDocument::Skip::none, {"g:a"}, joins});
  is_read_as("\2\0\0\1\1k"s, {ProjectedDocument::Skip::error, {}, joins});
  is_read_as("\4\2\3g:a\3g:b\0\1\1k"s, {ProjectedDocument::Skip::none, {"g:a", "g:b"}, joins});
  is_read_as("\5\2\3g:a\3g:b"s, {ProjectedDocument::Skip::no_key, {"g:a", "g:b"}, {}});
  CHECK(!decode_source("\3\0"s));
  CHECK(!decode_source("\4\3\3g:a"s));
  CHECK(!decode_source("\4\xFF\xFF\xFF\xFF\x0F\3g:a"s));
}
