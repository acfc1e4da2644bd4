"""The machine, read without torch: processor, control group, threads, NVML."""
