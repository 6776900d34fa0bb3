#include "trainer/recipe/scalar.h"

#include <cstdint>
#include <limits>
#include <string>

#include "gtest/gtest.h"
#include "trainer/recipe/node.h"

namespace slipway::recipe {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();

// The expected values in this file are OmegaConf 2.3's.

TEST(Scalar, ReadsNull) {
  for (const char* text : {"", "~", "null", "Null", "NULL"}) {
    EXPECT_TRUE(ParsePlainScalar(text).is_null()) << text;
  }
}

TEST(Scalar, ReadsBooleans) {
  for (const char* text :
       {"yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"}) {
    EXPECT_EQ(ParsePlainScalar(text), Node::Bool(true)) << text;
  }
  for (const char* text :
       {"no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"}) {
    EXPECT_EQ(ParsePlainScalar(text), Node::Bool(false)) << text;
  }
}

TEST(Scalar, ReadsIntegers) {
  struct Case {
    const char* text;
    int64_t value;
  };
  const Case cases[] = {{"0", 0},
                        {"-0", 0},
                        {"+0", 0},
                        {"10", 10},
                        {"-3", -3},
                        {"+3", 3},
                        {"1_000", 1000},
                        {"1__0", 10},
                        {"017", 15},
                        {"-017", -15},
                        {"00", 0},
                        {"0_7", 7},
                        {"0x1F", 31},
                        {"0x1f", 31},
                        {"-0x10", -16},
                        {"0x_1", 1},
                        {"0b11", 3},
                        {"-0b11", -3},
                        {"0b1_1", 3},
                        {"1:30", 90},
                        {"-1:30", -90},
                        {"1:30:05", 5405},
                        {"1:5", 65},
                        {"1_0:30", 630},
                        {"12:30:45", 45045},
                        {"9223372036854775807", 9223372036854775807},
                        {"-9223372036854775808", kLowest}};
  for (const Case& c : cases) {
    EXPECT_EQ(ParsePlainScalar(c.text), Node::Int(c.value)) << c.text;
  }
}

TEST(Scalar, ReadsNumbers) {
  struct Case {
    const char* text;
    double value;
  };
  const Case cases[] = {{"0.5", 0.5},
                        {"1.", 1.0},
                        {".5", 0.5},
                        {"1.5e3", 1500.0},
                        {"1.5e+3", 1500.0},
                        {"1.5e-3", 0.0015},
                        {"1.5E3", 1500.0},
                        {"5e-4", 0.0005},
                        {"1e-6", 1e-06},
                        {"1E-4", 0.0001},
                        {"1.e-4", 0.0001},
                        {"1.0e-4", 0.0001},
                        {"+1e-4", 0.0001},
                        {".0001", 0.0001},
                        {"1e4", 10000.0},
                        {"1e+4", 10000.0},
                        {".5e+3", 500.0},
                        {".5e-3", 0.0005},
                        {"1_0.5", 10.5},
                        {"1_0e2", 1000.0},
                        {"08.5", 8.5},
                        {"09e1", 90.0},
                        {"1:30.5", 90.5},
                        {"-1:30.5", -90.5},
                        {"1:30.", 90.0},
                        {"0:30.5", 30.5},
                        {"01:30.5", 90.5},
                        {".inf", kInf},
                        {".Inf", kInf},
                        {".INF", kInf},
                        {"-.inf", -kInf},
                        {"+.inf", kInf},
                        {".nan", kNan},
                        {".NaN", kNan},
                        {".NAN", kNan},
                        {"1e999", kInf},
                        {"-1e999", -kInf},
                        {"1e-999", 0.0},
                        {"00.5", 0.5},
                        {"0_.5", 0.5},
                        {"1_.5", 1.5},
                        {"1._5", 1.5},
                        {"1e05", 100000.0},
                        {"0e0", 0.0},
                        {"0.", 0.0},
                        {"-0.0", -0.0},
                        {"100_000.0", 100000.0}};
  for (const Case& c : cases) {
    EXPECT_EQ(ParsePlainScalar(c.text), Node::Float(c.value)) << c.text;
  }
}

TEST(Scalar, LeavesTheRestAsText) {
  for (const char* text : {"yEs",        "y",
                           "n",          "Y",
                           "N",          "nULL",
                           "none",       "None",
                           "_1",         "08",
                           "09",         "089",
                           "0o17",       "0xG",
                           "0X1F",       "0b2",
                           "0B1",        "1:60",
                           "0:30",       "01:30",
                           "-.5",        "+.5",
                           "._5",        "1e",
                           "1e-",        "e5",
                           ".5e3",       "-.5e-3",
                           "1e1_0",      "1:60.5",
                           ".iNF",       "inf",
                           "-.nan",      "nan",
                           ".",          "..",
                           ".e3",        "1..5",
                           "1.5.5",      "+",
                           "--",         "1-",
                           "1e-4x",      "1x",
                           "2001-01-01", "2001-12-14t21:59:43.10-05:00",
                           "a",          "ab",
                           "1.2.3",      "v1",
                           "0.1.0",      "0x",
                           "0b",         "1:3x",
                           ":30"}) {
    EXPECT_EQ(ParsePlainScalar(text), Node::String(text)) << text;
  }
}

TEST(Scalar, ReadsAnIntegerBeyond64BitsAsANumber) {
  EXPECT_EQ(ParsePlainScalar("9223372036854775808"), Node::Float(0x1p63));
  EXPECT_EQ(ParsePlainScalar("-9223372036854775809"), Node::Float(-0x1p63));
  EXPECT_EQ(ParsePlainScalar("0x10000000000000000"), Node::Float(0x1p64));
  EXPECT_EQ(ParsePlainScalar("100000000000000000000"), Node::Float(1e20));
  EXPECT_EQ(ParsePlainScalar("9999999999999999:00"),
            Node::Float(9999999999999999.0 * 60));
}

TEST(Scalar, WritesNumbersAsPythonDoes) {
  struct Case {
    double value;
    const char* text;
  };
  const Case cases[] = {{0, "0.0"},
                        {-0.0, "-0.0"},
                        {1, "1.0"},
                        {0.1, "0.1"},
                        {1e-4, "0.0001"},
                        {1e-5, "1e-05"},
                        {2.5e-7, "2.5e-07"},
                        {1e15, "1000000000000000.0"},
                        {1e16, "1e+16"},
                        {1.5e300, "1.5e+300"},
                        {-123.456, "-123.456"},
                        {kInf, "inf"},
                        {-kInf, "-inf"},
                        {kNan, "nan"},
                        {0.1 + 0.2, "0.30000000000000004"}};
  for (const Case& c : cases) EXPECT_EQ(FloatText(c.value), c.text);
}

}  // namespace
}  // namespace slipway::recipe
