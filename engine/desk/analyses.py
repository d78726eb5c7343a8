"""What a front end asks analyses, the experiments of the tour and reviews for: requests by name, and the types, words
and bounds of their answers."""

# ruff: noqa: F401 (types and values that come with the verbs)
from __future__ import annotations

from engine.analysis import between_points
from engine.analysis import error_curves as curve_questions
from engine.analysis.chain import ERROR_A, ERROR_B, SEED
from engine.analysis.comparison import Comparison, compare
from engine.analysis.datamodels import DEFINITION as DATAMODELING
from engine.analysis.datamodels import Retrained
from engine.analysis.datamodels import compared as predicted
from engine.analysis.embedding import METHODS as MAPS
from engine.analysis.embedding import Embedding, EmbeddingRequest
from engine.analysis.error_curves import ALPHAS, ETAS, PerQuery
from engine.analysis.error_surfaces import SURFACES, ErrorSurface, ErrorSurfaceRequest, summarized
from engine.analysis.explanation import LEAST_SLACK, Contribution, Explanation
from engine.analysis.groups import DEFINITION as ADDITIVITY
from engine.analysis.groups import GroupRequest
from engine.analysis.lds_ladder import LINEARITY, SCORE, Ladder, LadderRequest
from engine.analysis.leaderboard import COLUMNS as BOARD_COLUMNS
from engine.analysis.leaderboard import LeaderboardRequest
from engine.analysis.linear_range import TOLERANCE, LinearRange, LinearRangeRequest
from engine.analysis.noise_floor import at_ceiling, two_runs
from engine.analysis.over_seeds import STABLE, OverSeeds, SeedRunsRequest, of_runs, spread
from engine.analysis.poison.retraining import RemoveSuspectsRequest
from engine.analysis.poison.taught import WhatTaughtRequest
from engine.analysis.protocols import PROTOCOLS, ProtocolName
from engine.analysis.removal_curve import RemovalRequest, sizes_for
from engine.analysis.run_errors import RunErrors, RunErrorsRequest
from engine.analysis.run_errors import percent as spell_error
from engine.analysis.scorecard import BENCHMARKS, CEILING, Benchmark, Sizes, card, reasons
from engine.analysis.scorecard import fitting as card_methods
from engine.analysis.scorecard.benchmark import OTHER
from engine.analysis.scorecard.method import card_method
from engine.analysis.scorecard.request import ScorecardRequest
from engine.analysis.self_influence import SelfInfluenceRequest
from engine.analysis.setting_sweep import SettingSweepRequest
from engine.analysis.spot_check import NotMeasured, SpotCheck
from engine.analysis.subset_bank import Among, SubsetModelsRequest
from engine.applications.decisions import FINE, UNSURE, WRONG, DecidedMeanwhile, Decision, Decisions
from engine.applications.lessons import comparing, rough, signals, toy
from engine.applications.lessons.answers import Answer, Answers
from engine.applications.lessons.curve import along_eta, gaps, most_curved
from engine.exact.decomposition import Decomposition
from engine.exact.path_integral import PathIntegral, path_integral
from engine.requests import Request
