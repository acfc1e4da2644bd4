"""What can be measured on this machine, what cannot, why, and what would change that.

Nothing here imports torch: the engine's part is answered by an engine process, or, where none
is asked, by what is installed.
"""

from idlegap.core.doctor.collect import (
    ENGINE_TIMEOUT_S,
    EngineAnswer,
    ask_engine,
    doctor_settings,
    read_folders,
    read_sensors,
    read_software,
)
from idlegap.core.doctor.diagnosis import Diagnosis, Finding, Section, diagnose

__all__ = [
    "ENGINE_TIMEOUT_S",
    "Diagnosis",
    "EngineAnswer",
    "Finding",
    "Section",
    "ask_engine",
    "diagnose",
    "doctor_settings",
    "read_folders",
    "read_sensors",
    "read_software",
]
