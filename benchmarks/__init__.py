# SPDX-License-Identifier: Apache-2.0
"""Speed and memory of this package, beside the parser that transformers 5.13 and later bring along.

`python -m benchmarks` runs all of it; see README.md in this folder.
"""
