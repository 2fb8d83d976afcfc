"""The few sizes that the dimensions of a step take on a device with static shapes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from accelplug.buckets import Ladder, default_ladder
from accelplug.errors import BadInputError
from accelplug.specs import Constraints
from accelplug_vllm import compat
from accelplug_vllm.native.options import FLAG, KEY, Options, read, refuse_sizes

if TYPE_CHECKING:
    from accelplug_vllm.native.device import NativeDevice


@dataclass(frozen=True)
class Shapes:
    """Ladders: ``tokens`` of a step, ``sequences`` computed together, ``keys`` that the longest of those has."""

    tokens: Ladder
    sequences: Ladder
    keys: Ladder


def of(vllm_config: Any, here: NativeDevice) -> Shapes | None:
    """The shapes on this device; None where it takes any. The same in each process of a server.

    Raises BadInputError where they can't hold a step, or are given for a device that takes any shape.
    """
    options, constraints = read(vllm_config.additional_config), here.constraints
    if not constraints.static_shapes:
        refuse_sizes(options, f"{here.title} takes any shape")
        return None
    if reason := compat.why_off(compat.STATIC_SHAPES):
        refuse_sizes(options, reason)
        return None
    scheduler, model = vllm_config.scheduler_config, vllm_config.model_config
    tokens = _ladder(constraints, options.tokens, scheduler.max_num_batched_tokens, smallest=16)
    # A device's own buckets are for lengths: few requests would be padded to many
    lengthless = constraints.model_copy(update={"buckets": ()})
    sequences = _ladder(lengthless, options.sequences, scheduler.max_num_seqs, smallest=1)
    longest = model.max_model_len if model else 1
    if model and model.is_encoder_decoder:  # the encoder may say more than the decoder's context holds
        longest = max(longest, scheduler.max_num_encoder_input_tokens or 0)
    made = Shapes(tokens, sequences, _ladder(constraints, "", longest, smallest=16))
    _check(made, options, vllm_config)
    return made


def bound(vllm_config: Any, shapes: Shapes) -> None:
    """Makes vLLM's limits those of the ladders, so that no step is above them."""
    vllm_config.scheduler_config.max_num_batched_tokens = shapes.tokens.largest
    vllm_config.scheduler_config.max_num_seqs = shapes.sequences.largest


def _ladder(constraints: Constraints, setting: str, largest: int, *, smallest: int) -> Ladder:
    ladder = default_ladder(constraints, largest, setting=setting, smallest=smallest)
    assert ladder is not None, "the device has static shapes"
    return ladder


def _check(shapes: Shapes, options: Options, vllm_config: Any) -> None:
    tokens, sequences = shapes.tokens.largest, shapes.sequences.largest
    if tokens < sequences:
        raise BadInputError(
            f"{FLAG} {KEY}.tokens: the largest size, {tokens}, is less than the {sequences} requests that a step may "
            "have, each with a token; make it larger, or lower --max-num-seqs"
        )
    model, scheduler = vllm_config.model_config, vllm_config.scheduler_config
    if model is not None and not scheduler.enable_chunked_prefill and tokens < model.max_model_len:
        raise BadInputError(
            f"{FLAG} {KEY}.tokens: the largest size, {tokens}, is less than --max-model-len {model.max_model_len}, and "
            "prompts run whole here; make it as large, or lower --max-model-len"
        )
    if options.after_warm_up == "error" and not options.warm_up:
        raise BadInputError(
            f"{FLAG} {KEY}: nothing is compiled before the first request (warm_up is false), and nothing may be "
            'compiled in service (after_warm_up is "error"): no request could run; change one of them'
        )
