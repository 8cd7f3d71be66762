# SPDX-License-Identifier: Apache-2.0
"""Is there a connection to the Hub: asked once, so that nobody waits for its client to try again and again."""

from __future__ import annotations

import os
import ssl
import sys
import urllib.error
import urllib.request

from .usage import UsageError

__all__ = ["look_for_the_hub"]

_OFFLINE = "HF_HUB_OFFLINE"
_PATIENCE = 5.0  # seconds


def look_for_the_hub(*, needed: bool = False) -> None:
    """Before the Hub's client is used first: where there is no connection, make it keep to what is in its cache, and say so.

    The client reads its variables when it is imported. If it is imported already, in somebody's own program, or
    HF_HUB_OFFLINE is set, nothing is asked.

    Raises:
        UsageError: there is no connection, and the cache will not do (`needed`).
    """
    if os.environ.get(_OFFLINE) or "huggingface_hub" in sys.modules:
        return
    endpoint = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
    reason = _why_not(endpoint)
    if reason and needed:
        raise UsageError(f"{endpoint} was not reached ({reason})")
    if reason:
        sys.stderr.write(f"{endpoint} was not reached ({reason}): only what is in the local cache is used\n")
        os.environ[_OFFLINE] = "1"


def _why_not(endpoint: str) -> str:
    """Why there is no connection; "" if there is one, or only the client can tell."""
    proxies = urllib.request.getproxies()
    if "all" in proxies or any(address.startswith("socks") for address in proxies.values()):
        return ""
    try:
        urllib.request.urlopen(urllib.request.Request(endpoint, method="HEAD"), timeout=_PATIENCE).close()  # noqa: S310 -- the Hub's address
    except urllib.error.HTTPError:  # it answered
        return ""
    except urllib.error.URLError as error:
        # Certificates of a company's own are for the client, which may know them.
        reason = error.reason
        if isinstance(reason, ssl.SSLError) or not isinstance(reason, OSError):
            return ""
        return reason.strerror or str(reason)
    except TimeoutError:
        return "no answer"
    except ConnectionError as error:  # hung up before it answered
        return error.strerror or str(error)
    except (OSError, ValueError):
        return ""
    return ""
