"""What readers also call the named methods: further names, abbreviations and authors, by which a search finds them."""

from __future__ import annotations

ALIASES = {
    "repsim": "RepSim, inner product of representations, embedding similarity",
    "repsim_cosine": "cosine of representations, embedding similarity, hidden states",
    "ntk": "NTK, kernel of gradients",
    "ntk_last_layer": "NTK of the last layer",
    "gradsim": "GradDot, Grad-Dot, gradient dot product, first order",
    "gradsim_cosine": "GradCos, Grad-Cos, gradient cosine",
    "representer": "RPS, representer point selection",
    "tracin": "TracInCP, gradient tracing, checkpoints",
    "trak_fisher": "TRAK without 1 − p, empirical Fisher, clamped ridge",
    "less_final": "LESS by second moments, diagonal Fisher, final state",
    "less": "low-rank gradient similarity search, Adam",
    "influence_function": "IF, exact inverse Hessian, upweighting",
    "influence_function_cg": "IF, conjugate gradients, inverse Hessian-vector product, iHVP",
    "influence_function_lissa": "IF, Koh and Liang, stochastic iHVP, Neumann series",
    "influence_function_arnoldi": "IF, scaling up influence functions, Lanczos",
    "influence_function_cg_gauss_newton": "IF, GGN, Fisher, generalised Gauss–Newton",
    "influence_function_ekfac": "IF, EKFAC, K-FAC, kronfluence, Kronecker factors",
    "influence_function_astra": "IF, preconditioned Neumann iteration",
    "influence_function_datainf": "IF, Sherman–Morrison, LoRA",
    "replay": "MAGIC, metagradient, derivative of the training, unrolled differentiation",
    "source": "segmented unrolling, approximate unrolled differentiation",
    "dvemb": "DVEmb, trajectory-specific leave-one-out",
    "tracin_run": "TracIn-ideal, in-run first order",
    "in_run_shapley": "In-Run, Data Shapley, second order",
    "loo": "LOO, leave one out, retraining",
    "trak": "randomly projected after kernel, random projection",
    "gradient_norm": "GraNd, gradient norm",
    "bm25": "lexical overlap, TF-IDF",
    "random": "chance",
}
"""Name in the registry of named methods -> what else it is called."""
