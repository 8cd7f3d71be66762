# SPDX-License-Identifier: Apache-2.0
"""Run the conformance suite canitoolcall (recorded outputs of model families with the right parse) on the library's templates.

    python scripts/measure_canitoolcall.py                     # table by family, and what does not pass
    python scripts/measure_canitoolcall.py --family glm        # one family of the suite
    python scripts/measure_canitoolcall.py --id glm/glm45-     # fixtures whose id contains this, with all that is known
    python scripts/measure_canitoolcall.py --json out.json
    python scripts/measure_canitoolcall.py --markdown docs/proof.md   # write the table there

Each fixture is parsed with the template that `get_template` has for its model, with the prompt's end that the fixture gives (or
the family's usual one), the fixture's tools and on_error="keep": at once, by character, and in the suite's own groupings (of
characters, as the models' tokenizers are not at hand; a token is one way to group them). The suite judges.

Exit code 1 if fewer than --floor fixtures pass, or a streamed parse differs from the one-shot parse.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import marked_blocks

import transformers_response_parsing as trp

FLOOR = 440
_STREAM_CHECKS = frozenset({"stream_equals_nonstream", "split_invariance"})


@dataclass(frozen=True)
class Outcome:
    """What became of one fixture. `status` is the suite's: pass, soft_pass (differs in white space only), fail."""

    id: str
    family: str
    template: str
    status: str
    failed: tuple[str, ...]
    detail: str

    @property
    def streams_agree(self) -> bool:
        return not _STREAM_CHECKS.intersection(self.failed)


def outcomes(families: Sequence[str] = (), part_of_id: str = "") -> Iterator[Outcome]:
    """Judge all fixtures of the suite, or those of some families, or whose id contains a text."""
    from canitoolcall.checks import case_status, run_checks
    from canitoolcall.fixtures import load_families, load_fixtures
    from canitoolcall.results import Observation, Status

    known = load_families()
    for fixture in load_fixtures(families=list(families) or None):
        if part_of_id not in fixture.id:
            continue
        family = known[fixture.family]
        entry = trp.get_template(fixture.models[0])
        prefix = _prefix(fixture, family)
        whole = _parse(fixture, entry, prefix, None)
        streams = {name: _parse(fixture, entry, prefix, pieces) for name, pieces in _cuts(fixture.raw_output)}
        rows = run_checks(fixture, family, Observation(whole, streams))
        bad = [row for row in rows if row.status is not Status.PASS]
        detail = "; ".join(dict.fromkeys(row.detail or row.check for row in bad))
        failed = tuple(dict.fromkeys(row.check for row in bad))
        yield Outcome(fixture.id, fixture.family, entry.name, str(case_status(rows).value), failed, detail)


def _prefix(fixture: Any, family: Any) -> str:
    if fixture.generation_prompt is not None:
        return str(fixture.generation_prompt)
    for model in family.reference_models:
        if model.repo == fixture.models[0]:
            return str(model.default_generation_prompt or "")
    return ""


def _cuts(text: str) -> Iterator[tuple[str, Iterable[str]]]:
    from canitoolcall.chunking import parse_strategies, split

    for strategy in parse_strategies(None):
        if strategy.kind != "special":  # it needs token ids
            yield str(strategy), ["".join(group) for group in split(list(text), strategy)]


def _parse(fixture: Any, entry: trp.TemplateEntry, prefix: str, pieces: Iterable[str] | None) -> Any:
    from canitoolcall.results import ParsedToolCall, ParseResult

    options: dict[str, Any] = {"prefix": prefix, "tools": list(fixture.tools), "on_error": "keep"}
    try:
        if pieces is None:
            message = trp.parse_response(fixture.raw_output, entry.response_template, **options)
        else:
            parser = trp.ResponseParser(entry.response_template, **options)
            for piece in pieces:
                parser.feed(piece)
            message, _ = parser.finalize()
    except trp.ResponseParsingError as error:
        return ParseResult(exception=type(error).__name__)
    calls = [call["function"] for call in message.get("tool_calls", [])]
    return ParseResult(
        content=message.get("content") or None,
        reasoning_content=message.get("reasoning_content") or None,
        tool_calls=tuple(ParsedToolCall(call["name"], json.dumps(call["arguments"])) for call in calls),
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", action="append", default=[], help="of the suite; can be repeated")
    parser.add_argument("--id", default="", help="only fixtures whose id contains this")
    parser.add_argument(
        "--floor", type=int, default=FLOOR, help="of all fixtures, at least so many pass (default %(default)s)"
    )
    parser.add_argument("--json", type=Path, help="write all outcomes to this file")
    parser.add_argument("--markdown", type=Path, help="write the table into the block `canitoolcall` of this file")
    arguments = parser.parse_args(argv)
    try:
        import canitoolcall  # noqa: F401
    except ImportError:
        print(
            "nothing to measure: canitoolcall is not installed (pip install 'transformers-response-parsing[conformance]')"
        )
        return 0
    found = list(outcomes(arguments.family, arguments.id))
    if arguments.json:
        arguments.json.write_text(json.dumps([vars(item) for item in found], indent=1) + "\n", encoding="utf-8")
    _print(found)
    if arguments.markdown:
        marked_blocks.write(arguments.markdown, "canitoolcall", markdown(found))
    whole = not arguments.family and not arguments.id
    passed = sum(item.status == "pass" for item in found)
    if whole and passed < arguments.floor:
        print(f"only {passed} pass, not {arguments.floor}")
        return 1
    return 0 if all(item.streams_agree for item in found) else 1


def _by_family(found: Sequence[Outcome]) -> dict[str, tuple[int, int, int, int]]:
    """Fixtures, passes, passes but for white space, and fails of each family and of all."""
    families: dict[str, Counter[str]] = defaultdict(Counter)
    for item in found:
        families[item.family][item.status] += 1
    families["all"] = sum(families.values(), Counter())
    return {
        name: (
            counts.total(),
            counts["pass"],
            counts["soft_pass"],
            counts.total() - counts["pass"] - counts["soft_pass"],
        )
        for name, counts in families.items()
    }


def markdown(found: Sequence[Outcome]) -> str:
    """The table by family."""
    lines = ["| family | fixtures | pass | differ in white space only | fail |", "|---|---:|---:|---:|---:|"]
    lines += [f"| {name} | {' | '.join(map(str, counts))} |" for name, counts in _by_family(found).items()]
    return "\n".join(lines) + "\n"


def _print(found: Sequence[Outcome]) -> None:
    for item in found:
        if item.status != "pass":
            print(f"{item.status:<9} {item.id} ({item.template}): {', '.join(item.failed)}\n          {item.detail}")
    print(f"\n{'family':<16}{'fixtures':>9}{'pass':>6}{'white space':>13}{'fail':>6}")
    for family, (count, passed, soft, failed) in _by_family(found).items():
        print(f"{family:<16}{count:>9}{passed:>6}{soft:>13}{failed:>6}")
    differ = [item.id for item in found if not item.streams_agree]
    print(f"streamed otherwise than at once: {', '.join(differ) or 'none'}")


if __name__ == "__main__":
    sys.exit(main())
