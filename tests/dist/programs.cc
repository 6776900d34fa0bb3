#include "tests/dist/programs.h"

#include <utility>

#include "tests/dist/listener.h"

namespace slipway {
namespace {

using Variables = std::map<std::string, std::string>;

Variables VariablesOf(int rank, int count, int port) {
  const std::string own = std::to_string(rank), all = std::to_string(count);
  return {{"RANK", own},
          {"LOCAL_RANK", own},
          {"WORLD_SIZE", all},
          {"LOCAL_WORLD_SIZE", all},
          {"MASTER_ADDR", "127.0.0.1"},
          {"MASTER_PORT", std::to_string(port)}};
}

}  // namespace

RankedProgram::RankedProgram(int count, const std::string& program,
                             const std::vector<std::string>& arguments,
                             const std::string& folder,
                             const Variables& environment,
                             const std::map<int, Variables>& of_rank) {
  const Listener listener;
  for (int rank = 0; rank < count; ++rank) {
    Variables variables = VariablesOf(rank, count, listener.port);
    variables["SLIPWAY_STORE_FD"] = std::to_string(listener.fd);
    for (const auto& [name, value] : environment) variables[name] = value;
    const auto own = of_rank.find(rank);
    if (own != of_rank.end()) {
      for (const auto& [name, value] : own->second) variables[name] = value;
    }
    processes_.push_back(
        std::make_unique<Process>(program, arguments, folder, variables));
  }
}

void RankedProgram::Signal(int rank, int signal) {
  processes_[rank]->Signal(signal);
}

std::vector<Outcome> RankedProgram::Wait() {
  std::vector<Outcome> outcomes;
  for (const auto& process : processes_) outcomes.push_back(process->Wait());
  return outcomes;
}

std::vector<Outcome> RunTrainerRanks(int count,
                                     const std::vector<std::string>& arguments,
                                     const std::string& folder,
                                     const Variables& environment) {
  return RankedProgram(count, TrainerPath(), arguments, folder, environment)
      .Wait();
}

std::vector<Outcome> RunProgramRanks(int count, const std::string& program,
                                     const std::vector<std::string>& arguments,
                                     const std::string& folder) {
  int port = 0;
  {
    const Listener listener;
    port = listener.port;
  }
  std::vector<std::unique_ptr<Process>> processes;
  for (int rank = 0; rank < count; ++rank) {
    processes.push_back(std::make_unique<Process>(
        program, arguments, folder, VariablesOf(rank, count, port)));
  }
  std::vector<Outcome> outcomes;
  for (const auto& process : processes) outcomes.push_back(process->Wait());
  return outcomes;
}

}  // namespace slipway
