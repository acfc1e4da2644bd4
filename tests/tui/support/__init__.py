"""What the tests of the screen share: scenes, a fake session, text grids, a real terminal."""
