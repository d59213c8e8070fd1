#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace activescale::kube {

/// Why a list or a watch ended early.
struct RequestFailure {
  enum class Kind : uint8_t {
    kConnection,  // none, or broken
    kDeadline,    // silence: the connection may be half-open
    kStatus,      // the server said so, with a status or an ERROR event of that code
    kGarbage,     // what came is not what was asked for
  };
  Kind kind = Kind::kConnection;
  int http_status = 0;                                             // of kStatus
  std::optional<std::chrono::seconds> retry_after = std::nullopt;  // what the server asked for
};

/// The protocol of list and watch as a machine without I/O: it says what to ask next and when, and
/// is told what came of it. Keeps no objects. Threads: one at a time.
/// Source: kubernetes/client-go:tools/cache/reflector.go.
class ListWatch {
 public:
  struct Options {
    uint32_t page_size = 500;
    std::chrono::milliseconds backoff_min{500};
    std::chrono::milliseconds backoff_max{30'000};
    /// Instead of backoff_max while there is no connection: an attempt costs the server nothing,
    /// and after its restart we want to be back within a sync of the HPA controller.
    std::chrono::milliseconds reconnect_max{5'000};
    /// The server ends a watch after this to twice this, as it was asked to.
    std::chrono::seconds watch_timeout{300};
  };

  enum class ListReason : uint8_t {
    kFirst,
    kExpired,  // the server no longer has the changes since our version (410)
    kRefused,  // it refused three watches in a row from our version
  };
  struct ListPage {
    std::string continue_token;  // empty: the first page, which starts a list
    uint32_t limit = 0;          // 0: all in one answer
    ListReason reason = ListReason::kFirst;
  };
  struct Watch {
    std::string resource_version;
    std::chrono::seconds timeout{0};
  };
  /// What to ask, after `delay`.
  struct Step {
    std::variant<ListPage, Watch> request;
    std::chrono::milliseconds delay{0};
    bool fresh_connection = false;  // the last one may be dead
  };

  /// `random` gives numbers in [0, 1).
  ListWatch(Options options, std::function<double()> random);

  [[nodiscard]] Step Start();

  /// A page is there and its objects are taken. `resource_version` is the list's.
  [[nodiscard]] Step OnPage(std::string_view resource_version, std::string_view continue_token);
  [[nodiscard]] Step OnPageFailed(const RequestFailure& failure);

  /// An event, bookmarks too, with its object's version.
  void OnEvent(std::string_view resource_version);
  /// The watch is over after `lived`, by the server's will if there is no failure.
  [[nodiscard]] Step OnWatchEnded(std::chrono::nanoseconds lived,
                                  const std::optional<RequestFailure>& failure);

  /// Whether a list was ever complete.
  [[nodiscard]] bool synced() const { return synced_; }

 private:
  Step FirstPage(ListReason reason);
  Step SamePage();
  Step NextWatch();
  /// Delays `step` by the backoff, longer with each failure of its kind in a row.
  Step Later(Step step, const RequestFailure& failure);

  const Options options_;
  const std::function<double()> random_;
  bool synced_ = false;
  ListReason reason_ = ListReason::kFirst;
  std::string continue_;
  uint32_t limit_;
  std::string version_;
  bool progress_ = false;  // of the current watch
  int failures_ = 0;       // in a row, of failure_kind_
  RequestFailure::Kind failure_kind_ = RequestFailure::Kind::kConnection;
  int expirations_ = 0;  // in a row
  int refusals_ = 0;     // watches in a row that the server refused
};

/// "first", "expired", "refused"; "connection", "deadline", "status", "garbage".
[[nodiscard]] std::string_view Name(ListWatch::ListReason reason);
[[nodiscard]] std::string_view Name(RequestFailure::Kind kind);

}  // namespace activescale::kube
