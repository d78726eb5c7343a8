"""Curvature as linear operators, and solvers that take them, one a file; each returns its residual."""

from engine.basics.registry import Registry
from engine.curvature.arnoldi import ARNOLDI
from engine.curvature.astra import ASTRA
from engine.curvature.cg import CG, GAUSS_NEWTON_CG
from engine.curvature.cholesky import CHOLESKY
from engine.curvature.datainf import DATAINF
from engine.curvature.ekfac import EKFAC
from engine.curvature.factgrass import FACTGRASS
from engine.curvature.gauss_newton import GaussNewton
from engine.curvature.hessian import Hessian
from engine.curvature.kfac import KFAC
from engine.curvature.lissa import LISSA
from engine.curvature.logra import LOGRA
from engine.curvature.operator import Operator
from engine.curvature.shampoo import SHAMPOO
from engine.curvature.softmax_hessian import SoftmaxHessian
from engine.curvature.solution import InverseHessian, OffersCurvature, Solution
from engine.curvature.tkfac import TKFAC

SOLVERS: Registry[InverseHessian] = Registry("inverse-Hessian solver", (
    CHOLESKY, CG, LISSA, ARNOLDI, KFAC, GAUSS_NEWTON_CG, EKFAC, TKFAC, SHAMPOO, ASTRA, DATAINF, LOGRA, FACTGRASS))


def solvers_for(problem: OffersCurvature) -> dict[str, InverseHessian]:
    """The solvers that can do with a problem, or a kind of problem, by name."""
    return {name: solver for name, solver in SOLVERS.items() if solver.fits(problem)}


__all__ = ["SOLVERS", "GaussNewton", "Hessian", "InverseHessian", "Operator", "Solution", "SoftmaxHessian",
           "solvers_for"]
