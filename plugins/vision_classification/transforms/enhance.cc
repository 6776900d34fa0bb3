#include "plugins/vision_classification/transforms/enhance.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace slipway::vision_classification {
namespace {

using Table = std::array<uint8_t, 256>;
using Histogram = std::array<int64_t, 256>;

int64_t PixelsOf(const at::Tensor& image) {
  return image.size(0) * image.size(1);
}

uint8_t* BytesOf(at::Tensor& image) {
  return image.mutable_data_ptr<uint8_t>();
}

// Pillow's luma: (299 R + 587 G + 114 B) / 1000 in 16 bits of fixed point.
uint8_t LumaOf(const uint8_t* rgb) {
  return static_cast<uint8_t>(
      (rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16);
}

// Pillow's Image.blend of two bytes: cut towards 0, and into bytes.
uint8_t Blend(uint8_t from, uint8_t to, float factor) {
  const float value =
      static_cast<float>(from) +
      factor * (static_cast<float>(to) - static_cast<float>(from));
  if (value <= 0) return 0;
  return value >= 255 ? 255 : static_cast<uint8_t>(value);
}

// All bytes of the image with one byte.
void BlendWith(at::Tensor& image, uint8_t from, double factor) {
  Table table;
  for (int i = 0; i < 256; ++i) {
    table[i] = Blend(from, static_cast<uint8_t>(i), static_cast<float>(factor));
  }
  uint8_t* bytes = BytesOf(image);
  for (int64_t i = 0; i < image.numel(); ++i) bytes[i] = table[bytes[i]];
}

void ApplyTables(at::Tensor& image, const std::array<Table, 3>& tables) {
  uint8_t* bytes = BytesOf(image);
  for (int64_t p = 0; p < PixelsOf(image); ++p) {
    for (int c = 0; c < 3; ++c) bytes[3 * p + c] = tables[c][bytes[3 * p + c]];
  }
}

// `value_of` each byte, the same for all channels.
template <typename Function>
void ApplyToBytes(at::Tensor& image, Function value_of) {
  Table table;
  for (int i = 0; i < 256; ++i) table[i] = static_cast<uint8_t>(value_of(i));
  ApplyTables(image, {table, table, table});
}

std::array<Histogram, 3> HistogramsOf(at::Tensor& image) {
  std::array<Histogram, 3> histograms = {};
  const uint8_t* bytes = BytesOf(image);
  for (int64_t p = 0; p < PixelsOf(image); ++p) {
    for (int c = 0; c < 3; ++c) ++histograms[c][bytes[3 * p + c]];
  }
  return histograms;
}

Table Identity() {
  Table table;
  std::iota(table.begin(), table.end(), 0);
  return table;
}

Table ContrastTable(const Histogram& histogram) {
  int low = 0;
  while (low < 255 && histogram[low] == 0) ++low;
  int high = 255;
  while (high > 0 && histogram[high] == 0) --high;
  if (high <= low) return Identity();
  Table table;
  const double scale = 255.0 / (high - low);
  const double offset = -low * scale;
  for (int i = 0; i < 256; ++i) {
    table[i] = static_cast<uint8_t>(
        std::clamp(static_cast<int>(i * scale + offset), 0, 255));
  }
  return table;
}

Table EqualizeTable(const Histogram& histogram) {
  int64_t pixels = 0;
  int64_t last = 0;
  int different = 0;
  for (int64_t count : histogram) {
    pixels += count;
    if (count == 0) continue;
    last = count;
    ++different;
  }
  const int64_t step = (pixels - last) / 255;
  if (different <= 1 || step == 0) return Identity();
  Table table;
  int64_t sum = step / 2;
  for (int i = 0; i < 256; ++i) {
    table[i] = static_cast<uint8_t>(std::min<int64_t>(sum / step, 255));
    sum += histogram[i];
  }
  return table;
}

// Pillow's SMOOTH filter, ((1 1 1) (1 5 1) (1 1 1)) / 13, which leaves the
// borders as they are.
std::vector<uint8_t> Smoothed(at::Tensor& image) {
  const int64_t height = image.size(0);
  const int64_t width = image.size(1);
  const uint8_t* bytes = BytesOf(image);
  std::vector<uint8_t> smooth(bytes, bytes + image.numel());
  constexpr float kSide = 1.0F / 13;
  constexpr float kMiddle = 5.0F / 13;
  for (int64_t y = 1; y + 1 < height; ++y) {
    for (int64_t i = 3; i < 3 * (width - 1); ++i) {
      // Pillow adds row by row, the lowest first.
      float sum = 0.5F;
      for (const int64_t row : {y + 1, y, y - 1}) {
        const uint8_t* at = bytes + 3 * width * row + i;
        const float middle = row == y ? kMiddle : kSide;
        sum += static_cast<float>(at[-3]) * kSide +
               static_cast<float>(at[0]) * middle +
               static_cast<float>(at[3]) * kSide;
      }
      smooth[3 * width * y + i] =
          static_cast<uint8_t>(std::clamp(sum, 0.0F, 255.0F));
    }
  }
  return smooth;
}

struct Hsv {
  uint8_t h, s, v;
};

Hsv ToHsv(const uint8_t* rgb) {
  const uint8_t most = std::max({rgb[0], rgb[1], rgb[2]});
  const uint8_t least = std::min({rgb[0], rgb[1], rgb[2]});
  if (most == least) return {0, 0, most};
  const float span = static_cast<float>(most - least);
  const float r = static_cast<float>(most - rgb[0]) / span;
  const float g = static_cast<float>(most - rgb[1]) / span;
  const float b = static_cast<float>(most - rgb[2]) / span;
  float h = 0;
  if (rgb[0] == most) {
    h = b - g;
  } else if (rgb[1] == most) {
    h = static_cast<float>(2.0 + r - b);
  } else {
    h = static_cast<float>(4.0 + g - r);
  }
  h = static_cast<float>(std::fmod(h / 6.0 + 1.0, 1.0));
  const float s = span / static_cast<float>(most);
  return {static_cast<uint8_t>(std::clamp(static_cast<int>(h * 255.0), 0, 255)),
          static_cast<uint8_t>(std::clamp(static_cast<int>(s * 255.0), 0, 255)),
          most};
}

void ToRgb(const Hsv& hsv, uint8_t* rgb) {
  if (hsv.s == 0) {
    std::fill(rgb, rgb + 3, hsv.v);
    return;
  }
  const double place = static_cast<float>(hsv.h) * 6.0 / 255.0;
  const int sector = static_cast<int>(std::floor(place));
  const float f = static_cast<float>(place - sector);
  const float s = static_cast<float>(hsv.s / 255.0);
  const double v = hsv.v;
  const auto byte = [](double value) {
    return static_cast<uint8_t>(std::clamp(std::lround(value), 0L, 255L));
  };
  const uint8_t p = byte(v * (1.0 - s));
  const uint8_t q = byte(v * (1.0 - s * f));
  const uint8_t t = byte(v * (1.0 - s * (1.0 - f)));
  const std::array<std::array<uint8_t, 3>, 6> sectors = {{{hsv.v, t, p},
                                                          {q, hsv.v, p},
                                                          {p, hsv.v, t},
                                                          {p, q, hsv.v},
                                                          {t, p, hsv.v},
                                                          {hsv.v, p, q}}};
  std::copy_n(sectors[sector % 6].begin(), 3, rgb);
}

}  // namespace

at::Tensor OwnBytes(const at::Tensor& image) {
  return image.clone(at::MemoryFormat::Contiguous);
}

void Brightness(at::Tensor& image, double factor) {
  BlendWith(image, 0, factor);
}

void Contrast(at::Tensor& image, double factor) {
  const uint8_t* bytes = BytesOf(image);
  int64_t sum = 0;
  for (int64_t p = 0; p < PixelsOf(image); ++p) sum += LumaOf(bytes + 3 * p);
  const double mean =
      static_cast<double>(sum) / static_cast<double>(PixelsOf(image));
  BlendWith(image, static_cast<uint8_t>(mean + 0.5), factor);
}

void Color(at::Tensor& image, double factor) {
  uint8_t* bytes = BytesOf(image);
  for (int64_t p = 0; p < PixelsOf(image); ++p, bytes += 3) {
    const uint8_t grey = LumaOf(bytes);
    for (int c = 0; c < 3; ++c) {
      bytes[c] = Blend(grey, bytes[c], static_cast<float>(factor));
    }
  }
}

void Sharpness(at::Tensor& image, double factor) {
  const std::vector<uint8_t> smooth = Smoothed(image);
  uint8_t* bytes = BytesOf(image);
  for (int64_t i = 0; i < image.numel(); ++i) {
    bytes[i] = Blend(smooth[i], bytes[i], static_cast<float>(factor));
  }
}

void Hue(at::Tensor& image, double turns) {
  // As torchvision: added to the byte, which goes round.
  const int added = static_cast<int>(turns * 255);
  uint8_t* bytes = BytesOf(image);
  for (int64_t p = 0; p < PixelsOf(image); ++p, bytes += 3) {
    Hsv hsv = ToHsv(bytes);
    hsv.h = static_cast<uint8_t>(hsv.h + added);
    ToRgb(hsv, bytes);
  }
}

void AutoContrast(at::Tensor& image) {
  const std::array<Histogram, 3> histograms = HistogramsOf(image);
  ApplyTables(image,
              {ContrastTable(histograms[0]), ContrastTable(histograms[1]),
               ContrastTable(histograms[2])});
}

void Equalize(at::Tensor& image) {
  const std::array<Histogram, 3> histograms = HistogramsOf(image);
  ApplyTables(image,
              {EqualizeTable(histograms[0]), EqualizeTable(histograms[1]),
               EqualizeTable(histograms[2])});
}

void Invert(at::Tensor& image) {
  ApplyToBytes(image, [](int byte) { return 255 - byte; });
}

void Solarize(at::Tensor& image, double threshold) {
  ApplyToBytes(image,
               [&](int byte) { return byte < threshold ? byte : 255 - byte; });
}

void Posterize(at::Tensor& image, int bits) {
  const int mask = ~((1 << (8 - bits)) - 1);
  ApplyToBytes(image, [&](int byte) { return byte & mask; });
}

void SolarizeAdd(at::Tensor& image, int added) {
  ApplyToBytes(image, [&](int byte) {
    return byte < 128 ? std::min(255, byte + added) : byte;
  });
}

}  // namespace slipway::vision_classification
