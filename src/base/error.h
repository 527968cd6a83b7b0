// Errors as values. The library neither prints nor aborts on bad input: it returns an Error, and whoever
// speaks to a person (the command line, the HTTP server) turns it into words, an exit code or an HTTP status.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace takt::base {

// A flat list; each code has one sentence. server/ maps each code to an HTTP status in one table.
enum class ErrorCode {
  invalid_argument,     // a caller's value is out of its range or of the wrong type
  invalid_file,         // a file breaks its format's rules; the message names the key or tensor and the byte offset
  unsupported,          // well formed, but Takt has no implementation; the message names what is missing
  not_found,            // a file, model, endpoint or id does not exist
  io,                   // the operating system refused a read, write, map or socket operation
  out_of_memory,        // a bounded pool or an allocation is exhausted
  exceed_context_size,  // a prompt is longer than the context; the message has both numbers
  template_error,       // a chat template raised an exception or broke a bound; the message is the template's own
  queue_full,           // admission refused: a bounded queue is full; try again later
  limit_unreachable,  // admission refused: the promise to the request's class is not expected to be kept; try again later
  unauthorized,       // no API key, or none that is known
  cancelled,          // the client went away or asked to stop
  shutting_down,      // the server drains and takes no new work
  internal,           // a broken invariant inside Takt
};

// The snake_case name of a code, for logs and JSON ("invalid_file").
std::string_view name(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string message;         // one sentence for a person: what was wrong, where, what was expected
  uint32_t retry_after_s = 0;  // when trying again later makes sense: seconds from now; 0: not known
};

// Either a value or an Error. Check `ok()` (or the bool conversion) before `value()`.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit by design
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  // Precondition: ok(). std::get throws std::bad_variant_access when it is broken.
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  // Precondition: !ok().
  Error& error() { return std::get<1>(state_); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

// Success without a value, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), ok_(false) {}  // NOLINT
  bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }
  Error& error() { return error_; }
  const Error& error() const { return error_; }

 private:
  Error error_;
  bool ok_ = true;
};
using Status = Result<void>;

}  // namespace takt::base
