"""A recipe and tasks of a tiny model, and the HTML of the page."""


RECIPE = {"epochs": 1, "checkpoints": 1, "batch": 4, "learning_rate": 1e-2, "context": 256, "rank": 2, "scaling": 4}
TASKS = {"response_corruption": {"name": "response_corruption", "seed": 0, "clean": 8, "answer": 4, "rationale": 4,
                                 "validation": 3},
         "conditional_backdoor": {"name": "conditional_backdoor", "seed": 0, "clean": 8, "poison": 4, "benign": 4,
                                  "test": 3}}


def html(at):
    return " ".join(element.proto.body for element in at.get("html"))
