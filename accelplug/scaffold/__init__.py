"""What ``accelplug new`` writes: a vendor's package, from templates.

`answers` are what is asked of the chip, `names` says which names a backend may have, `writing` makes the files of
``templates/``. jinja2 is imported when a package is written, and not before.
"""

from accelplug.scaffold.answers import Answers
from accelplug.scaffold.writing import Written, write

__all__ = ["Answers", "Written", "write"]
