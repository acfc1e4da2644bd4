"""The controlled experiment without a screen: modes in turns, a result with every raw sample."""
