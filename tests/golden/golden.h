// Compares a text with a file of the repository, its golden file.
//
//   ExpectGolden("trainer/plan/testdata/messages.golden",
//   FormatProblems(found));
//
// The test's `data` has the file. Where the new text is the right one,
//
//   SLIPWAY_UPDATE_GOLDEN=1 ./bazelw run //trainer/plan:manifest_test
//
// writes it. Not thread-safe.
#ifndef SLIPWAY_TESTS_GOLDEN_GOLDEN_H_
#define SLIPWAY_TESTS_GOLDEN_GOLDEN_H_

#include <string>
#include <string_view>

namespace slipway {

// A failure that shows the first line that differs, unless the file at `path`,
// relative to the repository's root, is exactly `actual`.
void ExpectGolden(const std::string& path, std::string_view actual);

// Where `actual` first differs from `expected`, for people; empty if nowhere.
std::string FirstDifference(std::string_view expected, std::string_view actual);

}  // namespace slipway

#endif  // SLIPWAY_TESTS_GOLDEN_GOLDEN_H_
