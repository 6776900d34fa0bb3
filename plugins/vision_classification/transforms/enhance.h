// Colours of byte images, changed as Pillow changes them.
//
//   at::Tensor bright = OwnBytes(image);
//   Brightness(bright, 1.2);
//
// The arithmetic of Pillow's ImageEnhance and ImageOps, byte for byte. All work
// in place on byte[height, width, 3] that is contiguous and nobody else's.
// Functions only, safe from any thread.
#ifndef SLIPWAY_PLUGINS_VISION_CLASSIFICATION_TRANSFORMS_ENHANCE_H_
#define SLIPWAY_PLUGINS_VISION_CLASSIFICATION_TRANSFORMS_ENHANCE_H_

#include <array>
#include <cstdint>

#include "ATen/core/Tensor.h"

namespace slipway::vision_classification {

// A copy of `image` that these functions may change.
at::Tensor OwnBytes(const at::Tensor& image);

// ImageEnhance: between black, a grey of the image's mean, the image without
// colours or a blurred one (factor 0) and the image itself (factor 1), or
// beyond.
void Brightness(at::Tensor& image, double factor);
void Contrast(at::Tensor& image, double factor);
void Color(at::Tensor& image, double factor);
void Sharpness(at::Tensor& image, double factor);

// The hue turned by `turns`, -0.5 to 0.5, through Pillow's HSV.
void Hue(at::Tensor& image, double turns);

// ImageOps: the darkest and the lightest byte of each channel become 0 and 255;
// a flat histogram of each channel; 255 less each byte; bytes from `threshold`
// on inverted; the upper `bits` bits.
void AutoContrast(at::Tensor& image);
void Equalize(at::Tensor& image);
void Invert(at::Tensor& image);
void Solarize(at::Tensor& image, double threshold);
void Posterize(at::Tensor& image, int bits);
// `added` to bytes below 128, up to 255.
void SolarizeAdd(at::Tensor& image, int added);

// Output pixel (x, y) is input (a x + b y + c, d x + e y + f), from the middles
// of pixels, bilinear, `fill` outside: Pillow's Image.transform with AFFINE.
void Affine(at::Tensor& image, const std::array<double, 6>& matrix,
            const std::array<uint8_t, 3>& fill);
// Around its middle, counter-clockwise: Pillow's Image.rotate.
void Rotate(at::Tensor& image, double degrees,
            const std::array<uint8_t, 3>& fill);

}  // namespace slipway::vision_classification

#endif  // SLIPWAY_PLUGINS_VISION_CLASSIFICATION_TRANSFORMS_ENHANCE_H_
