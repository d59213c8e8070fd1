#include "kube/object_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include <boost/json/serialize.hpp>

namespace activescale::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Form = ObjectStream::Form;

struct Read {
  std::vector<std::string> objects;
  std::string error;
  std::string rest;
};

/// Feeds `text` in pieces of `size`, each in a block of its own length.
Read ReadAll(Form form, const FieldMask& mask, std::string_view text, size_t size) {
  Read read;
  ObjectStream stream(form, mask, 2000, [&](const boost::json::object& object) {
    read.objects.push_back(boost::json::serialize(object));
  });
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, size);
    const auto block = std::make_unique<char[]>(piece.size());
    piece.copy(block.get(), piece.size());
    if (auto fed = stream.Feed({block.get(), piece.size()}); !fed) {
      read.error = fed.error().message;
      return read;
    }
    text.remove_prefix(piece.size());
  }
  if (auto rest = stream.Finish(); rest) {
    read.rest = boost::json::serialize(*rest);
  } else {
    read.error = rest.error().message;
  }
  return read;
}

const FieldMask kMask{"metadata.name", "metadata.labels", "status.conditions.type"};

constexpr size_t kPieces[] = {1, 2, 3, 4, 5, 6, 7, 8, 16, 31, 100'000};

TEST(ObjectStreamTest, GivesOutTheItemsOfAListReducedToTheMask) {
  constexpr std::string_view kList = R"({"kind":"PodList","apiVersion":"v1",
    "metadata":{"resourceVersion":"42","continue":"next","x":[1,{"y":2}]},
    "items":[
      {"metadata":{"name":"a\n\"b","uid":"u","labels":{"app":"web","n":"1"},
                   "managedFields":[{"f:metadata":{"name":"no"}},[],3.5e2,null,true]},
       "spec":{"containers":[{"name":"c"}]},
       "status":{"conditions":[{"type":"Ready","status":"True"},{"status":"x"},7],"phase":"Running"}},
      {"metadata":{"name":"c"}},
      {}
    ]})";
  for (const size_t size : kPieces) {
    const Read read = ReadAll(Form::kList, kMask, kList, size);
    EXPECT_EQ(read.error, "") << size;
    EXPECT_THAT(read.objects,
                ElementsAre(R"({"metadata":{"name":"a\n\"b","labels":{"app":"web","n":"1"}},)"
                            R"("status":{"conditions":[{"type":"Ready"},{},7]}})",
                            R"({"metadata":{"name":"c"}})", "{}"))
        << size;
    EXPECT_EQ(read.rest,
              R"({"kind":"PodList","metadata":{"resourceVersion":"42","continue":"next"}})");
  }
}

TEST(ObjectStreamTest, AnEmptyListHasNoItems) {
  for (const std::string_view items : {"null", "[]", "{\"a\":[1]}", "\"text\"", "12"}) {
    const std::string list =
        R"({"items":)" + std::string(items) + R"(,"metadata":{"resourceVersion":"7"}})";
    for (const size_t size : kPieces) {
      const Read read = ReadAll(Form::kList, kMask, list, size);
      EXPECT_EQ(read.error, "") << list;
      EXPECT_THAT(read.objects, ElementsAre()) << list;
      EXPECT_EQ(read.rest, R"({"metadata":{"resourceVersion":"7"}})") << list;
    }
  }
}

TEST(ObjectStreamTest, GivesOutEachEventOfAWatchWhenItIsComplete) {
  constexpr std::string_view kEvents =
      R"({"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"a","resourceVersion":"1"},"spec":{}}})"
      "\n"
      R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}})"
      "\r\n\n"
      R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"m"}})"
      "\n";
  for (const size_t size : kPieces) {
    const Read read = ReadAll(Form::kWatch, kMask, kEvents, size);
    EXPECT_EQ(read.error, "") << size;
    EXPECT_THAT(
        read.objects,
        ElementsAre(
            R"({"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"a","resourceVersion":"1"}}})",
            R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}})",
            R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"m"}})"));
  }
  int events = 0;
  ObjectStream stream(Form::kWatch, kMask, 2000, [&](const boost::json::object&) { ++events; });
  ASSERT_TRUE(stream.Feed(R"({"type":"ADDED","object":{}})"));
  EXPECT_EQ(events, 1) << "an event must not wait for the next one";
}

TEST(ObjectStreamTest, RefusesWhatIsNotKubernetesJson) {
  struct Case {
    std::string name;
    Form form;
    std::string text;
    std::string error;
  };
  const Case cases[] = {
      {"garbage in a watch", Form::kWatch, R"({"type":"ADDED","object":{}} <html>)", "syntax"},
      {"cut in an event", Form::kWatch, R"({"type":"ADDED","obj)", "within an object"},
      {"cut in a list", Form::kList, R"({"items":[{"metadata":{)", "before the list does"},
      {"nothing", Form::kList, "", "before the list does"},
      {"two lists", Form::kList, R"({"items":[]} {})", "after the end"},
      {"not UTF-8", Form::kList, "{\"items\":[{\"metadata\":{\"name\":\"\xff\"}}]}", "syntax"},
      {"too deep", Form::kWatch, std::string(200, '['), "too deep"},
      {"too large an object", Form::kWatch, R"({"type":")" + std::string(3000, 'x'),
       "larger than 2000 bytes"},
      {"too large a skipped part", Form::kList, R"({"items":[{"spec":")" + std::string(3000, 'x'),
       "larger than 2000 bytes"},
  };
  for (const Case& c : cases) {
    for (const size_t size : {1UL, 7UL, 1000UL}) {
      const Read read = ReadAll(c.form, kMask, c.text, size);
      EXPECT_THAT(read.error, HasSubstr(c.error)) << c.name << " in pieces of " << size;
    }
  }
}

TEST(ObjectStreamTest, TheLimitIsPerObject) {
  std::string list = R"({"items":[)";
  for (int i = 0; i < 20; ++i) list += R"({"spec":")" + std::string(1500, 'x') + "\"},";
  list += "{}]}";
  EXPECT_EQ(ReadAll(Form::kList, kMask, list, 500).error, "");
}

}  // namespace
}  // namespace activescale::kube
