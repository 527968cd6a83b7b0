#include "text/template/format_percent.h"

#include <cmath>

#include "text/template/format_spec.h"
#include "text/template/limits.h"
#include "text/template/unicode.h"
#include "text/template/value_ops.h"

namespace takt::text::jinja {
namespace {

class PercentFormatter {
 public:
  PercentFormatter(const Value& format, const Value& arguments)
      : format_(format), text_(format.as_text()), arguments_(arguments) {}

  Value run() {
    const std::string_view view = text_.view();
    while (true) {
      const size_t percent = view.find('%', at_);
      out_.append_range(text_, at_, percent == std::string_view::npos ? view.size() : percent);
      if (percent == std::string_view::npos) break;
      at_ = percent + 1;
      conversion(text_.origin_at(percent));
      Budget::step();
      Budget::require(out_.size());
    }
    const bool is_mapping = arguments_.is_dict() || arguments_.is_list() || arguments_.is_undefined() ||
                            object_cast<Range>(arguments_, ObjectType::range) != nullptr;
    const size_t count = arguments_.is_tuple() ? arguments_.items().size() : 1;
    if (used_ < count && !is_mapping && !(arguments_.is_tuple() && count == 0)) {
      fail("not all arguments converted during string formatting");
    }
    return Value::text(std::move(out_), format_.is_markup());
  }

 private:
  char peek() const {
    if (at_ >= text_.size()) fail("incomplete format");
    return text_.bytes()[at_];
  }

  Value next_argument() {
    if (arguments_.is_tuple()) {
      if (used_ >= arguments_.items().size()) fail("not enough arguments for format string");
      return arguments_.items()[used_++];
    }
    if (used_ > 0) fail("not enough arguments for format string");
    ++used_;
    return arguments_;
  }

  Value keyed_argument() {
    size_t depth = 1;
    const size_t begin = ++at_;
    while (depth > 0) {
      const char c = peek();
      if (c == '(') ++depth;
      if (c == ')') --depth;
      ++at_;
    }
    const std::string_view key = text_.view().substr(begin, at_ - 1 - begin);
    if (!arguments_.is_dict()) {
      if (arguments_.is_undefined()) fail_undefined(arguments_);
      fail("format requires a mapping");
    }
    const Value* const found = arguments_.as_dict().find(key);
    if (found == nullptr) fail("'" + std::string(key) + "'");
    return *found;
  }

  int64_t number_or_star() {
    if (peek() == '*') {
      ++at_;
      const Value value = next_argument();
      if (!value.is_integral()) fail("* wants int");
      return value.as_integer();
    }
    int64_t value = 0;
    for (; peek() >= '0' && peek() <= '9'; ++at_)
      value = std::min<int64_t>(value * 10 + (peek() - '0'), int64_t{1} << 40);
    return value;
  }

  void conversion(Origin origin) {
    std::optional<Value> argument;
    if (peek() == '(') argument = keyed_argument();
    FormatSpec spec;
    bool zero = false;
    for (;; ++at_) {
      const char c = peek();
      if (c == '-')
        spec.align = '<';
      else if (c == '+')
        spec.sign = '+';
      else if (c == ' ')
        spec.sign = spec.sign == '+' ? '+' : ' ';
      else if (c == '#')
        spec.alternate = true;
      else if (c == '0')
        zero = true;
      else
        break;
    }
    spec.width = number_or_star();
    if (spec.width < 0) spec.align = '<', spec.width = -spec.width;
    if (peek() == '.') {
      ++at_;
      spec.precision = std::max<int64_t>(number_or_star(), 0);
    }
    if (spec.width > kFormatWidthMax || spec.precision > kFormatPrecisionMax)
      fail("a format's width or precision is too large");
    if (peek() == 'l' || peek() == 'h' || peek() == 'L') ++at_;
    const char type = peek();
    ++at_;
    if (type == '%') {
      out_.append("%", origin);
      return;
    }
    if (!argument) argument = next_argument();
    convert(spec, type, zero, *argument);
  }

  void convert(FormatSpec spec, char type, bool zero, const Value& value) {
    if (spec.align == '\0') spec.align = '>';
    switch (type) {
      case 's':
      case 'r':
      case 'a': {
        Text text = type == 's' ? to_text(value)
                                : Text(repr(value), value.holds_user_text() ? Origin::user : Origin::template_source);
        if (format_.is_markup()) text = escaped(type == 's' ? value : Value::text(std::move(text)));
        out_.append(lay_out_text(spec, text));
        return;
      }
      case 'c': character(spec, value); return;
      default: break;
    }
    if (zero && spec.align == '>') spec.align = '=', spec.fill = "0";
    if (std::string_view("diuoxX").find(type) != std::string_view::npos) {
      integer(spec, type, value);
    } else if (std::string_view("eEfFgG").find(type) != std::string_view::npos) {
      require_defined(value);
      if (!value.is_number()) fail("must be real number, not " + std::string(type_name(value)));
      spec.type = type;
      const double real = value.to_real();
      append_number(
          lay_out_number(spec, std::signbit(real) && !std::isnan(real), "", real_digits(spec, std::fabs(real))));
    } else {
      fail("unsupported format character '" + std::string(1, type) + "'");
    }
  }

  void character(const FormatSpec& spec, const Value& value) {
    if (value.is_string() && count_code_points(value.as_text().view()) == 1) {
      out_.append(lay_out_text(spec, value.as_text()));
      return;
    }
    if (!value.is_integral()) fail("%c requires int or char");
    if (value.as_integer() < 0 || value.as_integer() > 0x10FFFF) fail("%c arg not in range(0x110000)");
    std::string text;
    encode(static_cast<uint32_t>(value.as_integer()), text);
    out_.append(lay_out_text(spec, Text(text, Origin::template_source)));
  }

  void integer(FormatSpec spec, char type, const Value& value) {
    require_defined(value);
    const bool decimal = type == 'd' || type == 'i' || type == 'u';
    if (!value.is_integral() && !(decimal && value.is_real())) {
      fail(std::string("%") + type + " format: " + (decimal ? "a real number" : "an integer") + " is required, not " +
           std::string(type_name(value)));
    }
    int64_t number = value.as_integer();
    if (value.is_real()) {
      if (!std::isfinite(value.as_real()) || std::fabs(value.as_real()) >= 9.2e18)
        fail("cannot convert float to integer");
      number = static_cast<int64_t>(value.as_real());
    }
    spec.type = decimal ? 'd' : type;
    std::string digits = integer_digits(spec, number);
    if (spec.precision > static_cast<int64_t>(digits.size())) {
      digits.insert(0, static_cast<size_t>(spec.precision) - digits.size(), '0');
    }
    const std::string prefix = spec.alternate && !decimal ? std::string("0") + type : "";
    append_number(lay_out_number(spec, number < 0, prefix, digits));
  }

  void append_number(const std::string& text) { out_.append(text, Origin::template_source); }

  const Value& format_;
  const Text& text_;
  const Value& arguments_;
  Text out_;
  size_t at_ = 0;
  size_t used_ = 0;
};

}  // namespace

Value format_percent(const Value& format, const Value& arguments) { return PercentFormatter(format, arguments).run(); }

}  // namespace takt::text::jinja
