#include "plugins/compile/peers.h"

#include "absl/types/span.h"
#include "c10/util/Exception.h"
#include "trainer/dist/collectives.h"

namespace slipway::compile {
namespace {

void Sum(dist::ProcessGroup& group, std::vector<double>& numbers) {
  const absl::Status status = dist::AllReduce(group, absl::MakeSpan(numbers));
  TORCH_CHECK(status.ok(), status.message());
}

}  // namespace

bool Peers::All(bool mine) const {
  if (alone()) return mine;
  std::vector<double> failures = {mine ? 0.0 : 1.0};
  Sum(*group_, failures);
  return failures[0] == 0;
}

std::vector<double> Peers::OfRank0(std::vector<double> mine) const {
  if (alone()) return mine;
  if (group_->rank() != 0) mine.assign(mine.size(), 0);
  Sum(*group_, mine);
  return mine;
}

}  // namespace slipway::compile
