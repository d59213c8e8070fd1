#include "queryapi/answer.h"

#include <gtest/gtest.h>

namespace activescale::queryapi {
namespace {

TEST(AnswerTest, IsATable) {
  const auto vector = ReadAnswer(
      R"({"status":"success","data":{"resultType":"vector","result":[)"
      R"({"metric":{"__name__":"up","job":"a\"b"},"value":[1.5,"1"]},{"metric":{},"value":[1.5,"NaN"]}]}})");
  ASSERT_TRUE(vector) << vector.error().message;
  EXPECT_EQ(AnswerTable(*vector, 10),
            "series                 value\n"
            "up{job=\"a\\\"b\"}             1\n"
            "{}                       NaN\n");
  EXPECT_EQ(AnswerCsv(*vector),
            "series,time,value\n\"up{job=\"\"a\\\"\"b\"\"}\",1.500,1\n\"{}\",1.500,NaN\n");
  const auto scalar =
      ReadAnswer(R"({"status":"success","data":{"resultType":"scalar","result":[1,"2"]}})");
  ASSERT_TRUE(scalar);
  EXPECT_EQ(AnswerTable(*scalar, 10), "series         value\n                   2\n");
  const auto nothing =
      ReadAnswer(R"({"status":"success","data":{"resultType":"vector","result":[]}})");
  EXPECT_EQ(AnswerTable(*nothing, 10), "series         value\n(no series)\n");
}

TEST(AnswerTest, PlotsARange) {
  const auto matrix =
      ReadAnswer(R"({"status":"success","warnings":["w"],"data":{"resultType":"matrix","result":[)"
                 R"({"metric":{"a":"b"},"values":[[1,"0"],[2,"4"],[3,"8"],[4,"-1"]]}]}})");
  ASSERT_TRUE(matrix);
  EXPECT_EQ(matrix->warnings, std::vector<std::string>{"w"});
  EXPECT_EQ(AnswerTable(*matrix, 2),
            "series           last        least         most\n"
            "{a=\"b\"}            -1           -1            8  ▄█\n");
}

TEST(AnswerTest, AnErrorOfTheServerIsTold) {
  const auto refused = ReadAnswer(R"({"status":"error","errorType":"bad_data","error":"no"})");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "no (bad_data)");
  for (const char* const body :
       {"", "404 page not found", "{}", R"({"data":{"result":[1]}})", R"({"data":{"result":{}}})",
        R"({"data":{"resultType":"scalar","result":["a"]}})",
        R"({"data":{"result":[{"metric":{},"values":[[1]]}]}})"}) {
    EXPECT_FALSE(ReadAnswer(body)) << body;
  }
}

}  // namespace
}  // namespace activescale::queryapi
