"""Inverse-Hessian solvers, one a file; each returns its residual."""

from engine.hessians.arnoldi import ARNOLDI
from engine.hessians.cg import CG
from engine.hessians.cholesky import CHOLESKY
from engine.hessians.kfac import KFAC
from engine.hessians.lissa import LISSA
from engine.hessians.solution import InverseHessian, Solution
from engine.registry import Registry

HESSIANS: Registry[InverseHessian] = Registry("inverse-Hessian solver")
for _solver in (CHOLESKY, CG, LISSA, ARNOLDI, KFAC):
    HESSIANS.add(_solver.name, _solver)

__all__ = ["HESSIANS", "InverseHessian", "Solution"]
