// Handwritten digits: the data set that is always there.
//
//   std::unique_ptr<data::Dataset> train =
//       std::make_unique<Digits>(Digits::Split::kTraining);
//   train->size();          // 1437
//   train->Get(0)->image;   // byte[8, 8, 1]
//
// The 1797 images of 43 people's digits that the UCI Machine Learning
// Repository has as the test part of "Optical Recognition of Handwritten
// Digits" (E. Alpaydin and C. Kaynak, 1998; CC BY 4.0), in digits.txt beside
// this file and compiled in. Which 360 of them validate is a shuffle of
// seed 0, in digits_validation.txt: in the file's own order the last ones are
// of other hands, and harder.
//
// Immutable, and so safe from several threads.
#ifndef SLIPWAY_PLUGINS_VISION_CLASSIFICATION_DATASETS_DIGITS_H_
#define SLIPWAY_PLUGINS_VISION_CLASSIFICATION_DATASETS_DIGITS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer/data/dataset.h"

namespace slipway::vision_classification {

class Digits : public data::Dataset {
 public:
  enum class Split { kTraining, kValidation };

  // `channels` is 1, or 3 for models that take colours.
  explicit Digits(Split split, int64_t channels = 1);

  int64_t size() const override;
  // An image byte[8, 8, channels], whose 17 greys are spread over 0 to 255, and
  // its digit, long[].
  absl::StatusOr<data::Sample> Get(int64_t index) const override;
  // "0" to "9".
  std::vector<std::string> ClassNames() const override;

  // Where image `index` of this split stands in digits.txt, from 0.
  int64_t Line(int64_t index) const { return lines_[index]; }

 private:
  const int64_t channels_;
  std::vector<int64_t> lines_;
};

}  // namespace slipway::vision_classification

#endif  // SLIPWAY_PLUGINS_VISION_CLASSIFICATION_DATASETS_DIGITS_H_
