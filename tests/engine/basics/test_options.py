"""Options: what a piece of the work tells of its progress."""

from engine.basics.options import Options


def test_a_share_of_a_share_counts_as_that_much_of_the_whole():
    told = []
    options = Options(budget=7, progress=told.append)
    share = options.stage(1, 4)
    share.progress(0.0)
    share.progress(1.0)
    share.stage(1, 2).progress(0.5)
    assert told == [0.25, 0.5, 0.4375] and share.budget == 7
