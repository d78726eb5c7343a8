"""The pages in the order of the sidebar: name in the address, title, icon, and what each is for in one line."""

from __future__ import annotations

from typing import NamedTuple


class PageEntry(NamedTuple):
    """A page. on_data: whether what it shows depends on the data that the sidebar chooses."""

    name: str
    title: str
    icon: str
    line: str
    on_data: bool = False


PAGES = (
    PageEntry("home", "Home", ":material/home:", "", True),
    PageEntry("compare", "Compare", ":material/grid_on:",
              "Put specifications side by side: where rankings part, and why.", True),
    PageEntry("approximation_error", "Approximation error", ":material/show_chart:",
              "How far approximations are from the exact answer to the same question.", True),
    PageEntry("examples", "Examples", ":material/photo_library:",
              "See the training examples themselves, ranked under up to three specifications.", True),
    PageEntry("map", "Map", ":material/bubble_chart:",
              "All training examples as a cloud, by what the model reads: select some, see their scores.", True),
    PageEntry("scorecard", "Scorecard", ":material/scoreboard:",
              "Run benchmarks of attribution methods, and see which question each of them asks.", True),
    PageEntry("noisy_labels", "Noisy labels", ":material/label_off:",
              "Find labels that are likely wrong, look at them, decide, and see what removing them does."),
    PageEntry("poison", "Poison", ":material/bug_report:",
              "Start from one wrong prediction: rank what taught it, remove that, and train again."),
    PageEntry("language_models", "Language models", ":material/forum:",
              "Find the training records that taught a language model what it says."),
    PageEntry("learn", "Learn", ":material/school:",
              "Nine short steps from a counterfactual to why two rankings differ."),
    PageEntry("paper", "Paper", ":material/article:", "The paper's numbers beside ours, cell by cell."),
    PageEntry("library", "Library", ":material/bookmarks:", "What you saved, computed and uploaded: find it, open it."),
    PageEntry("runs", "Runs", ":material/list_alt:", "Long computations: progress, cancel, resume, download."),
    PageEntry("guide", "Guide", ":material/menu_book:", "Commands, file formats, recipes, and how each thing works."),
)
