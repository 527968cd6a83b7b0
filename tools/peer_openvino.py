"""Run by the python of OpenVINO's own environment: `peer_openvino.py FILE THREADS PROMPT_TOKENS DECODE_TOKENS`.

Prints {"prefill": tokens/s, "decode": tokens/s} from the library's own measurements of one warm run with random ids.
"""
import json
import random
import sys

import numpy
import openvino
import openvino_genai


def main(path, threads, prompt_tokens, decode_tokens):
    pipeline = openvino_genai.LLMPipeline(path, "CPU", INFERENCE_NUM_THREADS=threads)
    random.seed(1)
    ids = numpy.array([[random.randrange(100, 40000) for _ in range(prompt_tokens)]], dtype=numpy.int64)
    inputs = openvino_genai.TokenizedInputs(openvino.Tensor(ids), openvino.Tensor(numpy.ones_like(ids)))
    config = pipeline.get_generation_config()
    config.apply_chat_template, config.ignore_eos, config.do_sample = False, True, False
    config.max_new_tokens = 1 + decode_tokens
    pipeline.generate(inputs, config)
    metrics = pipeline.generate(inputs, config).perf_metrics
    print(json.dumps({"prefill": prompt_tokens / metrics.get_ttft().mean * 1000,
                      "decode": 1000 / metrics.get_tpot().mean if decode_tokens else 0}))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
