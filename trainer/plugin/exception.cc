#include "trainer/plugin/exception.h"

#include <cxxabi.h>

#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <typeinfo>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "c10/util/Exception.h"

namespace slipway {
namespace {

std::string CurrentExceptionType() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  if (type == nullptr) return "an exception of another language";
  int unused = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(type->name(), nullptr, nullptr, &unused), &std::free);
  return name == nullptr ? type->name() : name.get();
}

// The payload of a status that says so.
constexpr char kOutOfMemory[] = "slipway/out_of_memory";

absl::Status OutOfMemory(absl::string_view message) {
  absl::Status status = absl::ResourceExhaustedError(message);
  status.SetPayload(kOutOfMemory, absl::Cord());
  return status;
}

// The CPU's allocator has no exception of its own.
bool SaysOutOfMemory(const std::string& message) {
  return message.find("can't allocate memory") != message.npos;
}

}  // namespace

absl::Status CurrentExceptionStatus() noexcept {
  try {
    throw;
  } catch (const c10::OutOfMemoryError& error) {
    return OutOfMemory(error.what_without_backtrace());
  } catch (const c10::Error& error) {
    const std::string message = error.what_without_backtrace();
    return SaysOutOfMemory(message) ? OutOfMemory(message)
                                    : absl::InternalError(message);
  } catch (const std::bad_alloc&) {
    return OutOfMemory("out of memory");
  } catch (const std::exception& error) {
    return absl::InternalError(
        absl::StrCat(CurrentExceptionType(), ": ", error.what()));
  } catch (...) {
    return absl::InternalError(
        absl::StrCat("threw a value of type ", CurrentExceptionType()));
  }
}

bool IsOutOfMemory(const absl::Status& status) {
  return status.GetPayload(kOutOfMemory).has_value();
}

}  // namespace slipway
