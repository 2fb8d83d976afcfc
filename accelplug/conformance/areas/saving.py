"""Tensors and modules are saved, loaded, copied and pickled, and stay on their device or go where they are told."""

from __future__ import annotations

import copy
import io
import pickle

import torch

from accelplug.conformance.checks import check, expect
from accelplug.conformance.comparing import dtype_of, numbers
from accelplug.conformance.subject import Subject

RESTORE = "let torch.save find the device's storages: generate_methods_for_privateuse1_backend(for_storage=True)"


@check(RESTORE)
def tensors_are_saved_and_loaded_to_where_they_are_wanted(subject: Subject) -> None:
    wanted = numbers(subject, 4, 4)
    saved = io.BytesIO()
    on_device = wanted.to(subject.type)
    torch.save({"whole": on_device, "view": on_device[1:3], "parameter": torch.nn.Parameter(on_device)}, saved)
    for place, kind in ((None, subject.type), ("cpu", "cpu"), (subject.type, subject.type)):
        saved.seek(0)
        loaded = torch.load(saved, map_location=place)
        kinds = {tensor.device.type for tensor in loaded.values()}
        expect(kinds == {kind}, f"with map_location={place!r} tensors are on {', '.join(sorted(kinds))}")
        expect(torch.equal(loaded["whole"].cpu(), wanted), "the values are others")
        expect(torch.equal(loaded["view"].cpu(), wanted[1:3]), "the view's values are others")
        loaded["whole"].zero_()
        expect(not loaded["view"].cpu().any(), "the view doesn't share the whole tensor's memory any more")


@check(RESTORE)
def what_the_cpu_has_saved_is_loaded_onto_the_device(subject: Subject) -> None:
    saved = io.BytesIO()
    torch.save(numbers(subject, 3), saved)
    saved.seek(0)
    loaded = torch.load(saved, map_location=torch.device(subject.type))
    expect(loaded.device.type == subject.type, f"it is on {loaded.device}")
    expect(torch.equal(loaded.cpu(), numbers(subject, 3)), "the values are others")


@check("implement clone of storages: deepcopy of a tensor uses it")
def deepcopy_and_pickle_keep_values_and_device(subject: Subject) -> None:
    wanted = numbers(subject, 4, 4)
    on_device = wanted.to(subject.type)
    for name, copied in (
        ("deepcopy", copy.deepcopy(on_device)),
        ("pickle", pickle.loads(pickle.dumps(on_device))),
        ("clone", on_device.clone()),
    ):
        expect(copied.device == on_device.device, f"{name} gives a tensor on {copied.device}")
        expect(torch.equal(copied.cpu(), wanted), f"{name} changes values")
        copied.zero_()
    expect(torch.equal(on_device.cpu(), wanted), "a copy shares memory with its original")


@check("let Module.to move parameters in place: they may have to be replaced, see torch.__future__")
def a_model_goes_there_and_back_with_its_state(subject: Subject) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4)).to(dtype_of(subject))
    wanted = copy.deepcopy(model.state_dict())
    twin = copy.deepcopy(model).to(subject.type)
    kinds = {tensor.device.type for tensor in twin.state_dict().values()}
    expect(kinds == {subject.type}, f"after .to({subject.type!r}) its tensors are on {', '.join(sorted(kinds))}")
    twin.load_state_dict(wanted)
    back = copy.deepcopy(twin).cpu().state_dict()
    for name, tensor in wanted.items():
        expect(torch.equal(back[name], tensor), f"{name} comes back changed")
