"""How Polars' allocator is to behave: it reads the environment as Polars is loaded, so this comes first."""

import os


def lean() -> None:
    """Have Polars give back soon what a block has freed: 1 GB in a sixth less memory, for some hundredths of the time."""
    os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:200,muzzy_decay_ms:0,narenas:1")
