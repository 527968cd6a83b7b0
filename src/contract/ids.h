// Names of things that cross layers.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace takt::contract {

using TokenId = int32_t;

// A request's number, unique within one process. The public id (`x-request-id`) is the server's affair.
struct RequestId {
  uint64_t value = 0;
  auto operator<=>(const RequestId&) const = default;
};

// A KV page: `ModelShape::page_tokens` token positions of every layer. The bytes belong to the engine.
struct PageId {
  uint32_t value = 0;
  auto operator<=>(const PageId&) const = default;
};

}  // namespace takt::contract

template <>
struct std::hash<takt::contract::RequestId> {
  size_t operator()(const takt::contract::RequestId& id) const noexcept { return std::hash<uint64_t>{}(id.value); }
};
