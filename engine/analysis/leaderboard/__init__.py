"""A leaderboard: every named method on one trained model, under the question that it answers and under the others."""

from engine.analysis.leaderboard.board import COLUMNS, Column
from engine.analysis.leaderboard.questions import answering
from engine.analysis.leaderboard.request import Leaderboard, LeaderboardRequest

__all__ = ["COLUMNS", "Column", "Leaderboard", "LeaderboardRequest", "answering"]
