#include "series/history.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "base/testing/fake_clock.h"
#include "base/unix_time.h"

namespace activescale::series {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

const Matchers kInflight = {*Matcher::Make(Matcher::Op::kEqual, "__name__", "inflight")};

metric::Labels Inflight(const std::string& pod) {
  return metric::Labels({{"__name__", "inflight"}, {"pod", pod}});
}

/// A folder of its own, and a clock; each Process is one life of a server over that folder.
class HistoryTest : public testing::Test {
 protected:
  HistoryTest() { std::filesystem::remove_all(folder_); }
  ~HistoryTest() override { std::filesystem::remove_all(folder_); }

  struct Process {
    explicit Process(HistoryTest& test)
        : store({}, test.clock_),
          history({.folder = test.folder_, .keep = {kInflight}, .in_memory = 1h}, store,
                  test.clock_) {
      history.Restore();
    }
    SeriesStore store;
    History history;
  };

  [[nodiscard]] int64_t Now() const { return base::UnixMsNow(clock_); }
  /// One sample a minute for `minutes`, each saved.
  void Run(Process& process, int minutes, const std::string& pod = "a") {
    for (int i = 0; i < minutes; ++i) {
      clock_.Advance(1min);
      EXPECT_EQ(process.store.Append(Inflight(pod), {Now(), double(++value_)}),
                AppendOutcome::kStored);
      process.history.Save();
    }
  }
  /// The first and the last value of each series and how many there are: "1..5/5 whole". As in
  /// PromQL the window does not have its left end.
  std::string Window(SeriesSource& source, std::chrono::minutes window) {
    const auto selection = source.Select(kInflight, Now() - int64_t{window / 1ms}, Now());
    if (!selection) return selection.error().message;
    std::string text;
    for (const auto& series : selection->series) {
      std::vector<double> values;
      series->ForEach(Now() - int64_t{window / 1ms} + 1, Now(),
                      [&values](Sample sample) { values.push_back(sample.value); });
      if (values.empty()) continue;
      text += fmt::format("{}..{}/{} ", values.front(), values.back(), values.size());
    }
    return text +
           (selection->observed_since_ms <= Now() - int64_t{window / 1ms} ? "whole" : "part");
  }

  const std::string folder_ = testing::TempDir() + "history-" + std::to_string(getpid());
  const std::string file_ = folder_ + "/history.db";
  base::FakeClock clock_;
  int value_ = 0;
};

TEST_F(HistoryTest, ARestartLosesNoWindow) {
  {
    Process process(*this);
    Run(process, 20);
  }
  clock_.Advance(30s);
  Process process(*this);
  EXPECT_EQ(Window(process.history, 10min), "11..20/10 whole");
  Run(process, 5);
  EXPECT_EQ(Window(process.history, 10min), "16..25/10 whole");
  EXPECT_EQ(process.history.stats().problem, "");
}

TEST_F(HistoryTest, AfterALongPauseWindowsAcrossItAreNotWhole) {
  {
    Process process(*this);
    Run(process, 20);
  }
  clock_.Advance(10min);
  Process process(*this);
  EXPECT_EQ(Window(process.history, 15min), "16..20/5 part");
  Run(process, 5);
  EXPECT_EQ(Window(process.history, 5min), "21..25/5 whole");
}

TEST_F(HistoryTest, WindowsLongerThanMemoryComeFromDiskAndMemoryTogether) {
  Process process(*this);
  Run(process, 300);
  process.store.Maintain();
  clock_.Advance(1min);
  process.store.Append(Inflight("a"), {Now(), 1000});  // not on disk yet
  process.store.Append(Inflight("b"), {Now(), 7});
  EXPECT_EQ(Window(process.history, 200min), "102..1000/200 7..7/1 whole");
  EXPECT_EQ(Window(process.store, 200min).find("102.."), std::string::npos) << "not in memory";
}

TEST_F(HistoryTest, IsReadAfterwardsWithoutTheProcess) {
  {
    Process process(*this);
    Run(process, 300);
  }
  HistorySource source(folder_);
  EXPECT_EQ(Window(source, 200min), "101..300/200 whole");
  EXPECT_EQ(Window(source, 400min), "1..300/300 part");
  HistorySource nowhere(folder_ + "/nowhere");
  EXPECT_THAT(Window(nowhere, 1min), HasSubstr("cannot be opened"));
}

TEST_F(HistoryTest, ForgetsWhatIsOlderThanTheRetention) {
  SeriesStore store({}, clock_);
  History history({.folder = folder_, .keep = {kInflight}, .retention = 3h, .in_memory = 1h}, store,
                  clock_);
  history.Restore();
  store.Append(Inflight("gone"), {Now(), 1});
  for (int i = 0; i < 300; ++i) {
    clock_.Advance(1min);
    store.Append(Inflight("a"), {Now(), double(i)});
    history.Save();
  }
  HistorySource source(folder_);
  const auto all = source.Select(kInflight, 0, Now());
  ASSERT_TRUE(all);
  ASSERT_EQ(all->series.size(), 1U);
  EXPECT_GE(all->series[0]->first_ms(), Now() - 3 * 3'600'000 - 11 * 60'000);
}

TEST_F(HistoryTest, KeepsEveryValueAndLabelAndEndsOfSeries) {
  const metric::Labels odd({{"__name__", "inflight"}, {"q", std::string("1:x\n\0\"", 6)}});
  {
    Process process(*this);
    process.store.Append(odd, {Now(), std::numeric_limits<double>::infinity()});
    process.store.Append(odd, {Now() + 1, 0.1});
    process.store.MarkStale(odd, Now() + 2);
    process.history.Save();
  }
  clock_.Advance(1s);
  Process process(*this);
  const auto selection = process.store.Select(kInflight, 0, Now());
  ASSERT_EQ(selection->series.size(), 1U);
  EXPECT_EQ(selection->series[0]->labels(), odd);
  std::string text;
  selection->series[0]->ForEach(kMinTime, kMaxTime, [&text](Sample sample) {
    text += IsStaleMarker(sample.value) ? "end" : fmt::format("{} ", sample.value);
  });
  EXPECT_EQ(text, "inf 0.1 end");
}

TEST_F(HistoryTest, AFullDiskCostsTheHistoryAndComesBack) {
  Process process(*this);
  Run(process, 5);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, SIG_IGN);
  rlimit full = before;
  full.rlim_cur = 4096;  // nothing can grow any more
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  Run(process, 5);
  const HistoryStats during = process.history.stats();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_GT(during.failures, 0U);
  EXPECT_NE(during.problem, "");
  EXPECT_EQ(Window(process.history, 10min), "1..10/10 whole") << "memory goes on";
  EXPECT_EQ(Window(process.history, 90min), "1..10/10 part");
  Run(process, 5);
  EXPECT_EQ(process.history.stats().problem, "");
  HistorySource source(folder_);
  EXPECT_EQ(Window(source, 14min), "2..15/14 whole") << "what memory had is on disk again";
}

TEST_F(HistoryTest, AFileThatIsNoDatabaseIsLeftAloneAndMemoryGoesOn) {
  std::filesystem::create_directories(folder_);
  std::ofstream(file_) << std::string(5000, 'x');
  Process process(*this);
  Run(process, 5);
  EXPECT_GT(process.history.stats().failures, 0U);
  EXPECT_THAT(process.history.stats().problem, HasSubstr("history.db"));
  EXPECT_EQ(Window(process.history, 4min), "2..5/4 whole");
  EXPECT_EQ(std::filesystem::file_size(file_), 5000U);
}

TEST_F(HistoryTest, AFolderThatCannotBeMadeIsAProblemThatSaysSo) {
  std::ofstream(folder_) << "a file";
  Process process(*this);
  Run(process, 1);
  EXPECT_THAT(process.history.stats().problem, HasSubstr(folder_));
}

TEST_F(HistoryTest, AKilledProcessLeavesWholeTransactions) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto file = HistoryFile::Open(folder_, HistoryFile::Mode::kWrite);
    const metric::Labels a = Inflight("a");
    const metric::Labels b = Inflight("b");
    for (int64_t i = 1;; ++i) {
      const bool ok = file && (*file)->Write({{&a, {{i, 1}}}, {&b, {{i, 2}}}}, {}).has_value();
      if (write(ready[1], ok ? "+" : "-", 1) != 1) _exit(1);
    }
  }
  for (int i = 0; i < 50; ++i) {
    char said = 0;
    ASSERT_EQ(read(ready[0], &said, 1), 1);
    ASSERT_EQ(said, '+');
  }
  ASSERT_EQ(kill(child, SIGKILL), 0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  close(ready[0]);
  close(ready[1]);
  auto file = HistoryFile::Open(folder_, HistoryFile::Mode::kWrite);
  ASSERT_TRUE(file) << file.error().message;
  const auto stored = (*file)->Read(kInflight, 0, kMaxTime);
  ASSERT_TRUE(stored);
  ASSERT_EQ(stored->size(), 2U);
  EXPECT_EQ((*stored)[0].samples.size(), (*stored)[1].samples.size());
  EXPECT_GE((*stored)[0].samples.size(), 50U);
  EXPECT_EQ((*stored)[0].samples.back().time_ms, static_cast<int64_t>((*stored)[0].samples.size()));
}

}  // namespace
}  // namespace activescale::series
