#include "series/history.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/log.h"
#include "base/unix_time.h"

namespace activescale::series {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kRetryInterval{10};
constexpr std::chrono::minutes kDropInterval{10};

/// Between the terms of a selector's text: no term has it, since they quote what is not printed.
constexpr char kBetween = '\n';

std::vector<std::string> SortedTerms(const Matchers& matchers) {
  std::vector<std::string> terms;
  for (const Matcher& matcher : matchers) terms.push_back(matcher.ToString());
  std::ranges::sort(terms);
  return terms;
}

/// The matchers as the database names them, whatever their order was.
std::string TextOf(const Matchers& matchers) {
  std::string text;
  for (const std::string& term : SortedTerms(matchers)) text.append(term).append(1, kBetween);
  return text;
}

std::vector<std::string> TermsOf(std::string_view text) {
  std::vector<std::string> terms;
  for (size_t end = 0; (end = text.find(kBetween)) != std::string_view::npos;) {
    terms.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return terms;
}

/// Whether all that `narrow` selects is selected by `wide`, because it has all of its conditions.
bool Covers(const Matchers& wide, const Matchers& narrow) {
  return std::ranges::includes(SortedTerms(narrow), SortedTerms(wide));
}

std::string KeyOf(const metric::Labels& labels) {
  std::string key;
  for (const auto& [name, value] : labels.entries()) {
    key.append(name).append(1, '\0').append(value).append(1, '\0');
  }
  return key;
}

/// Stored samples of each series, and after them those that are in memory.
Selection Join(const std::vector<HistoryFile::Stored>& stored, const Selection& memory) {
  std::unordered_map<std::string, std::shared_ptr<const Series>> in_memory;
  for (const auto& series : memory.series) in_memory.emplace(KeyOf(series->labels()), series);
  Selection joined;
  for (const HistoryFile::Stored& one : stored) {
    const auto series = std::make_shared<Series>(one.labels);
    for (const Sample& sample : one.samples) static_cast<void>(series->Append(sample));
    if (const auto found = in_memory.extract(KeyOf(one.labels))) {
      found.mapped()->ForEach(series->last_ms() + 1, kMaxTime, [&series](Sample sample) {
        static_cast<void>(series->Append(sample));
      });
    }
    joined.series.push_back(series);
  }
  for (const auto& series : memory.series) {
    if (in_memory.contains(KeyOf(series->labels()))) joined.series.push_back(series);
  }
  return joined;
}

}  // namespace

History::History(HistoryOptions options, SeriesStore& store, const base::Clock& clock)
    : options_(std::move(options)), store_(store), clock_(clock) {
  since_ms_.assign(options_.keep.size(), base::UnixMsNow(clock_));
}

void History::Restore() {
  const auto kept = OpenAndListKept();
  if (!kept) NoteFailure(kept.error());
  const int64_t now_ms = base::UnixMsNow(clock_);
  for (size_t i = 0; i < options_.keep.size(); ++i) {
    const Matchers& matchers = options_.keep[i];
    int64_t since_ms = now_ms;
    if (kept) {
      const std::string text = TextOf(matchers);
      const auto found = std::ranges::find(*kept, text, &KeptSelector::text);
      const bool goes_on = found != kept->end() && now_ms - found->alive_ms <= kPause.count();
      if (goes_on) since_ms = found->since_ms;
    }
    store_.Keep(matchers, options_.in_memory, since_ms);
    const base::MutexLock lock(mutex_);
    since_ms_[i] = since_ms;
  }
  if (!kept) return;
  if (auto loaded = Load(now_ms); !loaded) NoteFailure(loaded.error());
}

base::Result<std::vector<KeptSelector>> History::OpenAndListKept() {
  auto opened = HistoryFile::Open(options_.folder, HistoryFile::Mode::kWrite);
  if (!opened) return std::unexpected(std::move(opened.error()));
  file_ = *std::move(opened);
  return file_->Kept();
}

base::Result<void> History::Load(int64_t now_ms) {
  size_t samples = 0;
  for (const Matchers& matchers : options_.keep) {
    auto stored = file_->Read(matchers, now_ms - options_.in_memory.count(), now_ms);
    if (!stored) return std::unexpected(std::move(stored.error()));
    for (const HistoryFile::Stored& series : *stored) {
      for (const Sample& sample : series.samples) {
        if (store_.Append(series.labels, sample) == AppendOutcome::kStored) ++samples;
      }
      saved_ms_[KeyOf(series.labels)] = series.samples.back().time_ms;
    }
  }
  LOG_INFO("history {}: {} samples of the last {} minutes are back", options_.folder, samples,
           std::chrono::duration_cast<std::chrono::minutes>(options_.in_memory).count());
  return {};
}

void History::Save() {
  const base::SteadyTime now = clock_.Now();
  if (file_ == nullptr && now < retry_at_) return;
  const auto saved = TrySave(now);
  if (!saved) NoteFailure(saved.error());
}

base::Result<void> History::TrySave(base::SteadyTime now) {
  if (file_ == nullptr) {
    auto opened = HistoryFile::Open(options_.folder, HistoryFile::Mode::kWrite);
    if (!opened) return std::unexpected(std::move(opened.error()));
    file_ = *std::move(opened);
  }
  const int64_t now_ms = base::UnixMsNow(clock_);
  const auto series = store_.Kept();
  std::vector<NewSamples> fresh;
  std::map<std::string, int64_t> newest;
  size_t samples = 0;
  for (const std::shared_ptr<const Series>& one : series) {
    std::string key = KeyOf(one->labels());
    const auto known = saved_ms_.find(key);
    const int64_t saved = known == saved_ms_.end() ? kMinTime : known->second;
    NewSamples added{.labels = &one->labels(), .samples = {}};
    if (one->last_ms() > saved) {
      one->ForEach(saved + 1, kMaxTime, [&](Sample sample) { added.samples.push_back(sample); });
    }
    newest.emplace(std::move(key), added.samples.empty() ? saved : added.samples.back().time_ms);
    samples += added.samples.size();
    if (!added.samples.empty()) fresh.push_back(std::move(added));
  }
  if (auto written = file_->Write(fresh, KeptAt(now_ms)); !written) return written;
  saved_ms_ = std::move(newest);
  saved_at_ms_ = now_ms;
  {
    const base::MutexLock lock(mutex_);
    stats_.samples_written += samples;
    stats_.problem.clear();
  }
  if (now < drop_at_) return {};
  drop_at_ = now + kDropInterval;
  return file_->DropBefore(now_ms - options_.retention.count());
}

std::vector<KeptSelector> History::KeptAt(int64_t now_ms) {
  std::vector<KeptSelector> kept;
  const base::MutexLock lock(mutex_);
  for (size_t i = 0; i < options_.keep.size(); ++i) {
    // What memory had forgotten before the disk came back is lost.
    const bool lost = saved_at_ms_ != 0 && now_ms - saved_at_ms_ > options_.in_memory.count();
    if (lost) since_ms_[i] = std::max(since_ms_[i], now_ms - options_.in_memory.count());
    kept.push_back({TextOf(options_.keep[i]), since_ms_[i], now_ms});
  }
  return kept;
}

void History::NoteFailure(const base::Error& error) {
  file_.reset();
  retry_at_ = clock_.Now() + kRetryInterval;
  LOG_WARNING("the history is in memory alone, next attempt in {} s: {}", kRetryInterval.count(),
              error.message);
  const base::MutexLock lock(mutex_);
  ++stats_.failures;
  stats_.problem = error.message;
}

HistoryStats History::stats() const {
  const base::MutexLock lock(mutex_);
  return stats_;
}

base::Result<Selection> History::Select(const Matchers& matchers, int64_t min_ms, int64_t max_ms) {
  const int64_t now_ms = base::UnixMsNow(clock_);
  const int64_t memory_ms = now_ms - options_.in_memory.count();
  const auto keep = std::ranges::find_if(
      options_.keep, [&](const Matchers& wide) { return Covers(wide, matchers); });
  if (keep == options_.keep.end() || min_ms >= memory_ms) {
    return store_.Select(matchers, min_ms, max_ms);
  }
  auto memory = store_.Select(matchers, memory_ms, max_ms);
  if (!memory) return memory;
  memory->observed_since_ms = std::max(memory->observed_since_ms, memory_ms);
  auto file = HistoryFile::Open(options_.folder, HistoryFile::Mode::kRead);
  auto stored = file ? (*file)->Read(matchers, min_ms, max_ms)
                     : base::Result<std::vector<HistoryFile::Stored>>(
                           std::unexpected(std::move(file.error())));
  if (!stored) {
    LOG_WARNING("a window is answered from memory alone: {}", stored.error().message);
    return memory;
  }
  Selection selection = Join(*stored, *memory);
  const base::MutexLock lock(mutex_);
  selection.observed_since_ms =
      std::max(since_ms_[static_cast<size_t>(keep - options_.keep.begin())],
               now_ms - options_.retention.count());
  return selection;
}

base::Result<Selection> HistorySource::Select(const Matchers& matchers, int64_t min_ms,
                                              int64_t max_ms) {
  auto file = HistoryFile::Open(folder_, HistoryFile::Mode::kRead);
  if (!file) return std::unexpected(std::move(file.error()));
  auto kept = (*file)->Kept();
  if (!kept) return std::unexpected(std::move(kept.error()));
  auto stored = (*file)->Read(matchers, min_ms, max_ms);
  if (!stored) return std::unexpected(std::move(stored.error()));
  Selection selection = Join(*stored, {});
  selection.observed_since_ms = kMaxTime;
  const std::vector<std::string> terms = SortedTerms(matchers);
  for (const KeptSelector& one : *kept) {
    const bool covers = std::ranges::all_of(TermsOf(one.text), [&terms](const std::string& term) {
      return std::ranges::find(terms, term) != terms.end();
    });
    if (covers) selection.observed_since_ms = std::min(selection.observed_since_ms, one.since_ms);
  }
  return selection;
}

}  // namespace activescale::series
