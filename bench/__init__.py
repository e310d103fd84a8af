"""Speed and quality beside peers, in one run. `make bench` writes docs/benchmarks.md."""
