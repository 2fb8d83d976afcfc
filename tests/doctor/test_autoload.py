"""C11: another package's entry point in ``torch.backends`` that ends `import torch`."""

from __future__ import annotations

import json

from findings import bad

from accelplug.doctor import Level, autoload

BROKEN = {"acme_torch/__init__.py": "raise OSError('libacme.so: undefined symbol: acme_open')\n"}
HARMLESS = {"zeta_torch.py": "def autoload(): pass\n"}


def test_doctor_finds_an_autoloader_that_ends_import_torch_without_importing_torch(packages):
    packages.install("acme-torch", entry_points={"torch.backends:acme": "acme_torch:autoload"}, files=BROKEN)
    assert "Failed to load the backend extension: acme" in packages.python("-c", "import torch").stderr
    assert packages.python("-c", "import torch", TORCH_DEVICE_BACKEND_AUTOLOAD="0").returncode == 0

    done = packages.python("-m", "accelplug", "doctor", "--json")
    assert done.returncode == 1, done.stderr
    (finding,) = [f for f in json.loads(done.stdout)["findings"] if f["check"] == "torch autoload"]
    assert finding["level"] == "error"
    assert "acme = acme_torch:autoload (acme-torch 1.0) ends `import torch`" in finding["summary"]
    assert "undefined symbol: acme_open" in finding["summary"]
    assert "TORCH_DEVICE_BACKEND_AUTOLOAD=0" in finding["remedy"]
    assert "pip uninstall acme-torch" in finding["remedy"]
    assert 'acme_torch/__init__.py", line 1' in finding["details"]["traceback"]


def test_an_autoloader_whose_module_is_gone_is_an_error(packages):
    packages.install("acme-torch", entry_points={"torch.backends:acme": "acme_torch:autoload"})
    (finding,) = autoload.checks(packages.host())
    assert finding.level is Level.error
    assert "No module named 'acme_torch'" in finding.summary


def test_an_autoloader_that_ends_the_process_is_an_error(packages):
    files = {"acme_torch.py": "import os\nos._exit(0)\n"}
    packages.install("acme-torch", entry_points={"torch.backends:acme": "acme_torch:autoload"}, files=files)
    (finding,) = autoload.checks(packages.host())
    assert (finding.level, "said nothing" in finding.summary) == (Level.error, True)


def test_a_broken_autoloader_that_is_switched_off_is_only_a_warning(packages):
    packages.install("acme-torch", entry_points={"torch.backends:acme": "acme_torch:autoload"}, files=BROKEN)
    (finding,) = autoload.checks(packages.host(TORCH_DEVICE_BACKEND_AUTOLOAD="0"))
    assert finding.level is Level.warning


def test_one_autoloader_that_imports_is_fine(packages):
    packages.install("zeta-torch", entry_points={"torch.backends:zeta": "zeta_torch:autoload"}, files=HARMLESS)
    assert bad(autoload.checks(packages.host())) == []


def test_two_autoloaders_are_a_warning_that_names_both(packages):
    for name in ("acme", "zeta"):
        files = {f"{name}_torch.py": HARMLESS["zeta_torch.py"]}
        packages.install(
            f"{name}-torch", entry_points={"torch.backends:" + name: f"{name}_torch:autoload"}, files=files
        )
    (finding,) = bad(autoload.checks(packages.host()))
    assert finding.level is Level.warning
    assert "acme (acme-torch 1.0) and zeta (zeta-torch 1.0)" in finding.summary
    assert "pip uninstall acme-torch or zeta-torch" in finding.remedy
