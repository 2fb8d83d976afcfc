"""The simulated accelerator: it stands in for a vendor's SDK *below* the backend, whose own code runs unchanged.

``ACCELPLUG_SIMULATE`` names a profile (`profile`), which a backend brings (`brought`) or a file is. From it come a
machine for the backend's probe to look at (`machine`) and an SDK for its ``load`` to import (`sdk`), which registers a
PyTorch device (`device`, `module`) made of a C++ library (`csrc`, `build`). docs/simulator.md says what is modelled and
what is not.

Nothing here is imported unless a simulation is asked for.
"""
