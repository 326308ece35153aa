"""What to do after an audit, from what it found: at most two lines."""

from __future__ import annotations

from standout.report.sentences import Level, judge_level
from standout.report.view import View


def next_steps(seen: View) -> list[str]:
    """At most two lines, each with a command or an action. FILE is the data that was audited."""
    level, _ = judge_level(seen)
    if level is Level.OPEN:
        if seen.other_labels:
            return ["Give source and release the same labels, then audit again."]
        return [
            "`standout audit FILE --targets all` narrows the intervals; nothing is shown to be safe yet."
        ]
    steps = []
    if seen.identifiers:
        steps.append("Remove what names people directly, then audit again.")
    if level is Level.NONE:
        more = (
            "`standout audit FILE --sweep full` tries more kinds of knowledge"
            if seen.provenance.get("sweep") != "full"
            else "`standout link FILE OTHER` tries a real second file"
        )
        return [*steps, f"{more}; `standout check` tests the data against a policy."]
    defended = "stronger protections" if seen.provenance.get("defense") else "protections"
    return [
        *steps,
        f"`standout frontier FILE --out frontier` compares {defended}; `standout explain FILE --record LABEL` shows why one "
        "record is found.",
    ]
