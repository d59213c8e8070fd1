#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
}

namespace activescale::app {

/// A flag or an argument of a command, as help, man page and shell completion tell it.
struct Flag {
  std::string name;                  // "--ttl"; of an argument what stands for it: "EXPR"
  std::string letter;                // "-n"; empty: none
  std::string kind;                  // of its value: "DURATION", "FILE"; empty: it takes none
  std::vector<std::string> choices;  // all values that there are; empty: any of the kind
  std::string initial;               // the default; empty: none
  std::string variable;              // of the environment, that gives it too; empty: none
  std::string help;
  std::string group;  // heading in the help

  /// Not a flag but a word of its own.
  [[nodiscard]] bool is_argument() const { return !name.starts_with('-'); }
  /// What is to be given: the choices, else the kind.
  [[nodiscard]] std::string ValueText() const;
};

/// How a command is called.
struct Usage {
  std::string name;     // "doctor"
  std::string summary;  // a line of the list of commands; empty: it is not in the list
  std::string about;    // sentences at the head of its help
  std::vector<Flag> flags;

  /// "activescale query [FLAGS] EXPR".
  [[nodiscard]] std::string Line() const;
  /// The groups of its flags and arguments, each once, in the order of the flags.
  [[nodiscard]] std::vector<std::string> Groups() const;
};

/// The usage that a command's parser has, without its summary.
[[nodiscard]] Usage UsageOf(const CLI::App& app);

/// The text of `activescale COMMAND --help`: flags by group with value, variable and default, then
/// how each kind of value is written.
[[nodiscard]] std::string HelpText(const Usage& usage);

/// How values of that kind are written: "300ms, 20s, 1m30s"; "" where that needs no words.
[[nodiscard]] std::string_view KindText(std::string_view kind);

/// `text` in lines of at most `width` bytes, broken between words.
[[nodiscard]] std::vector<std::string> WrapWords(std::string_view text, size_t width);

/// The parts of `list` between separators: "a|b"; none of an empty one.
[[nodiscard]] std::vector<std::string> SplitAt(std::string_view list, char separator);

}  // namespace activescale::app
