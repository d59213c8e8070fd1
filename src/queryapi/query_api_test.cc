#include "queryapi/query_api.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include <boost/json.hpp>

#include "base/testing/fake_clock.h"
#include "base/unix_time.h"
#include "queryapi/parameters.h"

namespace activescale::queryapi {
namespace {

using std::chrono::seconds;

/// Envoys of which nothing is heard when told so.
class FakeTelemetry final : public signal::Telemetry {
 public:
  void set_error(base::Error error) { error_ = std::move(error); }
  [[nodiscard]] base::Result<void> Check(const series::Matchers&) const override {
    if (error_.message.empty()) return {};
    return std::unexpected(error_);
  }

 private:
  base::Error error_;
};

/// Takes two seconds for each selection.
class SlowSource final : public series::SeriesSource {
 public:
  SlowSource(series::SeriesSource& series, base::FakeClock& clock)
      : series_(series), clock_(clock) {}
  base::Result<series::Selection> Select(const series::Matchers& matchers, int64_t min_ms,
                                         int64_t max_ms) override {
    clock_.Advance(seconds(2));
    return series_.Select(matchers, min_ms, max_ms);
  }

 private:
  series::SeriesSource& series_;
  base::FakeClock& clock_;
};

/// Inflight requests of two pods, one sample each second for two minutes, and then the queries.
class QueryApiTest : public testing::Test {
 protected:
  QueryApiTest() {
    (void)series_.Select(Selector("inflight"), NowMs() - 120'000, NowMs());
    for (int second = 0; second < 120; ++second) {
      clock_.Advance(seconds(1));
      for (const std::string pod : {"a", "b"}) {
        series_.Append(metric::Labels({{"__name__", "inflight"}, {"pod", pod}}),
                       {NowMs(), pod == "a" ? 6 : 0.5});
      }
    }
  }

  static series::Matchers Selector(const std::string& name) {
    return {*series::Matcher::Make(series::Matcher::Op::kEqual, "__name__", name)};
  }
  int64_t NowMs() const { return base::UnixMsNow(clock_); }
  std::string Now() const { return std::to_string(NowMs() / 1000); }

  net::HttpResponse Get(const std::string& target) {
    return api_.Answer({.method = "GET", .target = target});
  }
  std::string Body(const std::string& target) { return Get(target).body; }

  base::FakeClock clock_;
  series::SeriesStore series_{{}, clock_};
  FakeTelemetry envoys_;
  signal::Evaluator evaluator_{{}, series_, &envoys_, clock_};
  telemetry::Registry registry_;
  QueryApi api_{
      {.path_prefix = "/mimir", .version = "1", .own_metadata = {{"own", "gauge", "Own.", ""}}},
      evaluator_,
      series_,
      clock_,
      registry_};
};

TEST_F(QueryApiTest, AnswersAsPrometheusDoes) {
  const std::string at = "&time=" + Now();
  const struct {
    std::string target;
    std::string want;
  } cases[] = {
      {"query?query=sum(max_over_time(inflight[2m]))" + at,
       R"({"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[)" +
           Now() + R"(,"6.5"]}]}})"},
      {"query?query=inflight%7Bpod%3D%22b%22%7D" + at,
       R"({"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":)"
       R"("inflight","pod":"b"},"value":[)" +
           Now() + R"(,"0.5"]}]}})"},
      {"query?query=1%2B1&time=12.5",
       R"({"status":"success","data":{"resultType":"scalar","result":[12.500,"2"]}})"},
      {"query?query=%22a%22&time=1970-01-01T00:00:01.25Z",
       R"({"status":"success","data":{"resultType":"string","result":[1.250,"a"]}})"},
      {"query?query=vector(1)&time=1970-01-01T01:00:01%2B01:00",
       R"({"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"1"]}]}})"},
      {"query?query=-1/0&time=1",
       R"({"status":"success","data":{"resultType":"scalar","result":[1,"-Inf"]}})"},
      {"query_range?query=vector(7)&start=1&end=3&step=1s",
       R"({"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[1,"7"],[2,"7"],[3,"7"]]}]}})"},
      {"query?query=inflight&limit=1" + at,
       R"({"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":)"
       R"("inflight","pod":"a"},"value":[)" +
           Now() + R"(,"6"]}]},"warnings":["results truncated due to limit"]})"},
      {"series?match[]=inflight&match[]=%7Bpod=%22a%22%7D",
       R"({"status":"success","data":[{"__name__":"inflight","pod":"a"},{"__name__":"inflight","pod":"b"}]})"},
      {"series?match[]=other", R"({"status":"success","data":[]})"},
      {"labels", R"({"status":"success","data":["__name__","pod"]})"},
      {"label/pod/values", R"({"status":"success","data":["a","b"]})"},
      {"label/pod/values?match[]=inflight%7Bpod!=%22a%22%7D",
       R"({"status":"success","data":["b"]})"},
      {"label/pod/values?limit=1",
       R"({"status":"success","data":["a"],"warnings":["results truncated due to limit"]})"},
      {"labels?end=5", R"({"status":"success","data":[]})"},
  };
  for (const auto& c : cases) {
    const auto response = Get("/api/v1/" + c.target);
    EXPECT_EQ(response.status, 200) << c.target;
    EXPECT_EQ(response.body, c.want) << c.target;
  }
}

TEST_F(QueryApiTest, NamesMistakesAsPrometheusDoes) {
  const struct {
    std::string target;
    int status;
    std::string type;
    std::string error;
  } cases[] = {
      {"query?query=sum(", 400, "bad_data",
       R"(invalid parameter "query": 1:5: parse error: unclosed left parenthesis)"},
      {"query", 400, "bad_data",
       R"(invalid parameter "query": 1:1: parse error: no expression found in input)"},
      {"query?query=1&time=yesterday", 400, "bad_data",
       R"(invalid parameter "time": cannot parse "yesterday" to a valid timestamp)"},
      {"query?query=1&time=2026-02-30T00:00:00Z", 400, "bad_data",
       R"(invalid parameter "time": cannot parse "2026-02-30T00:00:00Z" to a valid timestamp)"},
      {"query?query=1&timeout=soon", 400, "bad_data",
       R"(invalid parameter "timeout": cannot parse "soon" to a valid duration)"},
      {"query?query=%zz", 400, "bad_data", R"(invalid URL escape in parameter "query=%zz")"},
      {"query?query=label_replace(vector(1),%22%22,%22%22,%22%22,%22%22)", 422, "execution",
       R"(invalid destination label name in label_replace(): )"},
      {"query_range?query=1&start=1&end=3", 400, "bad_data",
       R"(invalid parameter "step": cannot parse "" to a valid duration)"},
      {"query_range?query=1&start=1&end=3&step=0", 400, "bad_data",
       R"(invalid parameter "step": zero or negative query resolution step widths are not accepted. Try a positive integer)"},
      {"query_range?query=1&start=3&end=1&step=1", 400, "bad_data",
       R"(invalid parameter "end": end timestamp must not be before start time)"},
      {"query_range?query=1&start=0&end=11001&step=1", 400, "bad_data",
       "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query "
       "resolution (?step=XX)"},
      {"query_range?query=inflight[1m]&start=1&end=3&step=1", 400, "bad_data",
       R"(invalid parameter "query": invalid expression type "range vector" for range query, must be Scalar or instant Vector)"},
      {"series", 400, "bad_data", "no match[] parameter provided"},
      {"series?match[]=sum(a)", 400, "bad_data",
       R"x(invalid parameter "match[]": "sum(a)" is not a series selector alone)x"},
      {"label/%20%FF/values", 400, "bad_data", "invalid label name: \" \xEF\xBF\xBD\""},
      {"metadata?limit=many", 400, "bad_data", "limit must be a number"},
      {"metadata?limit_per_metric=1.5", 400, "bad_data", "limit_per_metric must be a number"},
      {"rules", 404, "not_found",
       "nothing is served at /api/v1/rules: this is Prometheus's query API, under /api/v1/"},
  };
  for (const auto& c : cases) {
    const auto response = Get("/api/v1/" + c.target);
    EXPECT_EQ(response.status, c.status) << c.target;
    boost::system::error_code broken;
    const auto json = boost::json::parse(response.body, broken);
    ASSERT_FALSE(broken) << response.body;
    EXPECT_EQ(json.at("status").as_string(), "error") << c.target;
    EXPECT_EQ(json.at("errorType").as_string(), c.type) << c.target;
    EXPECT_EQ(json.at("error").as_string(), c.error) << c.target;
  }
}

TEST_F(QueryApiTest, MissingIsAnErrorAndNeverAnEmptyVector) {
  // Nothing of this metric was recorded before the question.
  for (const std::string query : {"unheard_of", "sum(max_over_time(unheard_of[2m]))"}) {
    const auto response = Get("/api/v1/query?query=" + query);
    EXPECT_EQ(response.status, 503) << response.body;
    EXPECT_NE(response.body.find(R"("errorType":"unavailable")"), std::string::npos);
  }
  envoys_.set_error({base::Code::kUnavailable, "the store is away"});
  for (const std::string query :
       {"query?query=inflight", "query_range?query=inflight&start=1&end=2&step=1"}) {
    const auto response = Get("/api/v1/" + query);
    EXPECT_EQ(response.status, 503) << query;
    EXPECT_EQ(response.body,
              R"({"status":"error","errorType":"unavailable","error":"the store is away"})");
  }
}

TEST_F(QueryApiTest, APartialWindowIsServedToWhoAsksForIt) {
  const std::string query = "query=sum(max_over_time(inflight[10m]))";
  EXPECT_EQ(Get("/api/v1/query?" + query).status, 503);
  const auto served = Get("/api/v1/query?partial_window=serve&" + query);
  EXPECT_EQ(served.status, 200);
  EXPECT_NE(served.body.find("\"6.5\""), std::string::npos);
  EXPECT_NE(served.body.find("\"warnings\""), std::string::npos);
  const auto range =
      Get("/api/v1/query_range?step=60&start=" + std::to_string(NowMs() / 1000 - 3600) +
          "&end=" + Now() + "&" + query);
  EXPECT_EQ(range.status, 200);
  EXPECT_NE(range.body.find("\"warnings\""), std::string::npos);
}

TEST_F(QueryApiTest, TakesFormsAndPrefixes) {
  const std::string want =
      R"({"status":"success","data":{"resultType":"scalar","result":[5,"3"]}})";
  for (const std::string prefix : {"", "/prometheus", "/mimir"}) {
    const auto response = api_.Answer(
        {.method = "POST",
         .target = prefix + "/api/v1/query?query=9&time=5",
         .headers = {{"content-type", "application/x-www-form-urlencoded; charset=utf-8"}},
         .body = "query=1%0A%2B+2"});
    EXPECT_EQ(response.body, want) << prefix;
  }
  EXPECT_EQ(Get("/other/api/v1/query?query=1").status, 404);
  EXPECT_EQ(Get("/prometheusapi/v1/query?query=1").status, 404);
  const auto refused = api_.Answer({.method = "DELETE", .target = "/api/v1/labels"});
  EXPECT_EQ(refused.status, 405);
}

TEST_F(QueryApiTest, ATimeoutShortensTheServersOwnAndNeverLengthensIt) {
  const std::string range = "&step=1&start=" + Now() + "&end=" + Now();
  for (const std::string& target :
       {std::string("query?query=sum(inflight)"), "query_range?query=1" + range}) {
    EXPECT_EQ(Get("/api/v1/" + target + "&timeout=1ms").status, 200) << target;
    for (const std::string none : {"0", "-5"}) {
      const auto response = Get("/api/v1/" + target + "&timeout=" + none);
      EXPECT_EQ(response.status, 503) << target;
      EXPECT_NE(response.body.find(R"("errorType":"timeout")"), std::string::npos);
    }
  }
  const struct {
    int own;  // seconds
    std::string target;
    int status;
  } cases[] = {
      {3, "", 200}, {3, "&timeout=1s", 503}, {3, "&timeout=2.5", 200}, {3, "&timeout=1h", 200},
      {1, "", 503}, {1, "&timeout=1h", 503}};
  for (const auto& c : cases) {
    SlowSource slow(series_, clock_);
    const signal::Evaluator evaluator({.timeout = seconds(c.own)}, slow, nullptr, clock_);
    QueryApi api({}, evaluator, series_, clock_, registry_);
    const std::string target =
        "/api/v1/query_range?query=inflight&step=1&start=" + Now() + "&end=" + Now() + c.target;
    EXPECT_EQ(api.Answer({.method = "GET", .target = target}).status, c.status) << c.target;
  }
}

TEST_F(QueryApiTest, TellsTypesAndHelpOfWhatIsMadeHereAndOfWhatSourcesTell) {
  const auto share = [this](uint64_t digest, const series::MetadataPage& page) {
    return series_.metadata().Share(digest, 1, [&page] { return page; });
  };
  const auto first = share(1, {"shop", {{"a", "gauge", "A \"b\".", "seconds"}, {"z", "counter"}}});
  const auto again = share(2, {"shop", {{"a", "gauge", "A \"b\".", "seconds"}}});
  const auto other = share(3, {"bank", {{"a", "counter", "Otherwise.", ""}}});
  const std::string own = R"("own":[{"type":"gauge","help":"Own.","unit":""}])";
  const std::string counter = R"({"type":"counter","help":"Otherwise.","unit":""})";
  const std::string gauge = R"({"type":"gauge","help":"A \"b\".","unit":"seconds"})";
  const std::string z = R"("z":[{"type":"counter","help":"","unit":""}])";
  const struct {
    std::string parameters;
    std::string ns;
    std::string want;
  } cases[] = {
      {"", "", R"("a":[)" + counter + "," + gauge + "]," + own + "," + z},
      {"?limit=2", "", R"("a":[)" + counter + "," + gauge + "]," + own},
      {"?limit=0", "", ""},
      {"?limit=-1&limit_per_metric=0&metric=z", "", z},
      {"?metric=a", "shop", R"("a":[)" + gauge + "]"},
      {"?metric=none", "", ""},
      {"", "shop", R"("a":[)" + gauge + "]," + own + "," + z},
      {"", "elsewhere", own},
  };
  for (const auto& c : cases) {
    const auto response =
        api_.Answer({.method = "GET", .target = "/api/v1/metadata" + c.parameters}, c.ns);
    EXPECT_EQ(response.body, R"({"status":"success","data":{)" + c.want + "}}") << c.parameters;
  }
  const std::string one = Body("/api/v1/metadata?metric=a&limit_per_metric=1");
  EXPECT_NE(one.find(counter) == std::string::npos, one.find(gauge) == std::string::npos) << one;
}

TEST_F(QueryApiTest, ACallerWithANamespaceSeesThatAloneWhateverItAsks) {
  (void)series_.Select(Selector("held"), NowMs(), NowMs());
  clock_.Advance(seconds(1));
  for (const std::string ns : {"bank", "shop"}) {
    series_.Append(metric::Labels({{"__name__", "held"}, {"namespace", ns}, {ns, "yes"}}),
                   {NowMs(), ns == "bank" ? 100.0 : 7.0});
  }
  const std::string none = R"("result":[]})";
  const std::string seven = R"("7"]]}]})";
  const std::string range = "&step=1&start=" + Now() + "&end=" + Now();
  const struct {
    std::string target;
    std::string want;
  } cases[] = {
      {"query?partial_window=serve&query=sum(held)", Now() + R"(,"7"]}]})"},
      {"query?partial_window=serve&query=held%7Bnamespace=%22bank%22%7D", none},
      {"query?partial_window=serve&query=held%20or%20held%7Bnamespace!=%22shop%22%7D",
       Now() + R"(,"7"]}]})"},
      {"query?partial_window=serve&query=max(sum_over_time(held%7Bnamespace=~%22.*%22%7D[5m:1s]))",
       Now() + R"(,"7"]}]})"},
      {"query_range?query=sum(held)" + range, seven},
      {"query_range?query=held%7Bnamespace=%22bank%22%7D" + range, none},
      {"series?match[]=held&match[]=%7Bbank=%22yes%22%7D",
       R"("data":[{"__name__":"held","namespace":"shop","shop":"yes"}]})"},
      {"labels", R"("data":["__name__","namespace","shop"]})"},
      {"labels?match[]=held%7Bnamespace=%22bank%22%7D", R"("data":[]})"},
      {"label/namespace/values", R"("data":["shop"]})"},
      {"label/__name__/values?match[]=%7B__name__=~%22.%2B%22%7D", R"("data":["held"]})"},
  };
  for (const auto& c : cases) {
    const auto response = api_.Answer({.method = "GET", .target = "/api/v1/" + c.target}, "shop");
    EXPECT_EQ(response.status, 200) << c.target << ": " << response.body;
    EXPECT_NE(response.body.find(c.want), std::string::npos) << c.target << ": " << response.body;
    EXPECT_EQ(response.body.find("bank"), std::string::npos) << response.body;
  }
}

TEST_F(QueryApiTest, LookingAroundTakesOutNoLease) {
  const size_t before = series_.stats().leases;
  (void)Get("/api/v1/series?match[]=a&match[]=b");
  (void)Get("/api/v1/labels");
  EXPECT_EQ(series_.stats().leases, before);
  (void)Get("/api/v1/query?query=a");
  EXPECT_EQ(series_.stats().leases, before + 1);
}

TEST(ParametersTest, ReadsTimesAndLengths) {
  const struct {
    std::string text;
    std::optional<int64_t> want;
  } times[] = {{"0", 0},
               {"1435781430.7815", 1435781430782},
               {"-1.5", -1500},
               {"1e3", 1'000'000},
               {"2015-07-01T20:10:30.781Z", 1435781430781},
               {"2015-07-01T22:10:30.781999+02:00", 1435781430781},
               {"2015-07-01 20:10:30Z", std::nullopt},
               {"2015-07-01T20:10:30", std::nullopt},
               {"2015-07-01T20:10:30.Z", std::nullopt},
               {"2015-07-01T24:10:30Z", std::nullopt},
               {"NaN", std::nullopt},
               {"1e40", std::nullopt},
               {"", std::nullopt},
               {"-", std::nullopt}};
  for (const auto& c : times) EXPECT_EQ(ParseTimeMs(c.text), c.want) << c.text;
  EXPECT_EQ(ParseLengthMs("1m30s"), 90'000);
  EXPECT_EQ(ParseLengthMs("0.25"), 250);
  EXPECT_EQ(ParseLengthMs("fortnight"), std::nullopt);
}

}  // namespace
}  // namespace activescale::queryapi
