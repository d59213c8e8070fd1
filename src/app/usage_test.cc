#include "app/usage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include <CLI/CLI.hpp>

#include "app/completion.h"
#include "app/man_page.h"

namespace activescale::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct Values {
  std::string expression, output = "text", file, folder, wait = "5s";
  double share = 0.5;
  bool plot = false;
};

void AddFlags(CLI::App& app, Values& v) {
  app.name("show");
  app.description("Shows what it's told.");
  app.add_option("expression", v.expression, "what to show")->type_name("EXPR")->required();
  app.add_option("-o,--output", v.output, "how")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app.add_option("--file", v.file, "where from. Empty: from nowhere.")->type_name("FILE");
  app.add_option("--folder", v.folder, "where to [or not]")->type_name("FOLDER")->group("Places");
  app.add_option("--wait", v.wait, "how long, ±10 %")->type_name("DURATION")->capture_default_str();
  app.add_option("--share", v.share, "of it")->check(CLI::Range(0.0, 1.0));
  app.add_flag("--plot", v.plot, "draw it");
}

Usage Show() {
  CLI::App app;
  Values values;
  AddFlags(app, values);
  Usage usage = UsageOf(app);
  usage.summary = "show it";
  return usage;
}

const Flag& Find(const Usage& usage, std::string_view name) {
  return *std::ranges::find(usage.flags, name, &Flag::name);
}

TEST(UsageTest, AParserTellsItsFlags) {
  const Usage usage = Show();
  EXPECT_EQ(usage.Line(), "activescale show [FLAGS] EXPR");
  EXPECT_THAT(usage.Groups(), ElementsAre("Arguments", "Options", "Places"));
  const Flag& output = Find(usage, "--output");
  EXPECT_EQ(output.letter, "-o");
  EXPECT_THAT(output.choices, ElementsAre("text", "json"));
  EXPECT_EQ(output.ValueText(), "text|json");
  EXPECT_EQ(output.initial, "text");
  EXPECT_EQ(Find(usage, "--share").kind, "NUMBER");
  EXPECT_EQ(Find(usage, "--wait").kind, "DURATION");
  EXPECT_EQ(Find(usage, "--plot").kind, "") << "it takes no value";
  EXPECT_TRUE(Find(usage, "EXPR").is_argument());
  EXPECT_EQ(usage.flags.back().name, "--help");
}

TEST(UsageTest, HelpIsGroupedAndTellsHowValuesAreWritten) {
  const std::string help = HelpText(Show());
  EXPECT_THAT(help, HasSubstr("Shows what it's told.\n\nusage: activescale show [FLAGS] EXPR\n"));
  EXPECT_THAT(help, HasSubstr("\nOptions:\n  -o, --output text|json      how [default text]\n"));
  EXPECT_THAT(help, HasSubstr("\nPlaces:\n  --folder FOLDER             where to [or not]\n"));
  EXPECT_THAT(help, HasSubstr("\nValues:\n"));
  EXPECT_THAT(help, HasSubstr("  DURATION                    300ms, 20s"));
  EXPECT_THAT(help, Not(HasSubstr("BYTES"))) << "no flag takes any";
}

TEST(UsageTest, WordsAreNeverBroken) {
  EXPECT_THAT(WrapWords("", 5), IsEmpty());
  EXPECT_THAT(WrapWords("abc de", 6), ElementsAre("abc de"));
  EXPECT_THAT(WrapWords("abc de fgh", 6), ElementsAre("abc de", "fgh"));
  EXPECT_THAT(WrapWords("abcdefgh ij", 4), ElementsAre("abcdefgh", "ij"));
}

TEST(UsageTest, ManPageIsAsciiAndItsTextStandsForItself) {
  Usage usage = Show();
  usage.about = ".so /etc/passwd";
  usage.flags[0].help = "'a\\b";
  const std::string page = ManPage({usage}, "1.2.3");
  EXPECT_TRUE(
      std::ranges::all_of(page, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
  EXPECT_THAT(page, HasSubstr("\n\\&.so /etc/passwd\n"));
  EXPECT_THAT(page, HasSubstr("\n\\&\\(aqa\\eb\n"));
  EXPECT_THAT(page, HasSubstr("how long, \\[u00B1]10 %\n"));
  EXPECT_THAT(page, HasSubstr(".TP\n\\fB\\-o\\fR, \\fB\\-\\-output\\fR=\\fItext|json\\fR\nhow\n"));
  EXPECT_THAT(page, HasSubstr("\"activescale 1.2.3\""));
}

TEST(UsageTest, CompletionsQuoteWhatTheShellWouldRead) {
  Usage usage = Show();
  usage.flags[1].help = "it's [a] `b` $c: d";
  EXPECT_THAT(ZshCompletion({usage}), HasSubstr("[it'\\''s \\[a\\] \\`b\\` \\$c\\: d]"));
  EXPECT_THAT(FishCompletion({usage}), HasSubstr("-d 'it\\'s [a] `b` $c: d'\n"));
  usage.summary.clear();
  EXPECT_THAT(BashCompletion({usage}), Not(HasSubstr("show"))) << "what is not in the list";
}

}  // namespace
}  // namespace activescale::app
