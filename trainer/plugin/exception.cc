#include "trainer/plugin/exception.h"

#include <cxxabi.h>

#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <typeinfo>

#include "absl/strings/str_cat.h"
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

// The CPU's allocator has no exception of its own.
bool IsOutOfMemory(const std::string& message) {
  return message.find("can't allocate memory") != message.npos;
}

}  // namespace

absl::Status CurrentExceptionStatus() noexcept {
  try {
    throw;
  } catch (const c10::OutOfMemoryError& error) {
    return absl::ResourceExhaustedError(error.what_without_backtrace());
  } catch (const c10::Error& error) {
    const std::string message = error.what_without_backtrace();
    return IsOutOfMemory(message) ? absl::ResourceExhaustedError(message)
                                  : absl::InternalError(message);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of memory");
  } catch (const std::exception& error) {
    return absl::InternalError(
        absl::StrCat(CurrentExceptionType(), ": ", error.what()));
  } catch (...) {
    return absl::InternalError(
        absl::StrCat("threw a value of type ", CurrentExceptionType()));
  }
}

}  // namespace slipway
