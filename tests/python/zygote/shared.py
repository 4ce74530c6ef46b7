"""Preloaded: something that keeps memory which children would share."""

import mmap

memory = mmap.mmap(-1, 4096)
