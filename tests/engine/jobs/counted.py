"""Chunks of scores that tell what they begin with."""

from engine.problems.handed import handed
from engine.requests.scores import ScoresRequest


class Counted:
    """Chunks of scores that note what their problem remembers before they begin."""

    def __init__(self, lines):
        self.lines = lines

    def __call__(self, data, key, context):
        request = ScoresRequest.of_payload(data)
        kept = handed(request.sampled(context, 0.5).problem)
        with self.lines.open("a") as file:
            file.write(",".join(sorted(kept)) + "\n")
        return request.run_chunk(key, context)
