#include "plugins/vision_classification/images/resample.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace slipway::vision_classification {
namespace {

constexpr int kPrecision = 32 - 8 - 2;

double Sinc(double x) {
  if (x == 0) return 1;
  x *= M_PI;
  return std::sin(x) / x;
}

double Bicubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

double Hamming(double x) {
  x = std::abs(x);
  if (x == 0) return 1;
  if (x >= 1) return 0;
  x *= M_PI;
  return std::sin(x) / x * (0.54 + 0.46 * std::cos(x));
}

// How far a filter reaches, in pixels of the smaller image.
double SupportOf(Filter filter) {
  switch (filter) {
    case Filter::kNearest:
    case Filter::kBox:
      return 0.5;
    case Filter::kBilinear:
    case Filter::kHamming:
      return 1;
    case Filter::kBicubic:
      return 2;
    case Filter::kLanczos:
      return 3;
  }
  return 1;
}

double WeightOf(Filter filter, double x) {
  switch (filter) {
    case Filter::kNearest:
    case Filter::kBox:
      return x > -0.5 && x <= 0.5 ? 1 : 0;
    case Filter::kBilinear:
      return std::max(1 - std::abs(x), 0.0);
    case Filter::kHamming:
      return Hamming(x);
    case Filter::kBicubic:
      return Bicubic(x);
    case Filter::kLanczos:
      return x >= -3 && x < 3 ? Sinc(x) * Sinc(x / 3) : 0;
  }
  return 0;
}

// Of which pixels, and how much of each, the pixels of one side are made.
struct Taps {
  struct Range {
    int first = 0;
    int count = 0;
  };
  // Weights kept for each pixel; ranges are at most so long.
  int stride = 0;
  std::vector<Range> ranges;
  std::vector<int32_t> weights;
};

int32_t ToFixed(double weight) {
  const double scaled = weight * (1 << kPrecision);
  return static_cast<int32_t>(weight < 0 ? scaled - 0.5 : scaled + 0.5);
}

Taps MakeTaps(int64_t have, double from, double to, int64_t want,
              Filter filter) {
  const double scale = (to - from) / static_cast<double>(want);
  const double filter_scale = std::max(scale, 1.0);
  const double support = SupportOf(filter) * filter_scale;
  Taps taps;
  taps.stride = static_cast<int>(std::ceil(support)) * 2 + 1;
  taps.ranges.resize(want);
  taps.weights.resize(want * taps.stride);
  std::vector<double> weights(taps.stride);
  for (int64_t i = 0; i < want; ++i) {
    const double center = from + (static_cast<double>(i) + 0.5) * scale;
    const double inverse = 1 / filter_scale;
    const int first = std::max(static_cast<int>(center - support + 0.5), 0);
    const int end = std::min(static_cast<int>(center + support + 0.5),
                             static_cast<int>(have));
    const int count = end - first;
    double sum = 0;
    for (int k = 0; k < count; ++k) {
      weights[k] = WeightOf(filter, (k + first - center + 0.5) * inverse);
      sum += weights[k];
    }
    for (int k = 0; k < count; ++k) {
      if (sum != 0) weights[k] /= sum;
      taps.weights[i * taps.stride + k] = ToFixed(weights[k]);
    }
    taps.ranges[i] = {first, count};
  }
  return taps;
}

uint8_t ToByte(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> kPrecision, 0, 255));
}

// One row of pixels of kChannels bytes.
template <int kChannels>
void ResampleColumns(const uint8_t* row, const Taps& taps, uint8_t* out) {
  const int64_t width = static_cast<int64_t>(taps.ranges.size());
  for (int64_t x = 0; x < width; ++x) {
    const Taps::Range range = taps.ranges[x];
    const int32_t* weights = &taps.weights[x * taps.stride];
    const uint8_t* from = row + range.first * kChannels;
    int32_t sums[kChannels];
    for (int c = 0; c < kChannels; ++c) sums[c] = 1 << (kPrecision - 1);
    for (int k = 0; k < range.count; ++k, from += kChannels) {
      for (int c = 0; c < kChannels; ++c) sums[c] += from[c] * weights[k];
    }
    for (int c = 0; c < kChannels; ++c) *out++ = ToByte(sums[c]);
  }
}

void ResampleRow(const uint8_t* row, int64_t channels, const Taps& taps,
                 uint8_t* out) {
  if (channels == 3) return ResampleColumns<3>(row, taps, out);
  if (channels == 1) return ResampleColumns<1>(row, taps, out);
  for (size_t x = 0; x < taps.ranges.size(); ++x) {
    const Taps::Range range = taps.ranges[x];
    for (int64_t c = 0; c < channels; ++c) {
      int32_t sum = 1 << (kPrecision - 1);
      for (int k = 0; k < range.count; ++k) {
        sum += row[(range.first + k) * channels + c] *
               taps.weights[x * taps.stride + k];
      }
      *out++ = ToByte(sum);
    }
  }
}

// Row `y` of the result: `bytes` of each row of `image`, from `first_row` on.
void ResampleRows(const RasterView& image, int64_t first_row, const Taps& taps,
                  int64_t y, int64_t bytes, std::vector<int32_t>& sums,
                  uint8_t* out) {
  std::fill(sums.begin(), sums.end(), 1 << (kPrecision - 1));
  const Taps::Range range = taps.ranges[y];
  for (int k = 0; k < range.count; ++k) {
    const int32_t weight = taps.weights[y * taps.stride + k];
    const uint8_t* row = image.row(range.first + k - first_row);
    for (int64_t i = 0; i < bytes; ++i) sums[i] += row[i] * weight;
  }
  for (int64_t i = 0; i < bytes; ++i) out[i] = ToByte(sums[i]);
}

// The pixel in which a coordinate lies, which Pillow adds up step by step.
std::vector<int64_t> NearestOf(double from, double to, int64_t have,
                               int64_t want) {
  const double step = (to - from) / static_cast<double>(want);
  double place = from + step * 0.5;
  std::vector<int64_t> pixels(want);
  for (int64_t& pixel : pixels) {
    pixel = std::clamp<int64_t>(static_cast<int64_t>(place), 0, have - 1);
    place += step;
  }
  return pixels;
}

void ResampleNearest(const RasterView& image, const Box& box, Extent size,
                     uint8_t* out) {
  const std::vector<int64_t> rows =
      NearestOf(box.top, box.bottom, image.extent.height, size.height);
  const std::vector<int64_t> columns =
      NearestOf(box.left, box.right, image.extent.width, size.width);
  for (int64_t y : rows) {
    for (int64_t x : columns) {
      const uint8_t* pixel = image.row(y) + x * image.channels;
      out = std::copy(pixel, pixel + image.channels, out);
    }
  }
}

// Whether a side is neither cut nor resized.
bool IsWhole(double from, double to, int64_t have, int64_t want) {
  return from == 0 && to == static_cast<double>(have) && have == want;
}

void CopyRows(const RasterView& image, uint8_t* out) {
  const int64_t bytes = image.extent.width * image.channels;
  for (int64_t y = 0; y < image.extent.height; ++y) {
    std::memcpy(out + y * bytes, image.row(y), bytes);
  }
}

}  // namespace

RasterView ViewOf(const Raster& raster) {
  return {.pixels = raster.pixels.get(),
          .extent = raster.extent,
          .channels = 3,
          .row_bytes = 3 * raster.extent.width};
}

void Resample(const RasterView& image, const Box& box, Extent size,
              Filter filter, uint8_t* out) {
  if (filter == Filter::kNearest) {
    return ResampleNearest(image, box, size, out);
  }
  const Extent have = image.extent;
  const bool keep_columns =
      IsWhole(box.left, box.right, have.width, size.width);
  const bool keep_rows = IsWhole(box.top, box.bottom, have.height, size.height);
  if (keep_columns && keep_rows) return CopyRows(image, out);

  const int64_t bytes = size.width * image.channels;
  Taps rows;
  int64_t first = 0;
  int64_t end = have.height;
  if (!keep_rows) {
    rows = MakeTaps(have.height, box.top, box.bottom, size.height, filter);
    first = rows.ranges.front().first;
    end = rows.ranges.back().first + rows.ranges.back().count;
  }
  RasterView between = {image.row(first),
                        {end - first, have.width},
                        image.channels,
                        image.row_bytes};
  std::vector<uint8_t> buffer;
  if (!keep_columns) {
    const Taps columns =
        MakeTaps(have.width, box.left, box.right, size.width, filter);
    uint8_t* to = out;
    if (!keep_rows) {
      buffer.resize((end - first) * bytes);
      to = buffer.data();
    }
    for (int64_t y = first; y < end; ++y) {
      ResampleRow(image.row(y), image.channels, columns,
                  to + (y - first) * bytes);
    }
    between = {to, {end - first, size.width}, image.channels, bytes};
  }
  if (keep_rows) return;
  std::vector<int32_t> sums(bytes);
  for (int64_t y = 0; y < size.height; ++y) {
    ResampleRows(between, first, rows, y, bytes, sums, out + y * bytes);
  }
}

Raster Resample(const Raster& image, Extent size, Filter filter) {
  Raster result(size);
  Resample(ViewOf(image),
           {.bottom = static_cast<double>(image.extent.height),
            .right = static_cast<double>(image.extent.width)},
           size, filter, result.pixels.get());
  return result;
}

}  // namespace slipway::vision_classification
