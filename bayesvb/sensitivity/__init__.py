"""Sensitivity: how the optimum of the bound moves when the statistics are perturbed.

May import: errors, linear, numerics, data, variational.

The converged fit is a fixed point ``s = F(s)`` of one iteration. A perturbation ``u`` of the
statistics moves it by ``(I - F')^-1 u``: tilts of the posterior give covariances, rows taken out
give leave-one-out predictions, influence and robust covariances, another prior its sensitivity.
"""
