"""PyTorch on whatever device accelplug picks: `python examples/pytorch.py`."""

import torch
from torch import nn

import accelplug

device = accelplug.auto()
print(accelplug.devices())
print(f"\nputting tensors on {device.torch_device}")

model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 10)).to(device.torch_device)
with torch.inference_mode():
    digits = model(torch.randn(32, 64, device=device.torch_device)).argmax(dim=1)
print(f"{digits.numel()} answers, computed on {digits.device}: {digits.tolist()}")
