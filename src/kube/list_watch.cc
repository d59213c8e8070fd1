#include "kube/list_watch.h"

#include <algorithm>
#include <utility>

namespace activescale::kube {
namespace {

using std::chrono::milliseconds;

constexpr int kGone = 410;
constexpr int kRefusalsUntilList = 3;
// A watch that lived this long was a good one, even if nothing happened.
constexpr std::chrono::seconds kGoodWatch(10);
// One that ended by itself before this is asked for again only after a pause.
constexpr std::chrono::seconds kShortWatch(1);
constexpr std::chrono::seconds kMaxRetryAfter(120);

}  // namespace

ListWatch::ListWatch(Options options, std::function<double()> random)
    : options_(options), random_(std::move(random)), limit_(options.page_size) {}

ListWatch::Step ListWatch::Start() { return FirstPage(ListReason::kFirst); }

ListWatch::Step ListWatch::FirstPage(ListReason reason) {
  reason_ = reason;
  continue_.clear();
  return SamePage();
}

ListWatch::Step ListWatch::SamePage() {
  return {.request = ListPage{continue_, limit_, reason_}, .delay = {}, .fresh_connection = false};
}

ListWatch::Step ListWatch::NextWatch() {
  progress_ = false;
  const auto spread =
      static_cast<int64_t>(static_cast<double>(options_.watch_timeout.count()) * random_());
  return {.request = Watch{version_, options_.watch_timeout + std::chrono::seconds(spread)},
          .delay = {},
          .fresh_connection = false};
}

ListWatch::Step ListWatch::Later(Step step, const RequestFailure& failure) {
  // Another kind of failure means that something has changed, for example that the server is back.
  if (std::exchange(failure_kind_, failure.kind) != failure.kind) failures_ = 0;
  const int doublings = std::min(failures_++, 16);
  const bool no_connection = failure.kind == RequestFailure::Kind::kConnection;
  const milliseconds full =
      std::min<milliseconds>(options_.backoff_min * (1LL << doublings),
                             no_connection ? options_.reconnect_max : options_.backoff_max);
  step.delay = milliseconds(
      static_cast<int64_t>(static_cast<double>(full.count()) * (0.5 + 0.5 * random_())));
  if (failure.retry_after) {
    step.delay = std::max(step.delay, milliseconds(std::min(*failure.retry_after, kMaxRetryAfter)));
  }
  step.fresh_connection = no_connection || failure.kind == RequestFailure::Kind::kDeadline;
  return step;
}

ListWatch::Step ListWatch::OnPage(std::string_view resource_version,
                                  std::string_view continue_token) {
  if (!continue_token.empty() && continue_token != continue_) {
    continue_ = continue_token;
    return SamePage();
  }
  if (resource_version.empty() || !continue_token.empty())
    return OnPageFailed({.kind = RequestFailure::Kind::kGarbage});
  version_ = resource_version;
  limit_ = options_.page_size;
  refusals_ = 0;
  synced_ = true;
  return NextWatch();
}

ListWatch::Step ListWatch::OnPageFailed(const RequestFailure& failure) {
  const bool expired =
      failure.kind == RequestFailure::Kind::kStatus && failure.http_status == kGone;
  if (expired && !continue_.empty()) {
    // The cluster changes faster than we turn pages.
    limit_ = 0;
    return Later(FirstPage(reason_), failure);
  }
  // A page that came in part was given out in part: only a whole list is a list.
  if (failure.kind == RequestFailure::Kind::kGarbage) return Later(FirstPage(reason_), failure);
  return Later(SamePage(), failure);
}

void ListWatch::OnEvent(std::string_view resource_version) {
  if (!resource_version.empty()) version_ = resource_version;
  progress_ = true;
  failures_ = 0;
  refusals_ = 0;
  expirations_ = 0;
}

ListWatch::Step ListWatch::OnWatchEnded(std::chrono::nanoseconds lived,
                                        const std::optional<RequestFailure>& failure) {
  const bool good = progress_ || lived >= kGoodWatch;
  if (good) {
    failures_ = 0;
    expirations_ = 0;
  }
  if (!failure) {
    if (lived >= kShortWatch) return NextWatch();
    return Later(NextWatch(), {.kind = RequestFailure::Kind::kStatus});
  }
  switch (failure->kind) {
    case RequestFailure::Kind::kConnection:
      return Later(NextWatch(), *failure);
    case RequestFailure::Kind::kDeadline: {
      // Silence is no refusal: the first reconnection is at once.
      Step step = Later(NextWatch(), *failure);
      if (good) step.delay = {};
      return step;
    }
    case RequestFailure::Kind::kStatus:
      if (failure->http_status == kGone) {
        // The first list is at once; only lists that expire at once too are slowed down.
        if (expirations_++ == 0) failures_ = 0;
        Step step = Later(FirstPage(ListReason::kExpired), *failure);
        if (expirations_ == 1) step.delay = {};
        return step;
      }
      // Neither credentials and roles nor overload have to do with our version.
      if (failure->http_status == 401 || failure->http_status == 403 ||
          failure->http_status == 429 || failure->http_status == 503) {
        return Later(NextWatch(), *failure);
      }
      [[fallthrough]];
    case RequestFailure::Kind::kGarbage:
      if (++refusals_ < kRefusalsUntilList) return Later(NextWatch(), *failure);
      refusals_ = 0;
      return Later(FirstPage(ListReason::kRefused), *failure);
  }
  return Later(NextWatch(), *failure);
}

std::string_view Name(ListWatch::ListReason reason) {
  switch (reason) {
    case ListWatch::ListReason::kFirst:
      return "first";
    case ListWatch::ListReason::kExpired:
      return "expired";
    case ListWatch::ListReason::kRefused:
      break;
  }
  return "refused";
}

std::string_view Name(RequestFailure::Kind kind) {
  switch (kind) {
    case RequestFailure::Kind::kConnection:
      return "connection";
    case RequestFailure::Kind::kDeadline:
      return "deadline";
    case RequestFailure::Kind::kStatus:
      return "status";
    case RequestFailure::Kind::kGarbage:
      break;
  }
  return "garbage";
}

}  // namespace activescale::kube
