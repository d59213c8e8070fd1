#include "signal/catalogue.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "signal/catalogue_file.h"

namespace activescale::signal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kFile = R"(signals:
  - name: Querier_Inflight
    namespace: loki
    expression: sum(max_over_time(inflight{quantile="0.75"}[2m]))
    target: 4
    activation: 0.5
    fallback: 12
    labels: {team: logs}
    partial_window: serve
  - name: gateway
    expression: sum by (cluster) (rq_active)
    target: 25.5
)";

base::Result<Catalogue> Parse(const std::string& text) {
  return Catalogue::Parse(text, promql::Dialect::kPrometheus3);
}

TEST(CatalogueTest, ReadsEverythingOfASignal) {
  const auto catalogue = Parse(std::string(kFile));
  ASSERT_TRUE(catalogue) << catalogue.error().message;
  const Signal& signal = catalogue->signals().at(0);
  EXPECT_EQ(signal.name, "Querier_Inflight");
  EXPECT_EQ(signal.ns, "loki");
  EXPECT_EQ(signal.target, 4);
  EXPECT_EQ(signal.activation, 0.5);
  EXPECT_EQ(signal.fallback, 12);
  EXPECT_EQ(signal.labels.Get("team"), "logs");
  EXPECT_EQ(signal.partial_window, PartialWindow::kServe);
  const Signal& other = catalogue->signals().at(1);
  EXPECT_EQ(other.target, 25.5);
  EXPECT_FALSE(other.fallback);
  EXPECT_EQ(other.partial_window, PartialWindow::kMissing);
}

TEST(CatalogueTest, FindsByNameWithoutCaseInTheNamespace) {
  const auto catalogue = Parse(std::string(kFile));
  ASSERT_TRUE(catalogue);
  ASSERT_TRUE(catalogue->Find("loki", "querier_inflight"));
  EXPECT_EQ((*catalogue->Find("loki", "QUERIER_INFLIGHT"))->name, "Querier_Inflight");
  EXPECT_TRUE(catalogue->Find("anywhere", "gateway"));
  const auto stranger = catalogue->Find("shop", "querier_inflight");
  ASSERT_FALSE(stranger);
  EXPECT_EQ(stranger.error().code, base::Code::kNotFound);
  EXPECT_EQ(stranger.error().message,
            "there is no signal \"querier_inflight\" for namespace shop; there are gateway");
  EXPECT_EQ(catalogue->Names(), (std::vector<std::string>{"gateway", "querier_inflight"}));
}

TEST(CatalogueTest, NamesTheLineOfEachFault) {
  const struct {
    std::string text;
    std::string want;
  } cases[] = {
      {"", "line 0: the file must be a mapping"},
      {"signals: {}", "line 1: signals must be a sequence"},
      {"signals:\n  - 3", "line 2: a signal must be a mapping"},
      {"signals:\n  - name: a", "line 2: the signal has no expression; line 2: the signal has no"},
      {"signals:\n- {name: a, expression: x}", "line 2: the signal has no target"},
      {"signals:\n- name: a\n  expression: sum(x\n  target: 1",
       "line 3: expression: 1:6: parse error"},
      {"signals:\n- name: a\n  expression: x[5m]\n  target: 1",
       "line 3: expression gives a matrix; it must give a scalar or instant vector"},
      {"signals:\n- name: a\n  expression: x\n  target: 0", "line 4: target must be above 0"},
      {"signals:\n- name: a\n  expression: x\n  target: many",
       "line 4: target must be a number of at least 0"},
      {"signals:\n- name: a\n  expression: x\n  target: NaN", "line 4: target must be a number"},
      {"signals:\n- name: a b\n  expression: x\n  target: 1", "line 2: name must begin with"},
      {"signals:\n- name: Status\n  expression: x\n  target: 1", "line 2: name cannot be status"},
      {"signals:\n- name: a\n  namespace: A_B\n  expression: x\n  target: 1",
       "line 3: namespace is not the name of a namespace"},
      {"signals:\n- name: a\n  expression: x\n  target: 1\n  treshold: 4",
       "line 5: \"treshold\" is not a key of a signal"},
      {"signals:\n- name: a\n  expression: x\n  target: 1\n  partial_window: yes",
       "line 5: partial_window is missing or serve"},
      {"signals:\n- name: a\n  expression: x\n  target: 1\n  labels: [a]",
       "line 5: labels must be a mapping"},
      {"signals: [", "line 1: "},
  };
  for (const auto& c : cases) {
    const auto result = Parse(c.text);
    ASSERT_FALSE(result) << c.text;
    EXPECT_EQ(result.error().code, base::Code::kInvalidArgument);
    EXPECT_THAT(result.error().message, HasSubstr(c.want)) << c.text;
  }
}

TEST(CatalogueTest, RefusesNamesThatCollide) {
  const auto two = [](const std::string& first, const std::string& second) {
    return Parse("signals:\n- {" + first + ", expression: x, target: 1}\n- {" + second +
                 ", expression: x, target: 1}");
  };
  EXPECT_TRUE(two("name: a, namespace: blue", "name: A, namespace: green"));
  EXPECT_TRUE(two("name: a", "name: b"));
  for (const auto& [first, second] :
       {std::pair("name: a", "name: A"), std::pair("name: a, namespace: blue", "name: a"),
        std::pair("name: a", "name: a, namespace: blue"),
        std::pair("name: a, namespace: b", "name: a, namespace: b")}) {
    const auto result = two(first, second);
    ASSERT_FALSE(result) << first << second;
    EXPECT_THAT(result.error().message, HasSubstr("collides with a in line 2"));
  }
}

TEST(CatalogueTest, TellsOfASignalOnceHoweverManyItCollidesWith) {
  std::string text = "signals:\n";
  for (const char* ns : {"blue", "green", "blue", "red", "\"\"", "blue"}) {
    text += fmt::format("- {{name: a, namespace: {}, expression: x, target: 1}}\n", ns);
  }
  const auto result = Parse(text);
  ASSERT_FALSE(result);
  std::vector<std::string> places;
  const std::string& message = result.error().message;
  const std::regex place("line \\d+: the name a collides with a in line \\d+");
  for (std::sregex_iterator it(message.begin(), message.end(), place), end; it != end; ++it) {
    places.push_back(it->str());
  }
  EXPECT_THAT(places, ElementsAre("line 4: the name a collides with a in line 2",
                                  "line 6: the name a collides with a in line 2",
                                  "line 7: the name a collides with a in line 2"));
}

class CatalogueFileTest : public testing::Test {
 protected:
  CatalogueFileTest() {
    std::filesystem::create_directories(folder_);
    Write(std::string(kFile));
  }
  ~CatalogueFileTest() override { std::filesystem::remove_all(folder_); }
  void Write(const std::string& text) { std::ofstream(path_) << text; }
  double Value(const std::string& line) {
    const std::string text = registry_.Render();
    const size_t at = text.find("\n" + line + " ");
    return at == std::string::npos ? -1 : std::stod(text.substr(at + line.size() + 2));
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("catalogue_file_test." + std::to_string(getpid()));
  const std::string path_ = folder_ / "signals.yaml";
  telemetry::Registry registry_;
  CatalogueFile file_{path_, promql::Dialect::kPrometheus3, registry_};
};

TEST_F(CatalogueFileTest, FollowsItsFile) {
  ASSERT_TRUE(file_.Load());
  EXPECT_EQ(file_.Get()->signals().size(), 2U);
  EXPECT_FALSE(file_.Poll());
  Write("signals: [{name: a, expression: x, target: 1}]");
  EXPECT_TRUE(file_.Poll());
  EXPECT_EQ(file_.Get()->signals().size(), 1U);
  EXPECT_EQ(Value("activescale_signals"), 1);
  EXPECT_EQ(Value("activescale_signals_reloads_total{result=\"reloaded\"}"), 1);
}

TEST_F(CatalogueFileTest, AFaultyFileKeepsTheSignalsFromBefore) {
  ASSERT_TRUE(file_.Load());
  Write("signals: [{name: a}]");
  EXPECT_FALSE(file_.Poll());
  EXPECT_FALSE(file_.Poll());
  EXPECT_EQ(file_.Get()->signals().size(), 2U);
  EXPECT_EQ(Value("activescale_signals_file_faulty"), 1);
  EXPECT_EQ(Value("activescale_signals_reloads_total{result=\"failed\"}"), 1);
  std::filesystem::remove(path_);
  EXPECT_FALSE(file_.Poll());
  EXPECT_EQ(file_.Get()->signals().size(), 2U);
  Write(std::string(kFile));
  EXPECT_TRUE(file_.Poll());
  EXPECT_EQ(Value("activescale_signals_file_faulty"), 0);
}

TEST_F(CatalogueFileTest, AFileThatIsNotThereFailsTheStart) {
  std::filesystem::remove(path_);
  const auto loaded = file_.Load();
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, base::Code::kNotFound);
  EXPECT_THAT(loaded.error().message, HasSubstr(path_));
}

}  // namespace
}  // namespace activescale::signal
