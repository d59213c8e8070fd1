#include "app/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string_view>

namespace activescale::app {
namespace {

constexpr std::string_view kDefaultCommand = "serve";

/// What a shell can do about a value.
enum class Completes : uint8_t { kNoValue, kWords, kFile, kFolder, kNothing };

Completes CompletesWith(const Flag& flag) {
  if (!flag.choices.empty()) return Completes::kWords;
  if (flag.kind.empty()) return Completes::kNoValue;
  if (flag.kind == "FILE") return Completes::kFile;
  return flag.kind == "FOLDER" ? Completes::kFolder : Completes::kNothing;
}

std::vector<Usage> Listed(const std::vector<Usage>& commands) {
  std::vector<Usage> out;
  std::ranges::copy_if(commands, std::back_inserter(out),
                       [](const Usage& usage) { return !usage.summary.empty(); });
  return out;
}

std::vector<std::string> NamesOf(const std::vector<Usage>& commands) {
  std::vector<std::string> out;
  for (const Usage& usage : commands) out.push_back(usage.name);
  return out;
}

/// The letter and the name of each flag, not of arguments.
std::vector<std::string> FlagNames(const Usage& usage) {
  std::vector<std::string> out;
  for (const Flag& flag : usage.flags) {
    if (flag.is_argument()) continue;
    if (!flag.letter.empty()) out.push_back(flag.letter);
    out.push_back(flag.name);
  }
  return out;
}

/// What may stand in the place of the command's first argument.
std::vector<std::string> ArgumentWords(const Usage& usage) {
  const auto argument = std::ranges::find_if(usage.flags, &Flag::is_argument);
  return argument == usage.flags.end() ? std::vector<std::string>() : argument->choices;
}

/// A help is sentences; a list of completions has room for one.
std::string_view FirstSentence(std::string_view help) {
  help = help.substr(0, help.find(". "));
  if (help.ends_with('.')) help.remove_suffix(1);
  return help;
}

/// `text` with a backslash before each of `special`.
std::string Escaped(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

constexpr std::string_view kBashHead =
    R"(# Completion of activescale for bash: source <(activescale completion bash)
_activescale() {
  local current=${COMP_WORDS[COMP_CWORD]} flag=${COMP_WORDS[COMP_CWORD - 1]}
  local command=serve words='' files='' reply
  COMPREPLY=()
  # Readline takes --flag=value for three words.
  if [[ $current == '=' ]]; then
    current=''
  elif [[ $flag == '=' ]]; then
    flag=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  if ((COMP_CWORD > 1)) && [[ ${COMP_WORDS[1]} != -* ]]; then command=${COMP_WORDS[1]}; fi
  case "$command $flag" in
)";

constexpr std::string_view kBashTail = R"(  esac
  while IFS= read -r reply; do COMPREPLY+=("$reply"); done < <(
    if [[ -n $files ]]; then compgen "$files" -- "$current"; else compgen -W "$words" -- "$current"; fi
  )
  # Not there in bash 3.
  if [[ -n $files ]]; then compopt -o filenames 2>/dev/null || true; fi
}
complete -F _activescale activescale
)";

/// The cases of a flag whose value is being completed, those with the same answer together.
std::string BashValues(const std::vector<Usage>& commands) {
  std::map<std::string, std::vector<std::string>> flags_by_answer;
  const auto add = [&](const Usage& usage, const std::string& name, const Flag& flag) {
    const Completes how = CompletesWith(flag);
    if (how == Completes::kNoValue) return;
    const std::string answer = how == Completes::kWords
                                   ? fmt::format("words='{}'", fmt::join(flag.choices, " "))
                               : how == Completes::kFile   ? "files=-f"
                               : how == Completes::kFolder ? "files=-d"
                                                           : "return";
    flags_by_answer[answer].push_back(fmt::format("'{} {}'", usage.name, name));
  };
  for (const Usage& usage : commands) {
    for (const Flag& flag : usage.flags) {
      if (flag.is_argument()) continue;
      add(usage, flag.name, flag);
      if (!flag.letter.empty()) add(usage, flag.letter, flag);
    }
  }
  std::string text;
  for (const auto& [answer, flags] : flags_by_answer) {
    text += fmt::format("    {}) {} ;;\n", fmt::join(flags, " | \\\n      "), answer);
  }
  return text;
}

std::string ZshText(std::string_view text) {
  std::string out;
  for (const char c : Escaped(text, "\\[]:$`")) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out;
}

/// The action of _arguments for a value.
std::string ZshAction(const Flag& flag) {
  switch (CompletesWith(flag)) {
    case Completes::kWords:
      return fmt::format("({})", fmt::join(flag.choices, " "));
    case Completes::kFile:
      return "_files";
    case Completes::kFolder:
      return "_files -/";
    case Completes::kNoValue:
    case Completes::kNothing:
      break;
  }
  return {};
}

std::string ZshSpec(const Flag& flag) {
  const std::string value = fmt::format(":{}:{}", ZshText(flag.kind), ZshAction(flag));
  if (flag.is_argument()) return fmt::format("'{}'", value);
  const bool takes_value = !flag.kind.empty();
  const std::string rest =
      fmt::format("[{}]{}", ZshText(FirstSentence(flag.help)), takes_value ? value : std::string());
  const std::string name = flag.name + (takes_value ? "=" : "");
  if (!flag.letter.empty()) {
    return fmt::format("'({0} {1})'{{{0},{2}}}'{3}'", flag.letter, flag.name, name, rest);
  }
  return fmt::format("'{}{}{}'", flag.kind == "LIST" ? "*" : "", name, rest);
}

std::string FishText(std::string_view text) { return fmt::format("'{}'", Escaped(text, "\\'")); }

std::string FishFlag(const std::string& condition, const Flag& flag) {
  std::string text = fmt::format("complete -c activescale -n {}", condition);
  if (flag.is_argument()) {
    if (flag.choices.empty()) return {};
    return text + fmt::format(" -a '{}'\n", fmt::join(flag.choices, " "));
  }
  text += fmt::format(" -l {}", flag.name.substr(2));
  if (!flag.letter.empty()) text += fmt::format(" -s {}", flag.letter.substr(1));
  switch (CompletesWith(flag)) {
    case Completes::kWords:
      text += fmt::format(" -x -a '{}'", fmt::join(flag.choices, " "));
      break;
    case Completes::kFile:
      text += " -r -F";
      break;
    case Completes::kFolder:
      text += " -x -a '(__fish_complete_directories)'";
      break;
    case Completes::kNothing:
      text += " -x";
      break;
    case Completes::kNoValue:
      break;
  }
  return text + fmt::format(" -d {}\n", FishText(FirstSentence(flag.help)));
}

}  // namespace

std::string BashCompletion(const std::vector<Usage>& commands) {
  const std::vector<Usage> listed = Listed(commands);
  const auto words_case = [](const Usage& usage, const std::vector<std::string>& words) {
    if (words.empty()) return std::string();
    return fmt::format("          {}) words='{}' ;;\n", usage.name, fmt::join(words, " "));
  };
  std::string flags;
  std::string arguments;
  for (const Usage& usage : listed) {
    flags += words_case(usage, FlagNames(usage));
    arguments += words_case(usage, ArgumentWords(usage));
  }
  return fmt::format(
      "{}{}"
      "    *)\n"
      "      if [[ $current == -* ]]; then\n"
      "        case $command in\n"
      "{}"
      "        esac\n"
      "      elif ((COMP_CWORD == 1)); then\n"
      "        words='{}'\n"
      "      else\n"
      "        case $command in\n"
      "{}"
      "        esac\n"
      "      fi\n"
      "      ;;\n"
      "{}",
      kBashHead, BashValues(listed), flags, fmt::join(NamesOf(listed), " "), arguments, kBashTail);
}

std::string ZshCompletion(const std::vector<Usage>& commands) {
  const std::vector<Usage> listed = Listed(commands);
  std::string text =
      "#compdef activescale\n"
      "# Completion of activescale for zsh: source <(activescale completion zsh), or this text as\n"
      "# _activescale in a folder of $fpath.\n"
      "_activescale() {\n"
      "  local command=serve\n"
      "  local -a commands=(\n";
  for (const Usage& usage : listed) {
    text += fmt::format("    '{}:{}'\n", usage.name, ZshText(usage.summary));
  }
  text +=
      "  )\n"
      "  if [[ $words[2] != -* ]]; then\n"
      "    if ((CURRENT == 2)); then\n"
      "      _describe command commands\n"
      "      return\n"
      "    fi\n"
      "    command=$words[2]\n"
      "    shift words\n"
      "    ((CURRENT--))\n"
      "  fi\n"
      "  case $command in\n";
  for (const Usage& usage : listed) {
    if (usage.flags.empty()) continue;
    std::vector<std::string> specs;
    for (const Flag& flag : usage.flags) specs.push_back(ZshSpec(flag));
    text += fmt::format("    {})\n      _arguments \\\n        {}\n      ;;\n", usage.name,
                        fmt::join(specs, " \\\n        "));
  }
  return text +
         "  esac\n"
         "}\n"
         // Sourced, it is to be named; found in $fpath, it is to run.
         "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n"
         "  _activescale \"$@\"\n"
         "else\n"
         "  compdef _activescale activescale\n"
         "fi\n";
}

std::string FishCompletion(const std::vector<Usage>& commands) {
  const std::vector<Usage> listed = Listed(commands);
  std::string text =
      "# Completion of activescale for fish: activescale completion fish | source\n"
      "complete -c activescale -f\n";
  std::vector<std::string> others;
  for (const Usage& usage : listed) {
    text += fmt::format("complete -c activescale -n __fish_use_subcommand -a {} -d {}\n",
                        usage.name, FishText(usage.summary));
    if (usage.name != kDefaultCommand) others.push_back(usage.name);
  }
  for (const Usage& usage : listed) {
    // Flags before any command are those of serve.
    const std::string condition =
        usage.name == kDefaultCommand
            ? fmt::format("'not __fish_seen_subcommand_from {}'", fmt::join(others, " "))
            : fmt::format("'__fish_seen_subcommand_from {}'", usage.name);
    for (const Flag& flag : usage.flags) text += FishFlag(condition, flag);
  }
  return text;
}

}  // namespace activescale::app
