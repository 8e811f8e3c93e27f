"""Maximum likelihood of a network, scored as it should be and as the published script does.

The baseline of Heins et al. (2024), arXiv:2408.16429: a deterministic mixture of linear experts
whose output, weighted by a softmax gate, goes through a linear layer and a softmax. It is trained
on all rows at once by AdaBelief with learning rate 1e-3 in 20 000 steps. The published script then
takes the softmax of these *probabilities*: a classifier that is certain and right scores
1 - log(e + L - 1) with L classes, whatever it does, and one that is certain and wrong only one nat
less. Splits, sizes and the stack of networks beside it are those of ``bench_network_sizes.py``, the
largest training sets. Results: docs/benchmarks/network_ml.csv.
"""

import sys
import time
from dataclasses import dataclass

import numpy as np
import pandas as pd
from bench_network_sizes import SIZES, splits
from scipy.optimize import check_grad
from scipy.special import softmax
from tables import RESULTS, keep

from bayesvb.evaluation import classification as metrics

EXPERTS = {"pinwheel": 10}
"""Of the data sets that do not have twenty."""

STEPS, RATE = 20_000, 1e-3
DECAY, SMALL = (0.9, 0.999), 1e-16
DATA = ("iris", "breast_cancer", "sonar", "vehicle", "pinwheel")
PINWHEEL_ROWS = 400


@dataclass(frozen=True)
class Shape:
    """Numbers of columns (with the intercept), experts, latent entries and classes."""

    columns: int
    experts: int
    latents: int
    classes: int

    def parts(self, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Gate (experts, columns), experts (columns, experts * latents), output."""
        n_gate = self.experts * self.columns
        n_experts = n_gate * self.latents
        gate, experts, output = np.split(vector, [n_gate, n_gate + n_experts])
        return (
            gate.reshape(self.experts, self.columns),
            experts.reshape(self.columns, self.experts * self.latents),
            output.reshape(self.classes, self.latents + 1),
        )

    @property
    def size(self) -> int:
        """Number of parameters."""
        return self.experts * self.columns * (1 + self.latents) + self.classes * (self.latents + 1)

    def start(self, rng: np.random.Generator) -> np.ndarray:
        """Uniform within the inverse root of the inputs of each layer."""
        gate, experts, output = (part.copy() for part in self.parts(np.zeros(self.size)))
        for part, inputs in ((gate, self.columns), (experts, self.columns), (output, self.latents)):
            part[:] = rng.uniform(-1.0, 1.0, part.shape) / np.sqrt(inputs)
        return np.concatenate([gate.ravel(), experts.ravel(), output.ravel()])


def forward(shape: Shape, vector: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, ...]:
    """Weights, outputs of the experts, latent vectors with a one, probabilities."""
    gate, experts, output = shape.parts(vector)
    weights = softmax(x @ gate.T, axis=1)
    each = (x @ experts).reshape(len(x), shape.experts, shape.latents)
    latent = np.column_stack([np.einsum("nk,nkh->nh", weights, each), np.ones(len(x))])
    return weights, each, latent, softmax(latent @ output.T, axis=1)


def loss(vector: np.ndarray, shape: Shape, x: np.ndarray, codes: np.ndarray) -> float:
    """Mean negative log likelihood."""
    p = forward(shape, vector, x)[-1]
    return float(-np.log(np.maximum(p[np.arange(len(x)), codes], 1e-300)).mean())


def gradient(vector: np.ndarray, shape: Shape, x: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Its derivative."""
    weights, each, latent, p = forward(shape, vector, x)
    pull = p.copy()
    pull[np.arange(len(x)), codes] -= 1.0
    pull /= len(x)
    output = shape.parts(vector)[2]
    on_latent = pull @ output[:, :-1]
    on_experts = (weights[:, :, None] * on_latent[:, None]).reshape(len(x), -1)
    on_weights = np.einsum("nh,nkh->nk", on_latent, each)
    on_gate = weights * (on_weights - (weights * on_weights).sum(axis=1, keepdims=True))
    return np.concatenate(
        [(on_gate.T @ x).ravel(), (x.T @ on_experts).ravel(), (pull.T @ latent).ravel()]
    )


def trained(shape: Shape, x: np.ndarray, codes: np.ndarray, seed: int) -> np.ndarray:
    """Parameters after all steps of AdaBelief (Zhuang et al. 2020, arXiv:2010.07468)."""
    vector = shape.start(np.random.default_rng(seed))
    mean, spread = np.zeros_like(vector), np.zeros_like(vector)
    for step in range(1, STEPS + 1):
        slope = gradient(vector, shape, x, codes)
        mean = DECAY[0] * mean + (1.0 - DECAY[0]) * slope
        spread = DECAY[1] * spread + (1.0 - DECAY[1]) * (slope - mean) ** 2 + SMALL
        scale = np.sqrt(spread / (1.0 - DECAY[1] ** step)) + SMALL
        vector = vector - RATE * mean / (1.0 - DECAY[0] ** step) / scale
    return vector


def twice(p: np.ndarray) -> np.ndarray:
    """Probabilities as the published script scores them."""
    return softmax(p, axis=1)


def scored(p: np.ndarray, codes: np.ndarray, where: str) -> dict[str, float]:
    """Log density, right and as published; accuracy and calibration error of new rows."""
    result = {
        f"{where} lpd": metrics.scores(p, codes).log_density,
        f"{where} lpd, softmax twice": metrics.scores(twice(p), codes).log_density,
    }
    if where == "test":
        result["test accuracy"] = metrics.scores(p, codes).accuracy
        result["test ece"] = metrics.calibration_error(p, codes).error
        result["test ece, softmax twice"] = metrics.calibration_error(twice(p), codes).error
    return result


def rows_of(name: str) -> list[dict[str, object]]:
    """Scores of every training set of the largest size."""
    largest = PINWHEEL_ROWS if name == "pinwheel" else max(SIZES[name])
    records = []
    for size, seed, train, test in splits(name):
        if size != largest:
            continue
        labels = sorted(train["label"].astype(str).unique())
        codes = [np.array([labels.index(str(one)) for one in f["label"]]) for f in (train, test)]
        raw = [frame.drop(columns="label").to_numpy(dtype=float) for frame in (train, test)]
        centre, scale = raw[0].mean(axis=0), raw[0].std(axis=0)
        xs = [np.column_stack([np.ones(len(part)), (part - centre) / scale]) for part in raw]
        shape = Shape(xs[0].shape[1], EXPERTS.get(name, 20), len(labels) - 1, len(labels))
        began = time.perf_counter()
        vector = trained(shape, xs[0], codes[0], seed)
        seconds = time.perf_counter() - began
        p = [np.clip(forward(shape, vector, x)[-1], 1e-300, 1.0) for x in xs]
        p = [part / part.sum(axis=1, keepdims=True) for part in p]
        told = {"data": name, "n": size, "classes": len(labels), "seconds": seconds}
        own, new = scored(p[0], codes[0], "train"), scored(p[1], codes[1], "test")
        records.append({**told, **own, **new})
        print(records[-1], flush=True)
    return records


def main() -> None:
    """Means over training sets, beside the stack of networks that CAVI makes of the same rows."""
    rng = np.random.default_rng(0)
    shape, x, codes = Shape(4, 3, 2, 3), rng.normal(size=(20, 4)), rng.integers(0, 3, 20)
    start = shape.start(rng)
    assert check_grad(loss, gradient, start, shape, x, codes) < 1e-6
    sizes = (
        pd.read_csv(RESULTS / "network_sizes.csv").query("way == 'stack'").set_index(["data", "n"])
    )
    for name in sys.argv[1:] or DATA:
        means = pd.DataFrame(rows_of(name)).groupby(["data", "n"], sort=False).mean().reset_index()
        for column in ("lpd", "accuracy", "ece"):
            means[f"CAVI {column}"] = sizes.loc[list(zip(means["data"], means["n"], strict=True)),
                                                column].to_numpy()  # fmt: skip
        keep(means, "network_ml", by="data")


if __name__ == "__main__":
    main()
