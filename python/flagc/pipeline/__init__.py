"""Passes, stages, anchors, the pass manager, its instrumentation and the cache key."""
