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

// A side that could not do its work ends the benchmark: its cost would make
// any limit hold.
double Cost(const std::string& side, const Measure& measure) {
  const double cost = measure();
  if (cost > 0) return cost;
  std::cerr << "\"" << side << "\" could not be measured\n";
  std::exit(1);
}

// Round by round.
std::vector<double> Ratios(const std::vector<double>& a,
                           const std::vector<double>& b) {
  std::vector<double> ratios;
  for (size_t i = 0; i < a.size(); ++i) ratios.push_back(a[i] / b[i]);
  return ratios;
}

// A limit that is never looked at would always hold.
size_t IndexOf(const std::string& name, const std::vector<Side>& sides) {
  for (size_t i = 0; i < sides.size(); ++i) {
    if (sides[i].name == name) return i;
  }
  std::cerr << "\"" << name << "\" is none of the sides\n";
  std::exit(2);
}

void AddQuartiles(const std::vector<double>& ratios,
                  nlohmann::ordered_json& json) {
  json["ratio_median"] = Quantile(ratios, 0.5);
  json["ratio_p25"] = Quantile(ratios, 0.25);
  json["ratio_p75"] = Quantile(ratios, 0.75);
}

const char* Verdict(bool holds) { return holds ? "holds" : "DOES NOT HOLD"; }

}  // namespace

double CpuTimeOf(const std::function<void()>& f) {
  const double start = CpuSeconds();
  f();
  return CpuSeconds() - start;
}

nlohmann::ordered_json Machine() {
  double load = 0;
  getloadavg(&load, 1);
  return {{"cpu", CpuModel()},
          {"cores", sysconf(_SC_NPROCESSORS_ONLN)},
          {"isa", plan::DetectEnvironment().cpu_isa},
          {"load", load}};
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
  CompareAll({{comparison.a, comparison.measure_a, comparison.limit}},
             {comparison.b, comparison.measure_b});
}

void Benchmark::CompareAll(const std::vector<Side>& sides, const Side& base) {
  std::vector<Side> all = sides;
  all.push_back(base);
  std::vector<std::vector<double>> costs(all.size());
  for (const Side& side : all) Cost(side.name, side.measure);
  for (int round = 0; round < rounds_; ++round) {
    for (size_t i = 0; i < all.size(); ++i) {
      const size_t turn = round % 2 == 0 ? i : all.size() - 1 - i;
      costs[turn].push_back(Cost(all[turn].name, all[turn].measure));
    }
  }
  for (size_t i = 0; i < sides.size(); ++i) {
    Result result = {sides[i].name,
                     base.name,
                     costs[i],
                     costs.back(),
                     Ratios(costs[i], costs.back()),
                     sides[i].limit};
    if (!sides[i].at_most.empty()) {
      const size_t other = IndexOf(sides[i].at_most, sides);
      result.at_most = sides[other].name;
      result.at_most_ratios = Ratios(costs[i], costs[other]);
    }
    results_.push_back(std::move(result));
  }
}

bool Benchmark::Result::within_limit() const {
  return limit == 0 || Quantile(ratios, 0.25) <= limit;
}

bool Benchmark::Result::within_other() const {
  return at_most.empty() || Quantile(at_most_ratios, 0.25) <= 1;
}

nlohmann::ordered_json Benchmark::ToJson(const Result& result) {
  nlohmann::ordered_json json = {{"a", result.a}, {"b", result.b}};
  AddQuartiles(result.ratios, json);
  json["rounds"] = result.ratios.size();
  json["a_median"] = Quantile(result.costs_a, 0.5);
  json["b_median"] = Quantile(result.costs_b, 0.5);
  json["limit"] = nullptr;
  if (result.limit != 0) json["limit"] = result.limit;
  json["holds"] = result.holds();
  if (!result.at_most.empty()) {
    json["at_most"] = {{"b", result.at_most}};
    AddQuartiles(result.at_most_ratios, json["at_most"]);
    json["at_most"]["holds"] = result.within_other();
  }
  return json;
}

nlohmann::ordered_json Benchmark::ToJson() const {
  nlohmann::ordered_json pairs = nlohmann::ordered_json::array();
  std::set<double> limits;
  bool all_hold = true;
  for (const Result& result : results_) {
    pairs.push_back(ToJson(result));
    if (result.limit != 0) limits.insert(result.limit);
    all_hold = all_hold && result.holds();
  }
  nlohmann::ordered_json json = {{"name", name_},    {"machine", Machine()},
                                 {"unit", unit_},    {"pairs", pairs},
                                 {"limit", nullptr}, {"holds", all_hold}};
  if (limits.size() == 1) json["limit"] = *limits.begin();
  return json;
}

std::string Benchmark::ToText(const Result& result) const {
  std::string text = absl::StrFormat(
      "%-40s %9.3g, %s %9.3g %s: ratio %.3f (quartiles %.3f to %.3f)", result.a,
      Quantile(result.costs_a, 0.5), result.b, Quantile(result.costs_b, 0.5),
      unit_, Quantile(result.ratios, 0.5), Quantile(result.ratios, 0.25),
      Quantile(result.ratios, 0.75));
  if (result.limit != 0) {
    absl::StrAppendFormat(&text, ", limit %g %s", result.limit,
                          Verdict(result.within_limit()));
  }
  if (!result.at_most.empty()) {
    absl::StrAppendFormat(&text, ", over %s %.3f (%.3f to %.3f), limit 1 %s",
                          result.at_most, Quantile(result.at_most_ratios, 0.5),
                          Quantile(result.at_most_ratios, 0.25),
                          Quantile(result.at_most_ratios, 0.75),
                          Verdict(result.within_other()));
  }
  return text;
}

int Benchmark::Finish(std::ostream& out) const {
  const nlohmann::ordered_json json = ToJson();
  if (json_) {
    out << json.dump(2) << "\n";
  } else {
    for (const Result& result : results_) out << ToText(result) << "\n";
  }
  return json["holds"].get<bool>() ? 0 : 1;
}

}  // namespace slipway::perf
