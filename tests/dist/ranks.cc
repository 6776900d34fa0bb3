#include "tests/dist/ranks.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <fstream>
#include <sstream>

#include "ATen/Parallel.h"
#include "gtest/gtest.h"
#include "tests/dist/listener.h"

namespace slipway {
namespace {

using Clock = std::chrono::steady_clock;

dist::Environment EnvironmentOf(int rank, int count, const Listener& listener,
                                const RankOptions& options) {
  dist::Environment environment;
  environment.rank = rank;
  environment.world_size = count;
  environment.local_rank = rank;
  environment.local_world_size = count;
  environment.master_port = listener.port;
  environment.peer_timeout = options.timeout;
  if (rank == 0) environment.store_fd = listener.fd;
  return environment;
}

// The child's whole life. Its end skips destructors of what was the parent's.
[[noreturn]] void BeRank(const dist::Environment& environment,
                         const RankFunction& function, bool connect,
                         const std::string& path) {
  at::set_num_threads(1);
  std::ofstream out(path);
  int code = 0;
  try {
    dist::ProcessGroup group(environment);
    const absl::Status connected = connect ? group.Connect() : absl::OkStatus();
    if (connected.ok()) {
      function(group, out);
    } else {
      out << connected;
      code = 1;
    }
  } catch (const std::exception& error) {
    out << error.what();
    code = 1;
  }
  out.close();
  _exit(code);
}

std::string TextOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string PathOf(const std::string& folder, int rank) {
  return folder + "/" + std::to_string(rank);
}

std::vector<pid_t> Start(int count, const RankFunction& function,
                         const RankOptions& options,
                         const std::string& folder) {
  const Listener listener;
  std::vector<pid_t> pids;
  for (int rank = 0; rank < count; ++rank) {
    pids.push_back(fork());
    if (pids.back() != 0) continue;
    if (rank != 0) close(listener.fd);
    BeRank(EnvironmentOf(rank, count, listener, options), function,
           options.connect, PathOf(folder, rank));
  }
  return pids;
}

}  // namespace

std::vector<Ended> RunRanks(int count, const RankFunction& function,
                            const RankOptions& options) {
  std::string folder = testing::TempDir() + "/ranks.XXXXXX";
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  const Clock::time_point start = Clock::now();
  const std::vector<pid_t> pids = Start(count, function, options, folder);
  std::vector<Ended> ranks(count);
  for (int left = count; left > 0; --left) {
    int status = 0;
    const pid_t pid = wait(&status);
    const size_t rank = std::find(pids.begin(), pids.end(), pid) - pids.begin();
    if (rank >= pids.size()) continue;
    ranks[rank].exit_code =
        WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    ranks[rank].said = TextOf(PathOf(folder, rank));
    ranks[rank].seconds =
        std::chrono::duration<double>(Clock::now() - start).count();
  }
  return ranks;
}

std::vector<std::string> Said(const std::vector<Ended>& ranks) {
  std::vector<std::string> said;
  for (const Ended& rank : ranks) {
    EXPECT_EQ(rank.exit_code, 0) << rank.said;
    said.push_back(rank.said);
  }
  return said;
}

}  // namespace slipway
