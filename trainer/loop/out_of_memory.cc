#include "trainer/loop/out_of_memory.h"

#include <algorithm>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace slipway::loop {
namespace {

std::string Gigabytes(int64_t bytes) {
  return absl::StrFormat("%.2f GB", static_cast<double>(bytes) / 1e9);
}

// LibTorch's messages are "... you tried to allocate 123456 bytes. ..." and
// "... Tried to allocate 20.00 GiB. ..."; the rest of them is not for people
// who train. Of any other message, the first sentence.
std::string WhatWasAsked(const std::string& message) {
  constexpr char kBefore[] = "ried to allocate ";
  const size_t at = message.find(kBefore);
  const std::string rest =
      at == message.npos ? message : message.substr(at + sizeof(kBefore) - 1);
  const std::string sentence =
      rest.substr(0, std::min(rest.find(". "), rest.find('\n')));
  if (at == message.npos) return sentence;
  int64_t bytes = 0;
  const bool counted =
      absl::SimpleAtoi(sentence.substr(0, sentence.find(' ')), &bytes);
  return absl::StrCat("a tensor of ", counted ? Gigabytes(bytes) : sentence,
                      " was asked for");
}

std::string SmallerBatch(const MemoryFacts& facts) {
  const int64_t half = facts.batch_size / 2;
  return absl::StrCat("batch_size ", half, " instead of ", facts.batch_size,
                      " (with batch_accumulate ", 2 * facts.batch_accumulate,
                      " the optimizer's steps stay the same)");
}

}  // namespace

void ExplainOutOfMemory(const absl::Status& status, const MemoryFacts& facts,
                        Problem& problem) {
  std::vector<std::string> detail = {
      WhatWasAsked(std::string(status.message())),
      absl::StrCat(facts.on_device ? "the device held " : "the process held ",
                   Gigabytes(facts.peak), " at most")};
  if (facts.available > 0) {
    detail.push_back(absl::StrCat(Gigabytes(facts.available), " are left"));
  }
  problem.detail = absl::StrJoin(detail, "; ");
  std::vector<std::string> changes;
  if (facts.batch_size > 1) changes.push_back(SmallerBatch(facts));
  if (!facts.mixed_precision) changes.push_back("mixed_precision: True");
  changes.push_back("smaller images, or a smaller model");
  problem.hint = absl::StrCat("try ", absl::StrJoin(changes, ", or "),
                              "; --dry_run tells the largest batch that fits");
}

}  // namespace slipway::loop
