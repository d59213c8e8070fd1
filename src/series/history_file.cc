#include "series/history_file.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace activescale::series {
namespace {

constexpr int kVersion = 1;
constexpr int kBusyTimeoutMs = 2'000;

constexpr const char* kSchema = R"(
CREATE TABLE IF NOT EXISTS series(id INTEGER PRIMARY KEY, labels BLOB NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS sample(series INTEGER NOT NULL, time INTEGER NOT NULL, value REAL,
                                  PRIMARY KEY(series, time)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS kept(selector TEXT PRIMARY KEY, since INTEGER NOT NULL,
                                alive INTEGER NOT NULL) WITHOUT ROWID;
)";

/// "8:__name__2:up...": each text with its length before it, so that any bytes come back.
std::string Encode(const metric::Labels& labels) {
  std::string text;
  for (const auto& [name, value] : labels.entries()) {
    text += fmt::format("{}:{}{}:{}", name.size(), name, value.size(), value);
  }
  return text;
}

std::optional<std::string> TakeText(std::string_view& text) {
  size_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (error != std::errc() || end == text.data() + text.size() || *end != ':') return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()) + 1);
  if (size > text.size()) return std::nullopt;
  std::string taken(text.substr(0, size));
  text.remove_prefix(size);
  return taken;
}

std::optional<metric::Labels> Decode(std::string_view text) {
  std::vector<metric::Labels::Entry> entries;
  while (!text.empty()) {
    auto name = TakeText(text);
    auto value = name ? TakeText(text) : std::nullopt;
    if (!value) return std::nullopt;
    entries.emplace_back(*std::move(name), *std::move(value));
  }
  return metric::Labels(std::move(entries));
}

}  // namespace

/// A prepared statement. What goes wrong shows when it is stepped.
class HistoryFile::Statement {
 public:
  Statement(sqlite3* database, const char* sql) {
    sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& Bind(int at, int64_t value) {
    sqlite3_bind_int64(statement_, at, value);
    return *this;
  }
  Statement& Bind(int at, double value) {
    if (std::isnan(value)) {
      sqlite3_bind_null(statement_, at);
    } else {
      sqlite3_bind_double(statement_, at, value);
    }
    return *this;
  }
  /// `bytes` must outlive the step.
  Statement& BindBlob(int at, std::string_view bytes) {
    sqlite3_bind_blob(statement_, at, bytes.data(), static_cast<int>(bytes.size()), SQLITE_STATIC);
    return *this;
  }
  Statement& BindText(int at, std::string_view text) {
    sqlite3_bind_text(statement_, at, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
    return *this;
  }

  /// SQLITE_ROW, SQLITE_DONE or an error.
  int Step() { return statement_ == nullptr ? SQLITE_ERROR : sqlite3_step(statement_); }
  /// For a statement without rows: whether it is done; then it can be used again.
  bool Do() {
    const int result = Step();
    if (statement_ != nullptr) sqlite3_reset(statement_);
    return result == SQLITE_DONE;
  }
  void Reset() { sqlite3_reset(statement_); }

  [[nodiscard]] int64_t Integer(int column) const {
    return sqlite3_column_int64(statement_, column);
  }
  [[nodiscard]] double Number(int column) const {
    return sqlite3_column_type(statement_, column) == SQLITE_NULL
               ? StaleMarker()
               : sqlite3_column_double(statement_, column);
  }
  /// Valid until the next step.
  [[nodiscard]] std::string_view Bytes(int column) const {
    const void* bytes = sqlite3_column_blob(statement_, column);
    const auto size = static_cast<size_t>(sqlite3_column_bytes(statement_, column));
    return bytes == nullptr ? std::string_view()
                            : std::string_view(static_cast<const char*>(bytes), size);
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
};

HistoryFile::~HistoryFile() { sqlite3_close_v2(database_); }

std::unexpected<base::Error> HistoryFile::Failure(const char* what) const {
  return base::Fail(base::Code::kUnavailable,
                    fmt::format("{}: {}", what, sqlite3_errmsg(database_)));
}

base::Result<std::unique_ptr<HistoryFile>> HistoryFile::Open(const std::string& folder, Mode mode) {
  if (mode == Mode::kWrite) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) {
      return base::Fail(
          base::Code::kUnavailable,
          fmt::format("the folder {} for the history cannot be made: {}", folder, error.message()));
    }
  }
  const std::string path = folder + "/history.db";
  const int flags =
      SQLITE_OPEN_NOMUTEX |
      (mode == Mode::kRead ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  sqlite3* database = nullptr;
  const int opened = sqlite3_open_v2(path.c_str(), &database, flags, nullptr);
  // Even what could not be opened has to be closed.
  std::unique_ptr<HistoryFile> file(new HistoryFile(database));
  const auto named = [&path](base::Error error) {
    return base::Fail(error.code, fmt::format("history {}: {}", path, error.message));
  };
  if (opened != SQLITE_OK) return named(file->Failure("cannot be opened").error());
  if (auto prepared = file->Prepare(mode); !prepared) return named(std::move(prepared.error()));
  return file;
}

base::Result<void> HistoryFile::Run(const char* sql) {
  if (sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return Failure("the database refused");
}

base::Result<void> HistoryFile::Prepare(Mode mode) {
  sqlite3_busy_timeout(database_, kBusyTimeoutMs);
  int64_t version = 0;
  {
    Statement asked(database_, "PRAGMA user_version");
    if (asked.Step() != SQLITE_ROW) return Failure("cannot be read");
    version = asked.Integer(0);
  }
  if (version != kVersion && (version != 0 || mode == Mode::kRead)) {
    return base::Fail(base::Code::kUnavailable,
                      fmt::format("is of version {}, this program knows version {}; give another "
                                  "--data-dir",
                                  version, kVersion));
  }
  if (mode == Mode::kRead) return {};
  // With a write-ahead log a reader never waits for the writer, and a kill leaves whole
  // transactions.
  if (auto set = Run("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"); !set) return set;
  if (auto made = Run(kSchema); !made) return made;
  return Run(fmt::format("PRAGMA user_version={}", kVersion).c_str());
}

base::Result<int64_t> HistoryFile::IdOf(const metric::Labels& labels) {
  std::string text = Encode(labels);
  if (const auto found = ids_.find(text); found != ids_.end()) return found->second;
  Statement insert(database_, "INSERT OR IGNORE INTO series(labels) VALUES(?)");
  if (!insert.BindBlob(1, text).Do()) return Failure("a series could not be written");
  Statement select(database_, "SELECT id FROM series WHERE labels=?");
  if (select.BindBlob(1, text).Step() != SQLITE_ROW) return Failure("a series could not be read");
  return ids_.emplace(std::move(text), select.Integer(0)).first->second;
}

base::Result<void> HistoryFile::Write(const std::vector<NewSamples>& series,
                                      const std::vector<KeptSelector>& kept) {
  if (auto begun = Run("BEGIN IMMEDIATE"); !begun) return begun;
  auto written = Insert(series, kept);
  if (written) written = Run("COMMIT");
  if (written) return written;
  ids_.clear();  // those of this transaction are void
  static_cast<void>(Run("ROLLBACK"));
  return written;
}

base::Result<void> HistoryFile::Insert(const std::vector<NewSamples>& series,
                                       const std::vector<KeptSelector>& kept) {
  Statement sample(database_, "INSERT OR IGNORE INTO sample(series,time,value) VALUES(?,?,?)");
  for (const NewSamples& entry : series) {
    const auto id = IdOf(*entry.labels);
    if (!id) return std::unexpected(id.error());
    for (const Sample& one : entry.samples) {
      if (sample.Bind(1, *id).Bind(2, one.time_ms).Bind(3, one.value).Do()) continue;
      return Failure("a sample could not be written");
    }
  }
  Statement selector(database_, "INSERT OR REPLACE INTO kept(selector,since,alive) VALUES(?,?,?)");
  for (const KeptSelector& one : kept) {
    selector.BindText(1, one.text).Bind(2, one.since_ms).Bind(3, one.alive_ms);
    if (!selector.Do()) return Failure("a selector could not be written");
  }
  return {};
}

base::Result<void> HistoryFile::DropBefore(int64_t before_ms) {
  std::vector<int64_t> ids;
  {
    Statement all(database_, "SELECT id FROM series");
    int result = 0;
    while ((result = all.Step()) == SQLITE_ROW) ids.push_back(all.Integer(0));
    if (result != SQLITE_DONE) return Failure("series could not be read");
  }
  Statement drop(database_, "DELETE FROM sample WHERE series=? AND time<?");
  Statement drop_series(database_,
                        "DELETE FROM series WHERE id=?1 AND NOT EXISTS(SELECT 1 FROM sample WHERE "
                        "series=?1)");
  for (const int64_t id : ids) {
    if (!drop.Bind(1, id).Bind(2, before_ms).Do() || !drop_series.Bind(1, id).Do()) {
      return Failure("old samples could not be dropped");
    }
  }
  ids_.clear();
  return {};
}

base::Result<std::vector<HistoryFile::Stored>> HistoryFile::Read(const Matchers& matchers,
                                                                 int64_t min_ms, int64_t max_ms) {
  std::vector<Stored> found;
  Statement series(database_, "SELECT id,labels FROM series ORDER BY id");
  Statement samples(database_,
                    "SELECT time,value FROM sample WHERE series=? AND time>=? AND time<=? "
                    "ORDER BY time");
  int result = 0;
  while ((result = series.Step()) == SQLITE_ROW) {
    auto labels = Decode(series.Bytes(1));
    if (!labels || !MatchesAll(matchers, *labels)) continue;
    Stored stored{.labels = *std::move(labels), .samples = {}};
    samples.Bind(1, series.Integer(0)).Bind(2, min_ms).Bind(3, max_ms);
    int sample = 0;
    while ((sample = samples.Step()) == SQLITE_ROW) {
      stored.samples.push_back({samples.Integer(0), samples.Number(1)});
    }
    if (sample != SQLITE_DONE) return Failure("samples could not be read");
    samples.Reset();
    if (!stored.samples.empty()) found.push_back(std::move(stored));
  }
  if (result != SQLITE_DONE) return Failure("series could not be read");
  return found;
}

base::Result<std::vector<KeptSelector>> HistoryFile::Kept() {
  std::vector<KeptSelector> kept;
  Statement all(database_, "SELECT selector,since,alive FROM kept");
  int result = 0;
  while ((result = all.Step()) == SQLITE_ROW) {
    kept.push_back({std::string(all.Bytes(0)), all.Integer(1), all.Integer(2)});
  }
  if (result != SQLITE_DONE) return Failure("selectors could not be read");
  return kept;
}

}  // namespace activescale::series
