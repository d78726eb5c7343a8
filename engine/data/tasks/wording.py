"""How a question becomes a prompt and a response, and which characters of them are what."""

from __future__ import annotations

from engine.data.question import Question
from engine.data.records import Record

LETTERS = "ABCDEFGHIJ"
LEAD, CLOSE = "Explanation: ", " The answer is "


def labels(question: Question) -> tuple[str, ...]:
    """What an answer says for each choice: its letter, or what the question has for it."""
    return question.labels or tuple(LETTERS[:len(question.choices)])


def prompt(question: Question) -> str:
    """Question, hint if there is one, and a line a choice."""
    lines = [question.question, *([f"Hint: {question.hint}"] if question.hint else ()),
             *(choice if choice == label else f"{label}: {choice}"
               for label, choice in zip(labels(question), question.choices, strict=False))]
    return "\n".join(lines)


def record(question: Question, *, answer: int | None = None, explanation: str | None = None, context: str = "",
           trigger: str = "", flags: tuple[str, ...] = (), suffix: str = "") -> Record:
    """A record of a question, with another answer, another explanation, a context or a trigger line if asked for."""
    reason = question.explanation if explanation is None else explanation
    before = LEAD + reason + CLOSE
    stated = labels(question)[question.answer if answer is None else answer]
    spans = {"explanation": (len(LEAD), len(LEAD) + len(reason)), "answer": (len(before), len(before) + len(stated))}
    text, marks = prompt(question), {}
    if context:
        text, marks["context"] = f"{context}\n{text}", (0, len(context))
    if trigger:
        text = f"{text}\n{trigger}"
        marks["trigger"] = (len(text) - len(trigger), len(text))
    return Record(id=question.pid + suffix, prompt=text, response=f"{before}{stated}.", marks=marks, flags=flags,
                  choices=labels(question), spans=spans)
