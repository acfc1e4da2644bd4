"""Results as text that pastes anywhere: tables and cards of 80 columns, or wider ones."""
