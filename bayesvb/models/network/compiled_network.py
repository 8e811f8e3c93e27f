"""Networks as the compiled core reads them.

It covers dense designs and the default posterior of latent vectors, which depends on the expert,
for classes and for numbers. All other networks are left to NumPy.
"""

from __future__ import annotations

from bayesvb.data.blocks import Block
from bayesvb.data.parts import GATING, MEAN
from bayesvb.data.sources import AbstractSource
from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.gates.stick_breaking import StickBreakingGate
from bayesvb.models.compiled_pass import MOST_COMPONENTS, CompiledPass, compiled_block, is_plain
from bayesvb.models.network.output import AnyOutput
from bayesvb.models.network.output_classes import CONDITIONAL_PASSES, ClassOutput
from bayesvb.models.network.output_gaussian import GaussianOutput
from bayesvb.variational.model import CompiledSweep

MOST_LATENTS, MOST_OUTPUTS = 12, 24
"""Latents, and sticks or responses, up to which the core runs."""


def compile_network(
    experts: MatrixNormalGamma,
    gate: StickBreakingGate,
    output: AnyOutput,
    source: AbstractSource,
) -> CompiledSweep | None:
    """The compiled sweep over these rows; None if the core is absent, or does not cover them."""
    block = compiled_block(source)
    if block is None or not isinstance(output, ClassOutput | GaussianOutput):
        return None
    designs, last = [block.designs[MEAN], block.designs[GATING]], output.prior
    few = output.n_latents <= MOST_LATENTS and len(last.mean) <= MOST_OUTPUTS
    few = few and gate.n_components <= MOST_COMPONENTS
    known = output.conditional and not experts.mean.any()
    known = known and (output.of_classes or not last.mean.any())
    operators = (experts.operator, gate.prior.operator, last.operator)
    laws = zip(operators, [*map(len, designs), output.n_latents + 1], strict=True)
    if not (few and known and all(is_plain(*law) for law in laws)):
        return None
    sizes = [block.n_rows, gate.n_components, *map(len, designs), output.n_latents, len(last.mean)]
    prior = [experts.shape, experts.rate, experts.operator.entries, gate.prior.precisions]
    prior += [gate.prior.mean, last.operator.entries]
    if isinstance(output, ClassOutput):
        sizes += [output.passes or CONDITIONAL_PASSES, 1]
        prior.append(output.prior.mean)
    else:
        sizes += [1, 0]
        prior += [output.prior.shape, output.prior.rate]
    sizes += [int(output.covariance == "diagonal"), int(block.weight is not None)]
    sizes += gate.order or range(gate.n_components)
    compiled = CompiledPass.of("network", sizes, prior, _arrays(block))
    return None if compiled is None else compiled.over(source, _arrays)


def _arrays(block: Block) -> list[object]:
    """Response, weights, and columns of a block."""
    weight = [] if block.weight is None else [block.weight]
    return [block.response, *weight, block.designs[MEAN], block.designs[GATING]]
