// The tokenizer keys of a GGUF file, checked.
#pragma once

#include "base/error.h"
#include "gguf/file.h"
#include "text/vocabulary_data.h"

namespace takt::text {

// Copies what is needed, so that the file may be closed. Errors: not_found for a missing tokenizer.ggml.model or .tokens;
// invalid_file for a value of another type, arrays of different lengths or an id that is not in the vocabulary, naming the key.
base::Result<VocabularyData> read_vocabulary(const gguf::File& file);

}  // namespace takt::text
