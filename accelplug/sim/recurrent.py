"""LSTM and GRU cells. PyTorch calls its fused CUDA cells for every out-of-tree device; these say what they compute."""

from __future__ import annotations

from typing import Any

_library: Any = None  # kept: its registrations go when it does


def register() -> None:
    """Registers both cells, as compositions that autograd differentiates."""
    global _library
    import torch

    _library = torch.library.Library("aten", "IMPL")
    for key in ("AutogradPrivateUse1", "PrivateUse1"):
        _library.impl("_thnn_fused_lstm_cell", _lstm_cell, key)
        _library.impl("_thnn_fused_gru_cell", _gru_cell, key)


def _lstm_cell(from_input: Any, from_hidden: Any, cell: Any, input_bias: Any = None, hidden_bias: Any = None) -> Any:
    """The four gates from their two halves, [batch, 4 * hidden]: hidden state, cell state, and no workspace."""
    gates = _plus(from_input, input_bias) + _plus(from_hidden, hidden_bias)
    let_in, forget, new, out = gates.chunk(4, 1)
    cell = forget.sigmoid() * cell + let_in.sigmoid() * new.tanh()
    return out.sigmoid() * cell.tanh(), cell, gates.new_empty(0)


def _gru_cell(from_input: Any, from_hidden: Any, hidden: Any, input_bias: Any = None, hidden_bias: Any = None) -> Any:
    """The three gates from their two halves, [batch, 3 * hidden]: hidden state, and no workspace."""
    reset_in, update_in, new_in = _plus(from_input, input_bias).chunk(3, 1)
    reset_hidden, update_hidden, new_hidden = _plus(from_hidden, hidden_bias).chunk(3, 1)
    reset = (reset_in + reset_hidden).sigmoid()
    update = (update_in + update_hidden).sigmoid()
    new = (new_in + reset * new_hidden).tanh()
    return (hidden - new) * update + new, new.new_empty(0)


def _plus(tensor: Any, bias: Any) -> Any:
    return tensor if bias is None else tensor + bias
