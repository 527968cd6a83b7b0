// The fields that say how tokens are chosen.
#pragma once

#include "contract/generation.h"
#include "server/openai/fields.h"
#include "server/openai/generation_request.h"

namespace takt::server {

// Fills out.sampling and out.is_seed_negative. Errors go to the reader.
void read_sampling(FieldReader& reader, const ApiLimits& limits, uint32_t vocabulary_size, uint32_t context_tokens,
                   GenerationRequest& out);

}  // namespace takt::server
