"""Lesson 7: similarity is the exact influence of a constructed specification."""


from app.charts import lesson as charts
from app.charts.draw import draw
from app.learn import specimens, state
from app.learn.lesson import SOURCE, Lesson, PageLink, Quiz, extras, problem, scores
from app.widgets.pickers.specification_list import address_of
from app.widgets.words import glossary
from engine.basics.values import short
from engine.desk import commands
from engine.desk.analyses import comparing
from engine.question import direction
from engine.scoring.named import NAMED

ETAS = (0.05, 0.1, 0.2, 0.5, 1.0)


def show() -> PageLink:
    eta = state.pick("lesson-eta", "Step size η", ETAS, 0.1, short, scale=True)
    sample = problem()
    scoring = NAMED["repsim"].implied(eta=eta)
    scored = scores(scoring, candidates=SOURCE.n_train)[0]
    query = comparing.doubtful(sample.problem)
    similarity = sample.problem.kernel(sample.problem.candidates)[query].numpy()
    moved = comparing.pushed(sample.problem, query, eta)
    frame = specimens.frame(sample, scored.candidates, similarity, moved)
    draw(charts.cloud, frame, "similarity of query and example, ⟨x_q, x_k⟩",
         f"exact influence: {direction.change(scoring.readout)}", key="learn:similarity",
         alt="Exact influence under the constructed specification against similarity: all dots lie on one line.")
    worst = float(abs(moved - eta * similarity).max())
    glossary.markdown(
        f"Each dot is a model of its own: the step on one training example is taken, and the query's logits of both "
        f"models are subtracted. Every dot lies on the line of slope η = {eta:g}, up to rounding (largest distance "
        f"{worst:.0e}). {scoring.question}")
    extras("similarity", frame, [scoring], SOURCE, commands.scores(SOURCE, [scoring]))
    gradsim = NAMED["gradsim"].implied(eta=eta)
    return PageLink("compare", "Compare it with gradient similarity",
                    specimens.address(**address_of([scoring, gradsim], (0, 1))))


LESSON = Lesson(
    "similarity", "Similarity is an influence, too",
    "Ranking training examples by how alike they are to the query does not look like a counterfactual. But construct "
    "one: push the query's logit up once on the example's input, whatever its label. The change of the query logit is "
    "η times the similarity, exactly.",
    show,
    "A similarity score is the exact influence of a specification whose intervention never looks at the label.",
    Quiz("Why does similarity hardly find wrong labels?",
         ("It is too rough an approximation", "Its intervention does not use the example's label"), 1,
         "It is exact for its own question. A wrong label changes nothing in an intervention that never reads it."),
    Quiz("Is there a question to which the plain similarity of two pictures is the exact answer?",
         ("Yes", "No, it is a rule of thumb"), 0,
         "Push the query's logit up once on the example's input: the change of the query logit is η times the "
         "similarity."))
