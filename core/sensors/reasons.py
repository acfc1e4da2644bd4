"""Names of NVML's clock event reasons (nvml.h, ``nvmlClocksEventReasons``)."""

_NAMES = (
    (0x001, "GPU idle"),
    (0x002, "application clocks"),
    (0x004, "software power cap"),
    (0x008, "hardware slowdown"),
    (0x010, "sync boost"),
    (0x020, "software thermal slowdown"),
    (0x040, "hardware thermal slowdown"),
    (0x080, "power brake"),
    (0x100, "display clock"),
    (0x200, "board limit"),
    (0x400, "reliability"),
)
_KNOWN = sum(bit for bit, _ in _NAMES)


def event_reason_names(mask: int) -> tuple[str, ...]:
    """Why clocks are below their maximum, lowest bit first; bits without a name as hex.

    Bits beyond those known here are kept, because newer drivers add some.
    """
    names = [name for bit, name in _NAMES if mask & bit]
    unknown = mask & ~_KNOWN
    if unknown:
        names.append(f"unknown {unknown:#x}")
    return tuple(names)
