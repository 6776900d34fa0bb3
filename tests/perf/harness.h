// Benchmarks that compare two ways of doing something, on a machine that others
// use too.
//
//   int main(int argc, char** argv) {
//     perf::Benchmark benchmark("loop", "seconds a step");
//     if (!benchmark.ParseArguments(argc, argv)) return 2;
//     benchmark.Compare({.a = "trainer", .b = "bare loop",
//                        .measure_a = [&] { return perf::CpuTimeOf(...); },
//                        .measure_b = [&] { return perf::CpuTimeOf(...); },
//                        .limit = 1.1});
//     return benchmark.Finish(std::cout);
//   }
//
//   bazel run -c opt //tests/perf:loop -- --rounds=15 --format=json
//
// In every round both sides are measured one after the other, in turns first,
// so that a machine whose speed changes changes both; what counts is the ratio
// within a round. A limit holds if the lower quartile of the ratios is within
// it: noise only ever adds.
#ifndef SLIPWAY_TESTS_PERF_HARNESS_H_
#define SLIPWAY_TESTS_PERF_HARNESS_H_

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "nlohmann/json_fwd.hpp"

namespace slipway::perf {

// Does one round's work of one side and returns what it cost, in the
// benchmark's unit; not above zero ends the benchmark: it could not be done.
using Measure = std::function<double()>;

// Seconds of CPU time that this process, with all its threads, spends in `f`.
double CpuTimeOf(const std::function<void()>& f);

// A Measure of a side that is a number: the limit of an issue, a figure of
// another system.
Measure Constant(double cost);

struct Comparison {
  std::string a;
  std::string b;
  Measure measure_a;
  Measure measure_b;
  // Of a / b; 0 for a comparison that only informs.
  double limit = 0;
};

// One of several that are compared with the same base.
struct Side {
  std::string name;
  Measure measure;
  // Of this / base; 0 if this only informs.
  double limit = 0;
  // Another side, which this one may not exceed either; empty: none.
  std::string at_most = "";
};

class Benchmark {
 public:
  Benchmark(std::string name, std::string unit);

  // Takes --rounds=N (default 15) and --format=text|json (default text). False,
  // with a line on stderr, for anything else.
  bool ParseArguments(int argc, const char* const* argv);

  // Measures one pair: a round that does not count, then all rounds.
  void Compare(const Comparison& comparison);
  // The same for several pairs at once, each side against `base`: in every
  // round all of them are measured, base once.
  void CompareAll(const std::vector<Side>& sides, const Side& base);

  // Prints what was measured. 0 if all limits hold, else 1.
  int Finish(std::ostream& out) const;

  // {name, machine, unit, pairs: [{a, b, ratio_median, ratio_p25, ratio_p75,
  // rounds, a_median, b_median, limit, holds}], limit, holds}; the document's
  // limit is that of the pairs, null if they have several or none. A pair whose
  // `a` may not exceed another side has `at_most`, {b, ratio_median, ratio_p25,
  // ratio_p75, holds}, and holds if both do.
  nlohmann::ordered_json ToJson() const;

 private:
  struct Result {
    std::string a;
    std::string b;
    std::vector<double> costs_a;
    std::vector<double> costs_b;
    std::vector<double> ratios;
    double limit = 0;
    // Of another side that `a` may not exceed, and of a / that.
    std::string at_most;
    std::vector<double> at_most_ratios;
    bool within_limit() const;
    bool within_other() const;
    bool holds() const { return within_limit() && within_other(); }
  };
  static nlohmann::ordered_json ToJson(const Result& result);
  std::string ToText(const Result& result) const;

  std::string name_;
  std::string unit_;
  int rounds_ = 15;
  bool json_ = false;
  std::vector<Result> results_;
};

// {cpu, cores, isa, load}.
nlohmann::ordered_json Machine();

// The q-quantile (0..1) by linear interpolation. `values` is not empty.
double Quantile(std::vector<double> values, double q);

}  // namespace slipway::perf

#endif  // SLIPWAY_TESTS_PERF_HARNESS_H_
