"""A tokenizer without training data: a token for each byte."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

SPECIAL = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
IDS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}  # for a model's configuration

TEMPLATE = """\
{{ bos_token }}{% for message in messages %}{{ message.role }}: {% if message.content is string %}{{ message.content }}\
{% else %}{% for part in message.content %}{% if part.type == 'text' %}{{ part.text }}{% else %}<image>{% endif %}\
{% endfor %}{% endif %}
{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"""


def tokenizer(
    marks: Sequence[str] = (), template: str | None = TEMPLATE, multiple: int = 64
) -> PreTrainedTokenizerFast:
    """One with ``marks`` as further special tokens.

    The vocabulary is filled up to a ``multiple``, so that whatever a random model says has a text, and so that several
    devices can share it out.
    """
    from tokenizers import processors
    from transformers import PreTrainedTokenizerFast

    core = of_bytes(marks, multiple)
    core.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A </s> $B", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        additional_special_tokens=[*marks],
        chat_template=template,
        model_max_length=512,
        **SPECIAL,
    )


def of_bytes(marks: Sequence[str] = (), multiple: int = 1) -> Tokenizer:
    """What is beneath such a tokenizer: its vocabulary. On its own it adds nothing before or behind a text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    words = [*SPECIAL.values(), *marks, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    words += [f"<fill{number}>" for number in range(-len(words) % multiple)]
    made = Tokenizer(models.BPE({word: number for number, word in enumerate(words)}, [], unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    return made
