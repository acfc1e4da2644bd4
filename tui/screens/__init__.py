"""What fills the terminal: the live screen and the pages that keys open."""
