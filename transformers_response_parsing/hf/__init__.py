# SPDX-License-Identifier: Apache-2.0
"""The plugin for transformers. Importing it changes nothing and imports neither transformers nor torch."""

from __future__ import annotations

from .plugin import PluginStatus, disable, enable, status
from .streamer import ResponseStreamer

__all__ = ["PluginStatus", "ResponseStreamer", "disable", "enable", "status"]
