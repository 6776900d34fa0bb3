#include "launcher/ray_driver/nodes.h"

#include <ray/api.h>

#include <fstream>
#include <memory>
#include <sstream>

namespace slipway {
namespace {

// A first task starts a Python worker, in two seconds on a quiet machine.
constexpr int kMilliseconds = 60000;
constexpr int kLastMilliseconds = 3000;
constexpr int kTurnMilliseconds = 1000;

// Sets `answer`. What is between @s is filled in, in base 64.
constexpr char kScript[] = R"python(
import base64, hashlib, os, ray
folder, library, program, wanted = [
    base64.b64decode(text) for text in ('@0@', '@1@', '@2@', '@3@')]
cpp = os.path.join(os.path.dirname(ray.__file__), 'cpp', 'default_worker')
if not os.path.exists(cpp):
    answer = 'error: no ray-cpp beside ' + os.path.dirname(ray.__file__)
else:
    if folder:
        os.makedirs(folder, 0o700, exist_ok=True)
        path = os.path.join(folder, b'libagent_actor.so')
        with open(path + b'.new', 'wb') as file:
            file.write(library)
        os.rename(path + b'.new', path)
    try:
        with open(program, 'rb') as file:
            found = hashlib.sha256(file.read()).hexdigest().encode()
    except OSError:
        found = b''
    answer = 'same' if found == wanted else 'differs'
)python";

std::string Base64(const std::string& bytes) {
  static const char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t group = 0;
    for (size_t i = 0; i < 3; ++i) {
      const auto byte = at + i < bytes.size()
                            ? static_cast<unsigned char>(bytes[at + i])
                            : 0U;
      group = group << 8 | byte;
    }
    for (size_t i = 0; i < 4; ++i) {
      const bool filled = at + i <= bytes.size();
      text += filled ? kDigits[group >> (18 - 6 * i) & 63] : '=';
    }
  }
  return text;
}

std::string Content(const std::string& path) {
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

void Replace(std::string& text, const std::string& what,
             const std::string& with) {
  text.replace(text.find(what), what.size(), with);
}

// An expression that runs a script and has the value of its `answer`, since a
// function of Python's own library is all that can be called by name:
// builtins.eval.
std::string Expression(const std::string& script) {
  return "(lambda g: (exec(__import__('base64').b64decode('" + Base64(script) +
         "').decode(), g), g['answer'])[1])({})";
}

std::string CheckScript(const NodeCheck& check) {
  std::string script = kScript;
  Replace(script, "@0@", Base64(check.folder));
  Replace(script, "@1@",
          check.folder.empty() ? "" : Base64(Content(check.library)));
  Replace(script, "@2@", Base64(check.program));
  Replace(script, "@3@", Base64(check.program_sha256));
  return script;
}

constexpr char kRemoval[] = R"python(
import base64, shutil
shutil.rmtree(base64.b64decode('@0@'), ignore_errors=True)
answer = ''
)python";

// Its value, or nothing once the node is not alive.
std::shared_ptr<std::string> Await(const ray::ObjectRef<std::string>& answer,
                                   int milliseconds,
                                   const std::function<bool()>& is_alive) {
  for (int waited = 0;; waited += kTurnMilliseconds) {
    try {
      return ray::Get(answer, kTurnMilliseconds);
    } catch (const ray::internal::RayTimeoutException&) {
      if (waited >= milliseconds) throw;
      if (!is_alive()) return nullptr;
    }
  }
}

// Runs a script on every node; its answers by address.
std::map<std::string, std::string> RunOn(const std::vector<ClusterNode>& nodes,
                                         const std::string& script,
                                         int milliseconds,
                                         const IsAlive& is_alive) {
  using Answer = const ray::ObjectRef<std::string>;
  const std::string expression = Expression(script);
  std::map<std::string, std::unique_ptr<Answer>> asked;
  for (const ClusterNode& node : nodes) {
    if (asked.count(node.address) > 0) continue;
    // Every node has a resource of this name.
    Answer answer = ray::Task(ray::PyFunction<std::string>{"builtins", "eval"})
                        .SetResource("node:" + node.address, 0.001)
                        .Remote(std::string(expression));
    asked[node.address] = std::make_unique<Answer>(answer);
  }
  std::map<std::string, std::string> answers;
  for (const auto& one : asked) {
    const std::shared_ptr<std::string> answer =
        Await(*one.second, milliseconds, [&] { return is_alive(one.first); });
    if (answer != nullptr) answers[one.first] = *answer;
  }
  return answers;
}

}  // namespace

std::map<std::string, std::string> CheckNodes(
    const std::vector<ClusterNode>& nodes, const NodeCheck& check,
    const IsAlive& is_alive) {
  return RunOn(nodes, CheckScript(check), kMilliseconds, is_alive);
}

void RemoveFolder(const std::vector<ClusterNode>& nodes,
                  const std::string& folder) {
  std::string script = kRemoval;
  Replace(script, "@0@", Base64(folder));
  try {
    RunOn(nodes, script, kLastMilliseconds,
          [](const std::string&) { return true; });
  } catch (const std::exception&) {
    // A node that is gone has nothing to remove, or nobody to do it.
  }
}

}  // namespace slipway
