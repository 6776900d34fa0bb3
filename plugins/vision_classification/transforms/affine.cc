// Affine and Rotate of enhance.h.
#include <algorithm>
#include <cmath>

#include "plugins/vision_classification/transforms/enhance.h"

namespace slipway::vision_classification {
namespace {

// The pixel at (x, y), both from the middles of pixels on, as Pillow mixes it:
// rows outside are their neighbours.
void Bilinear(const uint8_t* bytes, int64_t height, int64_t width, double x,
              double y, uint8_t* rgb) {
  x -= 0.5;
  y -= 0.5;
  const int64_t left = static_cast<int64_t>(std::floor(x));
  const int64_t top = static_cast<int64_t>(std::floor(y));
  const double dx = x - static_cast<double>(left);
  const double dy = y - static_cast<double>(top);
  const int64_t x0 = std::clamp<int64_t>(left, 0, width - 1);
  const int64_t x1 = std::clamp<int64_t>(left + 1, 0, width - 1);
  const auto mixed = [&](int64_t row, int c) {
    const uint8_t* at = bytes + 3 * width * row;
    const double a = at[3 * x0 + c];
    return a + (at[3 * x1 + c] - a) * dx;
  };
  const bool below = top + 1 >= 0 && top + 1 < height;
  for (int c = 0; c < 3; ++c) {
    const double upper = mixed(std::clamp<int64_t>(top, 0, height - 1), c);
    const double lower = below ? mixed(top + 1, c) : upper;
    rgb[c] = static_cast<uint8_t>(upper + (lower - upper) * dy);
  }
}

}  // namespace

void Affine(at::Tensor& image, const std::array<double, 6>& matrix,
            const std::array<uint8_t, 3>& fill) {
  const int64_t height = image.size(0);
  const int64_t width = image.size(1);
  const at::Tensor source = OwnBytes(image);
  const uint8_t* from = source.const_data_ptr<uint8_t>();
  uint8_t* out = image.mutable_data_ptr<uint8_t>();
  const auto& [a, b, c, d, e, f] = matrix;
  for (int64_t row = 0; row < height; ++row) {
    const double v = static_cast<double>(row) + 0.5;
    for (int64_t column = 0; column < width; ++column, out += 3) {
      const double u = static_cast<double>(column) + 0.5;
      const double x = a * u + b * v + c;
      const double y = d * u + e * v + f;
      if (x >= 0 && x < static_cast<double>(width) && y >= 0 &&
          y < static_cast<double>(height)) {
        Bilinear(from, height, width, x, y, out);
      } else {
        std::copy(fill.begin(), fill.end(), out);
      }
    }
  }
}

void Rotate(at::Tensor& image, double degrees,
            const std::array<uint8_t, 3>& fill) {
  degrees = std::fmod(degrees, 360);
  if (degrees == 0) return;
  const double angle = -degrees * M_PI / 180;
  // To 15 digits, as Pillow.
  const auto rounded = [](double value) {
    return std::nearbyint(value * 1e15) / 1e15;
  };
  const double cosine = rounded(std::cos(angle));
  const double sine = rounded(std::sin(angle));
  const double x = static_cast<double>(image.size(1)) / 2;
  const double y = static_cast<double>(image.size(0)) / 2;
  // In Pillow's order, so that sums round as there.
  const double right = cosine * -x + sine * -y + x;
  const double down = -sine * -x + cosine * -y + y;
  Affine(image, {cosine, sine, right, -sine, cosine, down}, fill);
}

}  // namespace slipway::vision_classification
