#include "trainer/flag_set.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace slipway {
namespace {

// `--name=value` in its parts.
struct Argument {
  std::string name;
  std::optional<std::string> value;
};

// Nullopt for a positional argument.
std::optional<Argument> ParseArgument(const std::string& text) {
  if (text.size() < 2 || text[0] != '-') return std::nullopt;
  const size_t start = text[1] == '-' ? 2 : 1;
  const size_t equal = text.find('=', start);
  Argument argument;
  argument.name = text.substr(start, equal - start);
  if (equal != std::string::npos) argument.value = text.substr(equal + 1);
  return argument;
}

}  // namespace

class FlagSet::Parser {
 public:
  Parser(const FlagSet& flags, const std::vector<std::string>& arguments,
         Problems& problems)
      : flags_(flags), arguments_(arguments), problems_(problems) {}

  std::vector<std::string> Run() {
    for (; next_ < arguments_.size(); ++next_) {
      if (arguments_[next_] == "--") {
        positional_.insert(positional_.end(), arguments_.begin() + next_ + 1,
                           arguments_.end());
        break;
      }
      One(arguments_[next_]);
    }
    return std::move(positional_);
  }

 private:
  void One(const std::string& text) {
    const std::optional<Argument> argument = ParseArgument(text);
    if (!argument) {
      positional_.push_back(text);
      return;
    }
    const Flag* flag = flags_.Find(argument->name);
    if (flag != nullptr) {
      flag->on != nullptr ? SetSwitch(*flag, *argument, true)
                          : SetText(*flag, *argument);
      return;
    }
    const bool negated = absl::StartsWith(argument->name, "no");
    flag = negated ? flags_.Find(argument->name.substr(2)) : nullptr;
    if (flag != nullptr && flag->on != nullptr && !argument->value) {
      SetSwitch(*flag, *argument, false);
      return;
    }
    Fail(absl::StrCat("no flag \"--", argument->name, "\""),
         DidYouMean(argument->name, flags_.Names()));
  }

  void SetSwitch(const Flag& flag, const Argument& argument, bool on) {
    const std::string value = argument.value.value_or("true");
    if (value == "true" || value == "1") {
      *flag.on = on;
    } else if (value == "false" || value == "0") {
      *flag.on = !on;
    } else {
      Fail(absl::StrCat("--", flag.name, " is on or off, not \"", value, "\""),
           absl::StrCat("write --", flag.name, " or --no", flag.name));
    }
  }

  void SetText(const Flag& flag, const Argument& argument) {
    std::optional<std::string> value = argument.value;
    if (!value && next_ + 1 < arguments_.size()) value = arguments_[++next_];
    if (!value) {
      Fail(absl::StrCat("--", flag.name, " has no value"),
           absl::StrCat("write --", flag.name, "=", flag.form));
      return;
    }
    const bool fits = flag.choices.empty() ||
                      std::find(flag.choices.begin(), flag.choices.end(),
                                *value) != flag.choices.end();
    if (fits) {
      *flag.text = *value;
      return;
    }
    Fail(absl::StrCat("--", flag.name, " cannot be \"", *value, "\""),
         absl::StrCat("it is one of ", absl::StrJoin(flag.choices, ", ")));
  }

  void Fail(std::string message, std::string hint) {
    Problem problem;
    problem.kind = "value";
    problem.message = std::move(message);
    problem.where = {{"command line", 0, static_cast<int>(next_) + 1}};
    problem.hint = std::move(hint);
    problems_.push_back(std::move(problem));
  }

  const FlagSet& flags_;
  const std::vector<std::string>& arguments_;
  Problems& problems_;
  size_t next_ = 0;
  std::vector<std::string> positional_;
};

void FlagSet::Text(std::string name, std::string form, std::string help,
                   std::string* value, std::vector<std::string> choices) {
  Flag& flag = flags_.emplace_back();
  flag.name = std::move(name);
  flag.form = std::move(form);
  flag.help = std::move(help);
  flag.text = value;
  flag.choices = std::move(choices);
}

void FlagSet::Switch(std::string name, std::string help, bool* value) {
  Flag& flag = flags_.emplace_back();
  flag.name = std::move(name);
  flag.help = std::move(help);
  flag.on = value;
}

std::vector<std::string> FlagSet::Parse(
    const std::vector<std::string>& arguments, Problems& problems) const {
  return Parser(*this, arguments, problems).Run();
}

std::string FlagSet::Help() const {
  std::string text;
  for (const Flag& flag : flags_) {
    const std::string left =
        flag.form.empty() ? flag.name : absl::StrCat(flag.name, "=", flag.form);
    absl::StrAppend(&text, absl::StrFormat("  --%-28s %s\n", left, flag.help));
  }
  return text;
}

const FlagSet::Flag* FlagSet::Find(std::string_view name) const {
  for (const Flag& flag : flags_) {
    if (flag.name == name) return &flag;
  }
  return nullptr;
}

std::vector<std::string> FlagSet::Names() const {
  std::vector<std::string> names;
  for (const Flag& flag : flags_) names.push_back(flag.name);
  return names;
}

void RefuseArgument(std::string message, std::string hint, Problems& problems) {
  Problem problem;
  problem.kind = "value";
  problem.message = std::move(message);
  problem.hint = std::move(hint);
  problems.push_back(std::move(problem));
}

}  // namespace slipway
