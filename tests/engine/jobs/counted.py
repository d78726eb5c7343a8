"""Chunks of scores that tell what they begin with."""

from engine.problems.handed import handed
from engine.requests.prepared import drawn_problem
from engine.runs import scores


class Counted:
    """Chunks of scores that note what their problem remembers before they begin."""

    def __init__(self, lines):
        self.lines = lines

    def __call__(self, data, key, context):
        kept = handed(drawn_problem(data, context, 0.5).problem)
        with self.lines.open("a") as file:
            file.write(",".join(sorted(kept)) + "\n")
        return scores.run_chunk(data, key, context)
