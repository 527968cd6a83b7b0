// What stands between the sampler and the reader: end tokens, incremental decoding and stop strings in one.
#pragma once

#include <memory>
#include <string>

#include "contract/ports.h"
#include "text/detokenizer.h"
#include "text/stop_strings.h"
#include "text/vocabulary.h"

namespace takt::text {

class OutputFilter final : public contract::StopDetector {
 public:
  struct Options {
    bool ignore_eos = false;    // end tokens do not end the answer (and give no text)
    bool show_special = false;  // control tokens appear by their names, an end token that ends the answer not
  };
  OutputFilter(std::shared_ptr<const Vocabulary> vocabulary, StopStrings stop_strings, Options options);

  // The joined texts of all verdicts, and of finish() if no verdict was a stop, are the answer.
  Verdict accept(TokenId token) override;
  std::string finish() override;

 private:
  std::shared_ptr<const Vocabulary> vocabulary_;
  StreamDecoder decoder_;
  StopStrings stop_strings_;
  Options options_;
};

}  // namespace takt::text
