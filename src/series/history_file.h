#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "metric/labels.h"
#include "series/matcher.h"
#include "series/sample.h"

struct sqlite3;
struct sqlite3_stmt;

namespace activescale::series {

/// Samples of one series that are new.
struct NewSamples {
  const metric::Labels* labels = nullptr;
  std::vector<Sample> samples;
};

/// A selector that is recorded, by its text.
struct KeptSelector {
  std::string text;
  int64_t since_ms = 0;  // everything since then is recorded
  int64_t alive_ms = 0;  // when that was last said
};

/// Series in one SQLite database, `history.db` of a folder. Each write is a transaction, so that a
/// process that is killed, or a disk that is full, leaves what was there before. A value that is no
/// number is kept as a stale marker. Threads: one at a time.
class HistoryFile {
 public:
  enum class Mode : uint8_t { kRead, kWrite };

  /// With kWrite the folder and the database are made if they are not there.
  /// Errors: kUnavailable: the disk, or a file that is no history of this version, with the reason.
  [[nodiscard]] static base::Result<std::unique_ptr<HistoryFile>> Open(const std::string& folder,
                                                                       Mode mode);
  ~HistoryFile();
  HistoryFile(const HistoryFile&) = delete;
  HistoryFile& operator=(const HistoryFile&) = delete;

  // Errors of all that follow: kUnavailable, what SQLite says. Nothing was written then.

  [[nodiscard]] base::Result<void> Write(const std::vector<NewSamples>& series,
                                         const std::vector<KeptSelector>& kept);
  /// Forgets samples before `before_ms`, and series that have none.
  [[nodiscard]] base::Result<void> DropBefore(int64_t before_ms);

  struct Stored {
    metric::Labels labels;
    std::vector<Sample> samples;  // in order
  };
  /// Series that match and have samples from `min_ms` to `max_ms`.
  [[nodiscard]] base::Result<std::vector<Stored>> Read(const Matchers& matchers, int64_t min_ms,
                                                       int64_t max_ms);
  [[nodiscard]] base::Result<std::vector<KeptSelector>> Kept();

 private:
  class Statement;

  explicit HistoryFile(sqlite3* database) : database_(database) {}

  [[nodiscard]] base::Result<void> Prepare(Mode mode);
  [[nodiscard]] base::Result<void> Run(const char* sql);
  [[nodiscard]] base::Result<void> Insert(const std::vector<NewSamples>& series,
                                          const std::vector<KeptSelector>& kept);
  [[nodiscard]] base::Result<int64_t> IdOf(const metric::Labels& labels);
  [[nodiscard]] std::unexpected<base::Error> Failure(const char* what) const;

  sqlite3* const database_;
  std::unordered_map<std::string, int64_t> ids_;  // of series that were written, by their labels
};

}  // namespace activescale::series
