#include "text/output_filter.h"

#include <utility>

namespace takt::text {

OutputFilter::OutputFilter(std::shared_ptr<const Vocabulary> vocabulary, StopStrings stop_strings, Options options)
    : vocabulary_(std::move(vocabulary)),
      decoder_(vocabulary_, DecodeOptions{.strip_space_prefix = false, .show_special = options.show_special}),
      stop_strings_(std::move(stop_strings)),
      options_(options) {}

contract::StopDetector::Verdict OutputFilter::accept(TokenId token) {
  const bool is_end = vocabulary_->contains(token) && vocabulary_->is_eog(token);
  if (is_end && !options_.ignore_eos) return {true, finish()};
  StopStrings::Step step = stop_strings_.push(decoder_.push(token));
  return {step.is_stop, std::move(step.text)};
}

std::string OutputFilter::finish() {
  // The U+FFFD of an incomplete character is text like any other: it may complete a stop string.
  StopStrings::Step step = stop_strings_.push(decoder_.finish());
  if (step.is_stop) return std::move(step.text);
  return std::move(step.text) + stop_strings_.finish();
}

}  // namespace takt::text
