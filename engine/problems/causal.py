r"""The problem of a causal language model: records are its units, and what behaviors read off their tokens its outputs.

With f(x) ∈ R^J one column a behavior (`engine.question.token_behaviors`) and ℓ = −f_0, minus the log-likelihood of the
response per token, the objective of the adapters (or of all parameters) θ is L_D(θ) = (1/n) Σ_i ℓ(z_i; θ), as it is for
any other network; steps, retraining and derivatives are the same code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from engine.basics.errors import InvalidInput
from engine.curvature.gauss_newton import GaussNewton
from engine.curvature.hessian import Hessian
from engine.data.records import Record
from engine.models.causal.answer_token import AnswerToken
from engine.models.causal.checked import check_reading
from engine.models.causal.encoding import Encoded
from engine.models.causal.link import TokenLink
from engine.models.causal.marked import MARKED, Mark, bears
from engine.models.causal.packed import Packing
from engine.models.causal.posed import Texts, posed
from engine.models.causal.reader import Extra, TokenReader, answer_states, response_loss
from engine.models.causal.readouts import READOUTS
from engine.models.causal.row_texts import RowTexts
from engine.models.link import Link
from engine.models.network import Network
from engine.problems.candidates import Arraylike, Part, Shared, Units
from engine.problems.memory import ProblemMemory
from engine.problems.module import BATCH, ModuleProblem
from engine.problems.problem import Problem
from engine.question.behavior import Behavior
from engine.question.likelihood import LEAST_DOUBT
from engine.question.token_behaviors import COLUMNS, RESPONSE
from engine.question.worded import Worded
from engine.question.worded_behaviors import placed

ANSWERS = ("answer_logit", "answer_margin")
"""The readouts that rise with the logit of the stated answer, which the label-free loss of a similarity raises."""


class CausalProblem(ModuleProblem):
    """A `TokenReader` with packed records: x_train (n, width), x_query (m, width), whole numbers.

    There are no labels: what a record states is part of its tokens, so that no example can be relabelled. texts: the
    records of the rows, which behaviors with a user's words are read off. The other arguments are those of
    `ModuleProblem`; parameters: a regular expression for the names of the trained ones.

    Raises as `ModuleProblem` does.
    """

    kind, noun, reads = "causal", "a language model", "tokens"
    offers = frozenset({"gradients", "sums", "training", "last_layer", "representations", "margins", "tangents",
                        "moments", "texts"})
    curvatures = (Hessian, GaussNewton)
    stacks = False
    hessian_products = False
    unoffered = frozenset({"relabel", "reoptimize"})

    def __init__(self, module: nn.Module | Network, x_train: Tensor, y_train: Arraylike | None, x_query: Tensor,
                 y_query: Arraylike | None, candidates: Arraylike | Iterable[int] | None = None,
                 outside: Units | None = None, *, texts: RowTexts | None = None, **options: Any) -> None:
        """y_train, y_query are not read."""
        self.texts = texts
        none, nothing = (torch.zeros(len(x), dtype=torch.long) for x in (x_train, x_query))
        super().__init__(module, x_train, none, x_query, nothing, candidates, outside,
                         **{"loss": response_loss, **options})

    @property
    def _settings(self) -> dict[str, Any]:
        return {**super()._settings, "texts": self.texts}

    @property
    def classes(self) -> int:
        """J, and a column for what else is asked."""
        return len(READOUTS) + len(self.reader.extras)

    def _inputs(self, x: Arraylike) -> Tensor:
        """Tokens are whole numbers."""
        return torch.as_tensor(x).to(device=self.device, dtype=torch.int64)

    @property
    def reader(self) -> TokenReader:
        return cast(TokenReader, self.network.module)

    @property
    def link(self) -> Link:
        """The loss is linear in the outputs, and convex in the logits of the response's tokens."""
        return TokenLink(self.network) if self.loss is response_loss else super().link

    def _checked_classes(self) -> int:
        if not len(self.x) or not len(self.queries):
            raise InvalidInput("There are no records; give at least one training record and one query.")
        return len(READOUTS)

    def _check_selection(self) -> None:
        """Any parameters may be trained."""

    def margins(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """A response counts as one event of probability p = exp(f_0), f_0 its mean log-likelihood a token."""
        outputs = self.network.predict(self.x[rows])
        doubt = -outputs[:, RESPONSE].expm1()
        signal = torch.zeros_like(outputs)
        signal[:, RESPONSE] = 1.0 / doubt.clamp_min(LEAST_DOUBT)
        return signal, doubt

    def asking(self, behaviors: Sequence[Behavior]) -> tuple[Problem, list[Behavior]]:
        """With a column for each behavior that carries a user's words. Raises `InvalidInput` as `posed` does."""
        worded = list(dict.fromkeys(behavior.name for behavior in behaviors if behavior.words))
        if not worded:
            return self, list(behaviors)
        words = [behavior.words for behavior in behaviors if behavior.words]
        problem = self.memo("asking", lambda: self._asking(tuple(dict.fromkeys(words))), tuple(worded))
        columns = {name: len(READOUTS) + column for column, name in enumerate(worded)}
        return problem.with_candidates_of(self), [
            placed(behavior, columns[behavior.name]) if behavior.words else behavior for behavior in behaviors]

    def _asking(self, words: Sequence[Worded]) -> CausalProblem:
        posed_words = [self._posed(one) for one in words]
        extras = [extra for extra, _ in posed_words]
        queries = torch.cat([self.queries, *(rows.to(self.queries) for _, rows in posed_words)], 1)

        def build() -> TokenReader:
            own = self.training()[1]()
            return self._with_extras(own, extras)

        settings = {**self._settings, "build": self.build and build}
        return type(self)(self.network.read_by(self._with_extras(self.reader, extras)), self.x, None, queries, None,
                          self.candidates, **settings, shared=Shared(self.shared.model, ProblemMemory()))

    def with_records(self, records: Sequence[Record], candidates: Arraylike | Iterable[int] | None = None,
                     tokens: Mark = "response") -> CausalProblem:
        """`with_outside` of records, in rows as wide as the longest of them needs. tokens: those whose loss counts, as
        their part of the loss of the whole response; a record without them has the loss 0.

        Raises `InvalidInput` for a record that cannot be encoded, where none has such tokens, and where the encoder is
        not at hand.
        """
        if not records:
            raise InvalidInput("There are no new records; give at least one.")
        wide, rows, encoded = self._packed(records)
        if not any(bears(item, tokens) for item in encoded):
            raise InvalidInput(f"No candidate has an {tokens} whose tokens could be scored; mark it in the records "
                               "with `spans`, or score the tokens of the whole `response`.")
        rows = wide.reader.packing.scoring(rows, MARKED[tokens])
        problem = wide.with_outside(rows, torch.zeros(len(rows), dtype=torch.long), candidates)
        problem.texts = wide.texts_at_hand.with_rows(rows, records)
        return problem

    def with_queries(self, records: Sequence[Record]) -> CausalProblem:
        """The same problem with these records as its only queries. Raises `InvalidInput` as `with_records` does."""
        wide, rows, _ = self._packed(records)
        rows = rows.to(wide.queries)
        examples = wide.examples._replace(queries=rows, query_labels=wide.query_labels.new_zeros(len(rows)))
        problem = cast(CausalProblem, wide.holding(examples, Shared(wide.shared.model, ProblemMemory())))
        problem.texts = wide.texts_at_hand.with_rows(rows.cpu(), records)
        return problem

    def _packed(self, records: Sequence[Record]) -> tuple[CausalProblem, Tensor, list[Encoded]]:
        """(this problem with rows that the records fit in, their rows, what they are made of)."""
        wide, encoder = self.wide_enough(records), self.texts_at_hand.encoder
        encoded = [encoder.encode(record) for record in records]
        rows = wide.reader.packing.pack(encoder, encoded)
        check_reading(wide.reader, rows, encoded)
        return wide, rows, encoded

    def with_each(self, batches: Iterable[Sequence[Record]]) -> Iterator[Part[CausalProblem]]:
        """`with_records` of one batch of a stream after another, under their ids; rows are as wide as the longest
        record so far needs."""
        problem = self
        for records in batches:
            problem = problem.wide_enough(records)
            yield problem.with_records(records), [record.id for record in records]

    def wide_enough(self, records: Sequence[Record]) -> CausalProblem:
        """The same problem with rows that further records fit in too; this one where they fit already."""
        own, encoder = self.reader.packing, self.texts_at_hand.encoder
        packing = own.widened(Packing.of([encoder.encode(record) for record in records]))
        if packing == own:
            return self
        x, queries, texts = (own.repacked(rows, packing) for rows in (self.x, self.queries, self.texts_at_hand.rows))

        def build() -> nn.Module:
            return cast(TokenReader, self.training()[1]()).with_packing(packing)

        settings = {**self._settings, "build": self.build and build,
                    "texts": RowTexts(self.texts_at_hand.encoder, texts, self.texts_at_hand.records)}
        return type(self)(self.network.read_by(self.reader.with_packing(packing)), x, None, queries, None,
                          self.trained_examples.candidates, **settings,
                          shared=Shared(self.shared.model, ProblemMemory()))

    def _with_extras(self, module: nn.Module, extras: Sequence[Extra]) -> TokenReader:
        return cast(TokenReader, module).with_extras(extras)

    def texts_of(self, x: Tensor) -> list[str]:
        """Prompt and response of records x (b, width). Raises `InvalidInput` where only their tokens are at hand."""
        return [f"{record.prompt}\n{record.response}" for record in self.texts_at_hand.of(x)]

    @property
    def ids(self) -> tuple[Sequence[str], Sequence[str]]:
        """Those of the records, where their texts are at hand."""
        train, queries = map(self._ids, (self.x, self.queries))
        return train, queries

    def _ids(self, x: Tensor) -> Sequence[str]:
        try:
            ids = [record.id for record in self.texts_at_hand.of(x)]
        except InvalidInput:
            return ()
        return () if "" in ids or len(set(ids)) < len(ids) else ids

    @property
    def texts_at_hand(self) -> RowTexts:
        """The records of the rows. Raises `InvalidInput` where only their tokens are known."""
        if self.texts is None:
            raise InvalidInput("This language model's records are available only as tokens, so their words are not "
                               "known; sample them from a dataset, or use a behavior and an estimator that do not "
                               "read words.")
        return self.texts

    def _posed(self, words: Worded) -> tuple[Extra, Tensor]:
        texts = self.texts_at_hand
        return posed(words, Texts(texts.encoder, self.reader.packing, texts.of(self.queries)))

    def check_behavior(self, behavior: Behavior) -> None:
        super().check_behavior(behavior)
        if behavior.words:
            self._posed(behavior.words)
            return
        lacking = self.memo("lacking", self._lacking)[behavior.name]
        if len(lacking):
            raise InvalidInput(f"The behavior `{behavior.name}` is read off a part of the response that query "
                               f"{lacking[0]} does not have; choose `response_loss`, or other queries.")

    def _lacking(self) -> dict[str, list[int]]:
        batch = self.reader.packing.unpack(self.queries)
        return {name: (~readout.there(batch)).nonzero()[:, 0].tolist() for name, readout in READOUTS.items()}

    def check_label(self, label: int) -> None:
        raise InvalidInput("A record has no label to change, only text; remove the record, or change its "
                           "text.")

    def prepare(self) -> None:
        self.facts, self.query_logits  # noqa: B018 - trains

    @property
    def facts(self) -> dict[str, Any]:
        return {**super().facts, **(self.texts.encoder.facts if self.texts else {})}

    @property
    def probabilities(self) -> Tensor:
        raise InvalidInput("A language model gives records no class probabilities; read `answer_margin`.")

    def representations(self, x: Tensor) -> Tensor:
        """What the model's head reads where the answer is predicted, (b, d): its logit is a linear readout of it."""
        with torch.no_grad():
            return torch.cat([self.reader(batch, answer_states) for batch in x.split(BATCH // 8)])

    @property
    def head(self) -> str:
        """The name of the linear layer that tokens' logits come from. Raises `InvalidInput` where there is none."""
        head = cast(Any, self.reader.model).get_output_embeddings()
        names = [name for name, layer in self.network.module.named_modules() if layer is head]
        if not names or not isinstance(head, nn.Linear):
            raise InvalidInput("This model's logits are not those of one plain linear layer; use an estimator that "
                               "reads gradients, such as `first_order`.")
        return names[0]

    @property
    def raised_labels(self) -> Tensor:
        """The token of each query's stated answer, (m,)."""
        batch = self.reader.packing.unpack(self.queries[:, :self.reader.packing.width])
        return batch.letters.gather(1, batch.stated.clamp_min(0)[:, None])[:, 0]

    def reading_answers(self) -> CausalProblem:
        """The same problem for inputs (b, width + 1) that end in a token: their last output is its logit where the
        answer is predicted."""
        def read() -> CausalProblem:
            network = self.network.read_by(self._with_extras(self.reader, [AnswerToken()]))
            shared = Shared(self.shared.model, ProblemMemory())
            return type(self)(network, *self.examples, **self._settings, shared=shared)

        return self.memo("reading answers", read)

    def single_output(self, label: Tensor, x: Tensor) -> tuple[ModuleProblem, Tensor, Tensor]:
        """f_y is the logit of token y where the answer is predicted."""
        held = self.reading_answers()
        return held, torch.cat([x, label.expand(len(x), 1)], 1), label.new_tensor(held.classes - 1)

    def raised(self) -> Tensor:
        """The label-free loss raises the logit of the stated answer, and with it the lead over the other choices."""
        raised = torch.zeros_like(self.query_logits)
        raised[:, [COLUMNS[name] for name in ANSWERS]] = 1.0
        return raised

    def check_raised(self, behavior: Behavior) -> None:
        if behavior.name not in ANSWERS:
            fits = " or ".join(f"`{name}`" for name in ANSWERS)
            raise InvalidInput(f"The label-free loss raises the logit of the stated answer alone, which "
                               f"`{behavior.name}` does not read by itself; use {fits}.")

    def accuracy(self, x: Arraylike | None = None, y: Arraylike | None = None) -> float:
        """The fraction of records whose stated answer has the largest logit of all choices: of the queries, or of x."""
        outputs = self.query_logits if x is None else self.outputs(self._inputs(x))
        return (outputs[:, COLUMNS["answer_margin"]] > 0).double().mean().item()
