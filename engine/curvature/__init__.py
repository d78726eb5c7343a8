"""Inverse-Hessian solvers, one a file; each returns its residual."""

from engine.basics.registry import Registry
from engine.curvature.arnoldi import ARNOLDI
from engine.curvature.cg import CG
from engine.curvature.cholesky import CHOLESKY
from engine.curvature.kfac import KFAC
from engine.curvature.lissa import LISSA
from engine.curvature.solution import InverseHessian, Solution

HESSIANS: Registry[InverseHessian] = Registry("inverse-Hessian solver")
for _solver in (CHOLESKY, CG, LISSA, ARNOLDI, KFAC):
    HESSIANS.add(_solver.name, _solver)

__all__ = ["HESSIANS", "InverseHessian", "Solution"]
