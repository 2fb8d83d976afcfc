"""Which sizes to measure: those of a checkpoint, or of a published model whose weights need not be there."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from accelplug.bench.records import ModelSizes
from accelplug.errors import BadInputError, did_you_mean

CONFIG = "config.json"

DEFAULT = "smollm2-135m"

# From the config.json that each is published with.
PUBLISHED = {
    each.name: each
    for each in (
        ModelSizes(
            name="smollm2-135m",
            hidden=576,
            layers=30,
            heads=9,
            kv_heads=3,
            head_size=64,
            intermediate=1536,
            vocabulary=49152,
        ),
        ModelSizes(
            name="qwen3-0.6b",
            hidden=1024,
            layers=28,
            heads=16,
            kv_heads=8,
            head_size=128,
            intermediate=3072,
            vocabulary=151936,
        ),
        ModelSizes(
            name="llama-3.1-8b",
            hidden=4096,
            layers=32,
            heads=32,
            kv_heads=8,
            head_size=128,
            intermediate=14336,
            vocabulary=128256,
        ),
    )
}


def sizes(model: str) -> ModelSizes:
    """The sizes of ``model``: a name in `PUBLISHED`, a folder with a checkpoint, or a name on the Hub.

    Raises BadInputError for anything else, and for a model without the parts that are measured.
    """
    if model in PUBLISHED:
        return PUBLISHED[model]
    folder = Path(model)
    if (folder / CONFIG).is_file():
        return _of_config(_read(folder / CONFIG, model), folder.absolute().name, model)
    if folder.is_dir():
        raise BadInputError(f"--model {model}: the folder has no {CONFIG}, so it is no checkpoint")
    if "/" not in model or folder.is_absolute():
        raise BadInputError(
            f"--model {model!r} is neither a folder nor known{did_you_mean(model, PUBLISHED)}; known sizes: "
            f"{', '.join(PUBLISHED)}; or give a checkpoint's folder, or OWNER/NAME on the Hub"
        )
    return _of_config(_from_the_hub(model), model, model)


def is_checkpoint(model: str) -> bool:
    """Whether there are weights that can be served, and not just sizes."""
    return model not in PUBLISHED


def _read(path: Path, model: str) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BadInputError(f"--model {model}: its {CONFIG} is no JSON: {error}") from None
    if not isinstance(config, dict):
        raise BadInputError(f"--model {model}: its {CONFIG} is no JSON object")
    return config


def _from_the_hub(model: str) -> dict[str, Any]:
    if find_spec("transformers") is None:
        raise BadInputError(f"--model {model}: a name on the Hub needs transformers: pip install transformers")
    from transformers import AutoConfig

    try:
        config: dict[str, Any] = AutoConfig.from_pretrained(model).to_dict()
    except (OSError, ValueError) as error:
        raise BadInputError(f"--model {model} can't be had from the Hub: {str(error).splitlines()[0]}") from None
    return config


def _of_config(config: dict[str, Any], name: str, model: str) -> ModelSizes:
    config = config.get("text_config") or config  # of a model with images, the part that writes
    try:
        heads = config["num_attention_heads"]
        return ModelSizes(
            name=name,
            hidden=config["hidden_size"],
            layers=config["num_hidden_layers"],
            heads=heads,
            kv_heads=config.get("num_key_value_heads") or heads,
            head_size=config.get("head_dim") or config["hidden_size"] // heads,
            intermediate=config["intermediate_size"],
            vocabulary=config["vocab_size"],
        )
    except KeyError as error:
        raise BadInputError(
            f"--model {model}: its {CONFIG} has no {error.args[0]}; decoder-only models with gated MLPs, such as "
            "Llama, Qwen, Mistral and Granite, can be measured"
        ) from None
    except ValidationError as error:
        first = error.errors()[0]
        raise BadInputError(f"--model {model}: in its {CONFIG}, {first['loc'][0]}: {first['msg']}") from None
