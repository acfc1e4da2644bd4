"""Result files: what `bench` and `check` measured, and figures that others published."""
