"""The controlled experiment: drives an engine run by run and keeps everything that it measured."""
