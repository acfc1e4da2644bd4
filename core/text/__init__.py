"""Words: units, names, phrases and reasons, each made in one place."""
