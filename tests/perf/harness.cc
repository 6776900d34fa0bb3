#include "tests/perf/harness.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"
#include "trainer/plan/environment.h"

namespace slipway::perf {
namespace {

double CpuSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec + now.tv_nsec * 1e-9;
}

std::string CpuModel() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "unknown";
}

nlohmann::ordered_json Machine() {
  double load = 0;
  getloadavg(&load, 1);
  return {{"cpu", CpuModel()},
          {"cores", sysconf(_SC_NPROCESSORS_ONLN)},
          {"isa", plan::DetectEnvironment().cpu_isa},
          {"load", load}};
}

// A side that could not do its work ends the benchmark: its cost would make
// any limit hold.
double Cost(const std::string& side, const Measure& measure) {
  const double cost = measure();
  if (cost > 0) return cost;
  std::cerr << "\"" << side << "\" could not be measured\n";
  std::exit(1);
}

}  // namespace

double CpuTimeOf(const std::function<void()>& f) {
  const double start = CpuSeconds();
  f();
  return CpuSeconds() - start;
}

Measure Constant(double cost) {
  return [cost] { return cost; };
}

double Quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double place = q * (values.size() - 1);
  const size_t below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], place - below);
}

Benchmark::Benchmark(std::string name, std::string unit)
    : name_(std::move(name)), unit_(std::move(unit)) {}

bool Benchmark::ParseArguments(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind("--rounds=", 0) == 0 &&
        absl::SimpleAtoi(argument.substr(9), &rounds_) && rounds_ > 0) {
      continue;
    }
    if (argument == "--format=json" || argument == "--format=text") {
      json_ = argument == "--format=json";
      continue;
    }
    std::cerr << "unexpected \"" << argument
              << "\"; usage: --rounds=N --format=text|json\n";
    return false;
  }
  return true;
}

void Benchmark::Compare(const Comparison& comparison) {
  Result result;
  result.a = comparison.a;
  result.b = comparison.b;
  result.limit = comparison.limit;
  const auto cost_a = [&] { return Cost(comparison.a, comparison.measure_a); };
  const auto cost_b = [&] { return Cost(comparison.b, comparison.measure_b); };
  cost_a();
  cost_b();
  for (int round = 0; round < rounds_; ++round) {
    double a = round % 2 == 0 ? cost_a() : 0;
    const double b = cost_b();
    if (round % 2 != 0) a = cost_a();
    result.costs_a.push_back(a);
    result.costs_b.push_back(b);
    result.ratios.push_back(a / b);
  }
  results_.push_back(std::move(result));
}

bool Benchmark::Result::holds() const {
  return limit == 0 || Quantile(ratios, 0.25) <= limit;
}

nlohmann::ordered_json Benchmark::ToJson() const {
  nlohmann::ordered_json pairs = nlohmann::ordered_json::array();
  std::set<double> limits;
  bool all_hold = true;
  for (const Result& result : results_) {
    pairs.push_back({{"a", result.a},
                     {"b", result.b},
                     {"ratio_median", Quantile(result.ratios, 0.5)},
                     {"ratio_p25", Quantile(result.ratios, 0.25)},
                     {"ratio_p75", Quantile(result.ratios, 0.75)},
                     {"rounds", result.ratios.size()},
                     {"a_median", Quantile(result.costs_a, 0.5)},
                     {"b_median", Quantile(result.costs_b, 0.5)},
                     {"limit", result.limit},
                     {"holds", result.holds()}});
    if (result.limit == 0) pairs.back()["limit"] = nullptr;
    if (result.limit != 0) limits.insert(result.limit);
    all_hold = all_hold && result.holds();
  }
  nlohmann::ordered_json json = {{"name", name_},    {"machine", Machine()},
                                 {"unit", unit_},    {"pairs", pairs},
                                 {"limit", nullptr}, {"holds", all_hold}};
  if (limits.size() == 1) json["limit"] = *limits.begin();
  return json;
}

int Benchmark::Finish(std::ostream& out) const {
  const nlohmann::ordered_json json = ToJson();
  if (json_) out << json.dump(2) << "\n";
  for (const Result& result : results_) {
    if (json_) break;
    out << absl::StreamFormat(
        "%-40s %9.3g, %s %9.3g %s: ratio %.3f (quartiles %.3f to %.3f)",
        result.a, Quantile(result.costs_a, 0.5), result.b,
        Quantile(result.costs_b, 0.5), unit_, Quantile(result.ratios, 0.5),
        Quantile(result.ratios, 0.25), Quantile(result.ratios, 0.75));
    if (result.limit != 0) {
      out << absl::StreamFormat(", limit %g %s", result.limit,
                                result.holds() ? "holds" : "DOES NOT HOLD");
    }
    out << "\n";
  }
  return json["holds"].get<bool>() ? 0 : 1;
}

}  // namespace slipway::perf
