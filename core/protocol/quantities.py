"""The figures of events and results as types: what cannot be is refused where a file or the pipe is read.

So all that was read can be analysed and drawn without a division by zero or a negative bar. Only decoding
checks, and with the field's path in its message; constructing an event costs nothing more.
"""

from typing import Annotated

from msgspec import Meta

MOST = 2**63 - 1
"""Clock readings are signed 64-bit integers, and nothing here counts further."""

Count = Annotated[int, Meta(ge=0, le=MOST)]
Positive = Annotated[int, Meta(ge=1, le=MOST)]
Ns = Count
"""A clock reading or a duration."""

Amount = Annotated[float, Meta(ge=0, lt=2.0**63)]
"""A share in percent, a load, a rate: whatever is measured and never negative."""

Distance = Annotated[float, Meta(ge=0)]
"""Of two logits, which broken weights can drive to any finite size."""

Share = Annotated[float, Meta(ge=0, le=1)]
BytesPerSecond = Annotated[float, Meta(ge=1, lt=2.0**63)]
Celsius = Annotated[int, Meta(ge=-273, lt=1000)]
