"""The pages in the order of the sidebar: name in the address, title, icon, and what each is for in one line."""

from __future__ import annotations

from typing import NamedTuple


class PageEntry(NamedTuple):
    """A page. on_data: whether what it shows depends on the data that the sidebar chooses. own: whether its choices
    are of no other page: a model, a seed or a behavior is of a language model there."""

    name: str
    title: str
    icon: str
    line: str
    on_data: bool = False
    own: bool = False


PAGES = (
    PageEntry("home", "Home", ":material/home:", "", True),
    PageEntry("compare", "Compare", ":material/grid_on:",
              "Compare specifications: where rankings differ, and why.", True),
    PageEntry("approximation_error", "Approximation error", ":material/show_chart:",
              "How far approximations are from the exact answer to the same question.", True),
    PageEntry("examples", "Examples", ":material/photo_library:",
              "Training examples, ranked under up to three specifications.", True),
    PageEntry("map", "Map", ":material/bubble_chart:",
              "All training examples by the model's representation: select some, see their scores.", True),
    PageEntry("scorecard", "Scorecard", ":material/scoreboard:",
              "Benchmarks of attribution methods, each with the question it poses.", True),
    PageEntry("noisy_labels", "Noisy labels", ":material/label_off:",
              "Find labels that are likely wrong, review them, and see what removing them does."),
    PageEntry("poison", "Poison", ":material/bug_report:",
              "Rank the training examples behind one wrong prediction, remove them, and retrain."),
    PageEntry("language_models", "Language models", ":material/forum:",
              "Find the training records behind a language model's response.", own=True),
    PageEntry("learn", "Learn", ":material/school:",
              "Nine short steps, from a counterfactual to the reasons why two rankings differ."),
    PageEntry("paper", "Paper", ":material/article:", "The paper's numbers beside ours, cell by cell."),
    PageEntry("library", "Library", ":material/bookmarks:", "Saved comparisons, finished runs and uploads."),
    PageEntry("runs", "Runs", ":material/list_alt:", "Long computations: progress, cancel, resume, download."),
    PageEntry("guide", "Guide", ":material/menu_book:", "Commands, file formats, recipes, methods and a glossary."),
)
