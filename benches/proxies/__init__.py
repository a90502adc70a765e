"""The parts of `benches/proxies.py`: whole systems on loopback, measured side by side."""
