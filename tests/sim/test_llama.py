"""A Hugging Face Llama on the device: forward, generation, backward and AdamW, all bit-equal to the CPU."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import pytest

TINY_LLAMA = """
import copy, json
from transformers import LlamaConfig, LlamaForCausalLM
torch.manual_seed(0)
config = LlamaConfig(
    hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    vocab_size=128, max_position_embeddings=256,
)
model = LlamaForCausalLM(config).eval()
twin = copy.deepcopy(model).to(D)
ids = torch.randint(0, 128, (2, 16))
found = {}

with torch.no_grad():
    found["forward"] = torch.equal(model(ids).logits, twin(ids.to(D)).logits.cpu())
    torch.ops.accelplug_sim.reset_counters()
    twin(ids.to(D))
    names, values = torch.ops.accelplug_sim.read_counters()
    found["counted"] = dict(zip(names, values[3::6]))

generate = dict(max_new_tokens=16, do_sample=False, pad_token_id=0)
found["generate"] = torch.equal(model.generate(ids, **generate), twin.generate(ids.to(D), **generate).cpu())

losses = []
for network, tokens in ((model, ids), (twin, ids.to(D))):
    network.train()
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3)
    for _ in range(5):
        optimizer.zero_grad()
        loss = network(tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
    losses.append(loss.item())
found["training"] = losses[0] == losses[1] and all(
    torch.equal(p, q.cpu()) and torch.equal(p.grad, q.grad.cpu())
    for p, q in zip(model.parameters(), twin.parameters())
)
print(json.dumps(found))
"""


@pytest.mark.parametrize("name", ["neuron", "spyre"])
def test_a_llama_computes_generates_and_trains_as_on_the_cpu(
    simulated: Callable[..., subprocess.CompletedProcess[str]], name: str
) -> None:
    found = json.loads(simulated(name, TINY_LLAMA).stdout.splitlines()[-1])

    counted = found.pop("counted")
    assert found == {"forward": True, "generate": True, "training": True}
    assert counted["aten::mm"] == 15  # 7 projections in each of 2 layers, and the head
    assert counted["aten::silu"] == 2
