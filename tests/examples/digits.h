// What the examples of loops of one's own train: a small network on handwritten
// digits.
#ifndef SLIPWAY_TESTS_EXAMPLES_DIGITS_H_
#define SLIPWAY_TESTS_EXAMPLES_DIGITS_H_

#include <memory>
#include <string>

#include "trainer/data/loader.h"
#include "trainer/nn/module.h"
#include "trainer/plugin/optimizer.h"

namespace slipway {

// From the 64 pixels of an image to its ten classes.
std::unique_ptr<nn::Module> DigitsNet();

// Plain gradient descent.
std::unique_ptr<Optimizer> DigitsOptimizer(const nn::Module& model);

// The 1437 images of the training, in batches of 32.
std::unique_ptr<data::Loader> DigitsLoader();

// A number that two models share only if all their weights are equal.
std::string Fingerprint(const nn::Module& model);

}  // namespace slipway

#endif  // SLIPWAY_TESTS_EXAMPLES_DIGITS_H_
