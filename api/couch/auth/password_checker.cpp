#include "api/couch/auth/password_checker.h"

#include <chrono>

#include <spdlog/spdlog.h>

#include "partitioning/change_notifier.h"

namespace octavo::api::couch {

namespace {

constexpr std::chrono::seconds flight_patience{30};
constexpr std::string_view wrong_text = "Name or password is incorrect.";

std::unexpected<Error> wrong() {
  return fail(ErrorCode::unauthorized, std::string(wrong_text));
}

}  // namespace

// One hash computation in progress. The requests that wait for it share its ownership.
struct PasswordChecker::Flight {
  enum class Outcome : std::uint8_t { running, correct, wrong, failed };
  std::atomic<Outcome> outcome{Outcome::running};
  partitioning::ChangeNotifier done;
};

PasswordChecker::PasswordChecker(partitioning::Engine& engine)
    : engine_(engine), keyed_hash_(crypto::random_bytes(32)) {
  dummy_.salt = "octavo";
}

VerifiedFingerprints::Fingerprint PasswordChecker::fingerprint(const UserRecord& user,
                                                               std::string_view password) const {
  return keyed_hash_({user.name, password, user.password->salt, user.password->derived_key});
}

bool PasswordChecker::remembered(const UserRecord& user, std::string_view password) {
  return user.password && !user.conflicted && verified_.contains(fingerprint(user, password));
}

Task<Expected<void>> PasswordChecker::check(std::shared_ptr<const UserRecord> user, std::string name,
                                            std::string password, std::string peer_address) {
  if (password.size() > password_bytes_max) co_return wrong();
  if (user && user->conflicted) {
    co_return fail(ErrorCode::unauthorized,
                   "User document conflict must be resolved before the document is used for authentication purposes.");
  }
  if (user && user->too_many_iterations) {
    co_return fail(ErrorCode::forbidden, "Iteration count is too high for this server");
  }
  if (limiter_.locked(peer_address, name, LoginLimiter::Clock::now())) {
    co_return fail(ErrorCode::forbidden, "Account is temporarily locked due to multiple authentication failures");
  }

  const bool known = user && user->password;
  const VerifiedFingerprints::Fingerprint print =
      known ? fingerprint(*user, password) : keyed_hash_({name, password, std::string_view(), std::string_view()});
  StoredPassword stored = known ? *user->password : dummy_;
  if (!known) stored.iterations = engine_.settings().pbkdf2_iterations;
  OCTAVO_CO_TRY(const auto matched, co_await hash_and_compare(std::move(stored), std::move(password), print));
  if (!known || !matched) {
    limiter_.failed(peer_address, name, LoginLimiter::Clock::now());
    // The name comes from the client, so it is logged quoted and escaped.
    spdlog::warn("log-in failed: wrong name or password for {:?} from {}", name, peer_address);
    co_return wrong();
  }
  limiter_.succeeded(peer_address, name);
  verified_.add(print);
  co_return Expected<void>();
}

Task<Expected<bool>> PasswordChecker::hash_and_compare(StoredPassword stored, std::string password,
                                                       VerifiedFingerprints::Fingerprint fingerprint) {
  std::shared_ptr<Flight> flight;
  bool leads = false;
  {
    const std::lock_guard lock(flights_mutex_);
    const auto found = flights_.find(fingerprint);
    if (found != flights_.end()) {
      flight = found->second;
    } else if (flights_.size() < checks_max) {
      flight = std::make_shared<Flight>();
      flights_.emplace(fingerprint, flight);
      leads = true;
    }
  }
  if (!flight) co_return fail(ErrorCode::overloaded, "Too many log-ins at once; try again in a moment.");

  if (leads) {
    // Ends the flight even if this coroutine is destroyed or the hash computation throws.
    struct Landing {
      PasswordChecker& checker;
      Flight& flight;
      const VerifiedFingerprints::Fingerprint& fingerprint;
      Flight::Outcome outcome = Flight::Outcome::failed;
      ~Landing() {
        {
          const std::lock_guard lock(checker.flights_mutex_);
          checker.flights_.erase(fingerprint);
        }
        flight.outcome.store(outcome, std::memory_order_release);
        flight.done.notify_all();
      }
    };
    Landing landing{*this, *flight, fingerprint};
    auto compare = [stored = std::move(stored), password = std::move(password)] { return stored.matches(password); };
    const bool correct = co_await engine_.workers().run_patiently(std::move(compare));
    landing.outcome = correct ? Flight::Outcome::correct : Flight::Outcome::wrong;
    co_return correct;
  }

  const auto deadline = std::chrono::steady_clock::now() + flight_patience;
  for (;;) {
    const std::uint64_t epoch = flight->done.epoch();
    const Flight::Outcome outcome = flight->outcome.load(std::memory_order_acquire);
    if (outcome == Flight::Outcome::correct) co_return true;
    if (outcome == Flight::Outcome::wrong) co_return false;
    const bool late = std::chrono::steady_clock::now() >= deadline;
    if (outcome == Flight::Outcome::failed || late) {
      co_return fail(ErrorCode::overloaded, "The password could not be checked; try again in a moment.");
    }
    co_await flight->done.wait(epoch, deadline);
  }
}

}  // namespace octavo::api::couch
