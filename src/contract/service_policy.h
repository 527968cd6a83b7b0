// What the operator promised to each service class, and how the scheduler may keep it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/units.h"
#include "contract/request.h"

namespace takt::contract {

inline constexpr size_t kServiceClassCount = 3;
inline constexpr std::array<ServiceClass, kServiceClassCount> kServiceClasses{
    ServiceClass::interactive, ServiceClass::batch, ServiceClass::background};

// The limits of one class. Nothing: no promise.
struct ClassLimits {
  std::optional<base::Micros> ttft_max;  // submission to first token
  std::optional<base::Micros> itl_max;   // the gap between two tokens
  uint32_t decode_rows_reserved = 0;     // rows that other classes leave free for this one
  bool operator==(const ClassLimits&) const = default;
};

// What happens to a request that is not expected to keep its class's TTFT limit.
enum class LateAdmission : uint8_t {
  accept,  // it comes in, with the prediction in its answer
  refuse,  // it is refused at once, with the time after which it would have a chance
};

struct ServicePolicy {
  std::array<ClassLimits, kServiceClassCount> classes;
  // The longest step when nobody's gap is limited by a class: so long a newcomer or a cancel may go unseen.
  base::Micros step_us_max{250'000};
  LateAdmission late_admission = LateAdmission::accept;

  const ClassLimits& of(ServiceClass service_class) const { return classes[static_cast<size_t>(service_class)]; }
  ClassLimits& of(ServiceClass service_class) { return classes[static_cast<size_t>(service_class)]; }
  bool operator==(const ServicePolicy&) const = default;
};

}  // namespace takt::contract
