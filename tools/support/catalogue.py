"""What people do with vLLM: each feature is a function of an ``LLM`` that returns what is compared between devices.

Features that can share an engine do: what they have in common is a `Start`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from accelplug_vllm.tiny.models import RANK, SIDE, checkpoint


@dataclass(frozen=True)
class Feature:
    """``run(llm)`` returns something as JSON has it: numbers in it that aren't whole agree within ``tolerance``."""

    name: str
    run: Callable[[Any], Any]
    tolerance: float = 0.0


@dataclass(frozen=True)
class Start:
    """An ``LLM`` of a tiny model. ``flag`` is the option that asks for it, which a refusal has to name; "" for none."""

    model: str
    features: tuple[Feature, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    flag: str = ""


SMALL: dict[str, Any] = {
    "max_model_len": 512,
    "max_num_seqs": 4,
    "max_num_batched_tokens": 128,
    "block_size": 64,
    "kv_cache_memory_bytes": 32 << 20,
    "dtype": "float32",  # so that tokens are the same, and not only likely to be
    "enforce_eager": True,
    "seed": 0,
}
WHOLE = {"max_num_batched_tokens": 512}  # for models that take their input at once
PROMPTS = ["The capital of France is", "one two three " * 12, "def fib(n):", "?", "A list of colours: red, green, "]
MANY_STEPS = "many words " * 30  # more tokens than a step takes
CLOSE = 1e-4  # how far numbers that were computed in float32 in another order may be apart


def _greedy(count: int, **more: Any) -> Any:
    from vllm import SamplingParams

    return SamplingParams(temperature=0, max_tokens=count, ignore_eos=True, **more)


def _tokens(outputs: Any) -> list[list[int]]:
    return [list(output.outputs[0].token_ids) for output in outputs]


def _generate(llm: Any, prompts: Any, count: int = 16, **more: Any) -> list[list[int]]:
    return _tokens(llm.generate(prompts, _greedy(count, **more), use_tqdm=False))


def completion(llm: Any) -> Any:
    return _generate(llm, PROMPTS)


def chat(llm: Any) -> Any:
    talk = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]
    asked = [[*talk, {"role": "user", "content": prompt}] for prompt in PROMPTS[:2]]
    return _tokens(llm.chat(asked, _greedy(16), use_tqdm=False))


def chunked_prefill(llm: Any) -> Any:
    """A prompt of three steps, beside short ones."""
    return _generate(llm, [MANY_STEPS, *PROMPTS[:2]])


def prefix_caching(llm: Any) -> Any:
    """The second time, the whole blocks of a prompt come out of the cache."""
    prompt = "a prefix that many have in common " * 5
    runs = [llm.generate(prompt + end, _greedy(8), use_tqdm=False)[0] for end in ("one", "two")]
    return {"tokens": _tokens(runs), "cached": [run.num_cached_tokens for run in runs]}


def logprobs(llm: Any) -> Any:
    (run,) = llm.generate(PROMPTS[0], _greedy(6, logprobs=3, prompt_logprobs=2), use_tqdm=False)
    return [
        [[token, entry.logprob] for token, entry in sorted(position.items())]
        for position in (*run.prompt_logprobs[1:], *run.outputs[0].logprobs)
    ]


def stop_strings(llm: Any) -> Any:
    """Stops at the first printable character of what the model says."""
    from vllm import SamplingParams

    text = llm.generate(PROMPTS[0], _greedy(30), use_tqdm=False)[0].outputs[0].text
    stop = next(letter for letter in text[4:] if letter.isascii() and letter.isprintable())
    params = SamplingParams(temperature=0, max_tokens=30, ignore_eos=True, stop=[stop])
    (found,) = llm.generate(PROMPTS[0], params, use_tqdm=False)[0].outputs
    assert found.text == text[: text.index(stop)]
    return [found.text, found.finish_reason, found.stop_reason]


def structured_output(llm: Any) -> Any:
    import json

    from vllm.sampling_params import SamplingParams, StructuredOutputsParams

    # A byte is a token here, so lengths are bounded by patterns; grammars of whole words would be another model's.
    name = {"type": "string", "pattern": "^[a-z]{1,8}$"}
    schema = {"type": "object", "properties": {"name": name, "ok": {"type": "boolean"}}, "required": ["name", "ok"]}
    asked: list[dict[str, Any]] = [
        {"json": schema | {"additionalProperties": False}},
        {"choice": ["red", "blue"]},
        {"regex": "[0-9]{3}-[a-f]{2}"},
    ]
    params = [
        SamplingParams(temperature=0, max_tokens=60, structured_outputs=StructuredOutputsParams(**how)) for how in asked
    ]
    texts = [run.outputs[0].text for run in llm.generate(PROMPTS[:3], params, use_tqdm=False)]
    assert set(json.loads(texts[0])) == {"name", "ok"}
    assert texts[1] in ("red", "blue")
    return texts


def penalties(llm: Any) -> Any:
    changed: dict[str, Any] = {"repetition_penalty": 1.3, "presence_penalty": 0.5, "frequency_penalty": 0.2}
    return _generate(llm, PROMPTS, min_tokens=4, logit_bias={70: 2.0}, bad_words=["a"], **changed)


def seeded_sampling(llm: Any) -> Any:
    """A device has random numbers of its own: the same seed gives the same tokens there, and not the CPU's."""
    return _repeats_itself(llm, PROMPTS)


def seeded_prompt_in_steps(llm: Any) -> Any:
    """As above, with a prompt that is run in several steps beside short ones."""
    return _repeats_itself(llm, [MANY_STEPS, *PROMPTS[:2]])


def _repeats_itself(llm: Any, prompts: list[str]) -> dict[str, bool]:
    from vllm import SamplingParams

    params = SamplingParams(temperature=1, top_p=0.9, top_k=50, min_p=0.01, seed=7, max_tokens=12)
    first, second = (_tokens(llm.generate(prompts, params, use_tqdm=False)) for _ in range(2))
    return {"repeats itself": first == second}


def drafts(llm: Any) -> Any:
    """The tokens are those that there are without drafts, and some of the drafts were right."""
    tokens = _generate(llm, PROMPTS, 48)
    counts = {metric.name: metric.value for metric in llm.get_metrics() if hasattr(metric, "value")}
    assert counts["vllm:spec_decode_num_accepted_tokens"] > 0, "no draft was right, so nothing was shown"
    return tokens


def adapters(llm: Any) -> Any:
    """Two LoRA adapters and the base model, each alone and all in one batch."""
    from vllm.lora.request import LoRARequest

    names = ("attention_adapter", "whole_adapter")
    asked = [None, *(LoRARequest(name, number, str(checkpoint(name))) for number, name in enumerate(names, 1))]
    alone = [_tokens(llm.generate(PROMPTS[0], _greedy(12), lora_request=one, use_tqdm=False))[0] for one in asked]
    together = _tokens(llm.generate([PROMPTS[0]] * 3, _greedy(12), lora_request=asked, use_tqdm=False))
    assert alone == together, "an adapter changes what another request gets"
    assert len({tuple(tokens) for tokens in alone}) == 3, "adapters that change nothing show nothing"
    return alone


def embeddings(llm: Any) -> Any:
    return [
        output.outputs.embedding for output in llm.embed(["a quick brown fox", "a slow turtle", "?"], use_tqdm=False)
    ]


def reranking(llm: Any) -> Any:
    documents = ["Paris is in France", "turtles are slow", "?"]
    scores = [output.outputs.score for output in llm.score("where is Paris", documents, use_tqdm=False)]
    assert len(set(scores)) == 3
    return scores


def images(llm: Any) -> Any:
    """Three pictures, three answers."""
    import numpy as np
    from PIL import Image

    down, across = np.mgrid[0:SIDE, 0:SIDE] * 255 // SIDE
    colours = [[across, down, 0 * down], [255 - across, 0 * down, down], [0 * down, across // 64 * 64, 255 - down]]
    pictures = [Image.fromarray(np.stack(colour, -1).astype("uint8")) for colour in colours]
    said = {"type": "text", "text": "what is it?"}
    asked = [[{"role": "user", "content": [{"type": "image_pil", "image_pil": one}, said]}] for one in pictures]
    tokens = _tokens(llm.chat(asked, _greedy(12), use_tqdm=False))
    assert len({tuple(answer) for answer in tokens}) == 3, "the model doesn't see the pictures"
    return tokens


def sound(llm: Any) -> Any:
    """Two tones, at 16,000 samples a second."""
    import numpy as np

    time = np.arange(16000) / 16000
    tones = [np.sin(2 * np.pi * pitch * time).astype("float32") for pitch in (220, 1760)]
    start = "<|startoftranscript|>"
    return _generate(llm, [{"prompt": start, "multi_modal_data": {"audio": (tone, 16000)}} for tone in tones], 12)


def sleep(llm: Any) -> Any:
    llm.sleep(level=1)
    llm.wake_up()
    return completion(llm)


STARTS: dict[str, Start] = {
    "text": Start(
        "llama",
        (
            Feature("completion", completion),
            Feature("chat", chat),
            Feature("chunked prefill", chunked_prefill),
            Feature("prefix caching", prefix_caching),
            Feature("log probabilities of prompt and answer", logprobs, CLOSE),
            Feature("stop strings", stop_strings),
            Feature("structured output: JSON schema, choice, regular expression", structured_output),
            Feature("penalties, biases, bad words", penalties),
            Feature("sampling with a seed", seeded_sampling),
        ),
        {"structured_outputs_config": {"backend": "xgrammar", "disable_any_whitespace": True}},
    ),
    # A slot more than adapters: vLLM's CPU platform gives tokens without an adapter that of the last slot.
    "LoRA": Start(
        "llama",
        (Feature("LoRA adapters", adapters),),
        {"enable_lora": True, "max_loras": 3, "max_lora_rank": RANK},
        "--enable-lora",
    ),
    "window": Start("mistral", (Feature("sliding window", chunked_prefill),)),
    "experts": Start("mixtral", (Feature("mixture of experts", completion),), flag="--model"),
    "latent": Start(
        "deepseek",
        (Feature("latent attention (MLA)", completion),),
        {"block_size": 16, "enable_prefix_caching": False, **WHOLE},
        "--model",
    ),
    "embeddings": Start(
        "bert", (Feature("embeddings", embeddings, CLOSE),), {"runner": "pooling", **WHOLE}, "--runner pooling"
    ),
    "reranking": Start(
        "reranker", (Feature("reranking", reranking, CLOSE),), {"runner": "pooling", **WHOLE}, "--runner pooling"
    ),
    "images": Start(
        "idefics3", (Feature("images", images),), {"limit_mm_per_prompt": {"image": 1}, **WHOLE}, "--model"
    ),
    "sound": Start(
        "whisper", (Feature("sound: an encoder and a decoder", sound),), {"max_model_len": 128, **WHOLE}, "--model"
    ),
    "other drafts": Start(
        "llama",
        (Feature("speculative decoding with n-grams on the device (ngram_gpu)", completion),),
        {"speculative_config": {"method": "ngram_gpu", "num_speculative_tokens": 3, "prompt_lookup_max": 3}},
        "--speculative-config",
    ),
    "sleep": Start("llama", (Feature("sleep mode", sleep),), {"enable_sleep_mode": True}, "--enable-sleep-mode"),
    "four bits": Start(
        "compressed4",
        (Feature("quantised weights, compressed-tensors of 4 bits", completion),),
        flag="--quantization",
    ),
    "fp8 weights": Start(
        "llama",
        (Feature("quantisation, fp8", completion),),
        {"quantization": "fp8", "dtype": "bfloat16"},
        "--quantization",
    ),
    "fp8 cache": Start(
        "llama", (Feature("KV cache in fp8", completion),), {"kv_cache_dtype": "fp8"}, "--kv-cache-dtype"
    ),
    # By itself: vLLM 0.32 ends where its CPU platform comes to such a request.
    "seeds": Start("llama", (Feature("sampling with a seed, with a prompt of several steps", seeded_prompt_in_steps),)),
    # The last: it loads numba, after which vLLM 0.32's CPU platform can't start another engine in the same process.
    "n-gram drafts": Start(
        "llama",
        (Feature("speculative decoding with n-grams", drafts),),
        {
            "speculative_config": {
                "method": "ngram",
                "num_speculative_tokens": 3,
                "prompt_lookup_max": 3,
                "prompt_lookup_min": 1,
            },
            "disable_log_stats": False,
        },
        "--speculative-config",
    ),
}
