// The result table of `takt bench` in llama-bench's columns, so that results paste side by side, and one more: the share of this
// machine's ceiling.
#pragma once

#include <string>
#include <vector>

#include "bench/roofline.h"
#include "bench/throughput.h"
#include "model/model.h"

namespace takt::apps {

// md, json, jsonl or csv.
class BenchTable {
 public:
  BenchTable(std::string format, std::string model_path, const model::Model& model, Roofline roofline);
  // Prints at once, except for json, whose list ends with finish().
  void add(const ThroughputResult& result);
  void finish();

 private:
  struct Statistics {
    double average_ns, deviation_ns, average_rate, deviation_rate;
    double mfu, mbu;  // percent, of a test that is all prefill or all decode; else 0
    std::vector<double> rates;
  };
  Statistics statistics(const ThroughputResult& result) const;
  void add_markdown(const ThroughputResult& result, const Statistics& statistics) const;
  // (name, value as JSON) in order.
  std::vector<std::pair<std::string, std::string>> fields(const ThroughputResult& result,
                                                          const Statistics& statistics) const;

  std::string format_, model_path_;
  const model::Model& model_;
  Roofline roofline_;
  int row_count_ = 0;
};

}  // namespace takt::apps
