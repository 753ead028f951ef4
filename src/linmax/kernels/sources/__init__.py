"""The kernels of sources that generate votes or attributes."""
