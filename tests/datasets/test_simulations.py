"""The simulations draw from the law that they claim: samples and truth agree."""

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

from bayesvb import datasets
from bayesvb.errors import DataError

Pinwheel, SIMULATIONS = datasets.Pinwheel, datasets.SIMULATIONS

REAL = {k: v for k, v in SIMULATIONS.items() if isinstance(v, datasets.Simulation)}
CLASSES = {k: v for k, v in SIMULATIONS.items() if k not in REAL}
# Each statistical test below fails by chance once in ten thousand seeds; the seeds are fixed.
RARE = 1e-4

each = pytest.mark.parametrize("name", SIMULATIONS)
each_real = pytest.mark.parametrize("name", REAL)
each_class = pytest.mark.parametrize("name", CLASSES)


def reference_mean(frame, name):
    """Conditional mean, written down again from the published equations."""
    first = {
        "dpmix2": lambda x: np.exp(-2 * x),
        "two_experts": lambda x: 1 / (1 + np.exp(-0.3 - x)),
    }
    match name:
        case "bimodal":
            return frame.x
        case "dpmix1":
            return -1 + 2 * frame.x
        case "dpmix2":
            w = first[name](frame.x)
            return w * frame.x + (1 - w) * -2 * frame.x
        case "two_experts":
            w = first[name](frame.x)
            return w * (1 + 1.5 * frame.x) + (1 - w) * (-1 - frame.x)
        case "beta1":
            a, b = 4 * frame.x1 + 3 * frame.x2**2, 10 * frame.x2
            return a / (a + b)
        case "beta2":
            a, b = 5 * frame.x2 * np.exp(2 * frame.x1), 5 * frame.x3 + 3 * frame.x4
            return a / (a + b)


@each
def test_the_same_seed_gives_the_same_rows_and_another_seed_others(name):
    first = datasets.load(name, n=20, seed=3)
    pd.testing.assert_frame_equal(first, datasets.load(name, n=20, seed=3))
    assert not first.equals(datasets.load(name, n=20, seed=4))


@each
def test_without_a_seed_every_call_draws_afresh(name):
    assert not datasets.load(name, n=20).equals(datasets.load(name, n=20))


@each
def test_the_global_generator_is_neither_read_nor_moved(name):
    np.random.seed(5)  # noqa: NPY002
    first, before = datasets.load(name, n=20, seed=3), np.random.get_state()[1].copy()  # noqa: NPY002
    np.random.seed(6)  # noqa: NPY002
    second = datasets.load(name, n=20, seed=3)
    np.random.seed(5)  # noqa: NPY002
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    pd.testing.assert_frame_equal(first, second)


@each
def test_one_row_can_be_drawn(name):
    frame = datasets.load(name, n=1, seed=1)
    assert len(frame) == 1
    assert SIMULATIONS[name].log_density(frame).shape == (1,)


@each
def test_the_truth_does_not_depend_on_the_order_of_rows_or_columns(name):
    frame = datasets.load(name, n=30, seed=2)
    truth = SIMULATIONS[name].log_density(frame)
    mixed = frame.iloc[::-1, ::-1]
    np.testing.assert_allclose(SIMULATIONS[name].log_density(mixed), truth[::-1], rtol=1e-12)


@each
def test_a_missing_column_is_named(name):
    frame = datasets.load(name, n=5, seed=2)
    for column in (frame.columns[0], frame.columns[-1]):
        with pytest.raises(DataError, match=f"no column '{column}'"):
            SIMULATIONS[name].log_density(frame.drop(columns=column))


@each_real
@pytest.mark.quick(name=("dpmix1", "beta2"))
def test_the_density_integrates_to_the_distribution_function(name):
    design = SIMULATIONS[name]
    for _, row in datasets.load(name, n=2, seed=8).iterrows():
        # The beta densities have poles at 0 and 1, so the integral stays inside.
        low, high = (design.quantile(row.to_frame().T, q)[0] for q in (1e-6, 1 - 1e-6))

        def at(y, row=row):
            return row.to_frame().T.assign(y=y)

        mass, _ = integrate.quad(
            lambda y: np.exp(design.log_density(at(y))[0]), low, high, limit=200
        )
        assert mass == pytest.approx(1 - 2e-6, abs=1e-7)
        assert design.cdf(at(high))[0] - design.cdf(at(low))[0] == pytest.approx(mass, abs=1e-7)


@each_real
def test_quantiles_invert_the_distribution_function(name):
    frame = datasets.load(name, n=200, seed=4)
    design = SIMULATIONS[name]
    for q in (1e-4, 0.05, 0.5, 0.95, 1 - 1e-4):
        at = frame.assign(y=design.quantile(frame, q))
        np.testing.assert_allclose(design.cdf(at), q, rtol=1e-9)


@each_real
def test_the_probability_transform_of_a_sample_is_uniform(name):
    frame = datasets.load(name, n=20_000, seed=11)
    u = SIMULATIONS[name].cdf(frame)
    assert stats.kstest(u, "uniform").pvalue > RARE
    # ... and tells nothing about the covariates
    for covariate in SIMULATIONS[name].covariates:
        assert stats.spearmanr(frame[covariate], u).pvalue > RARE
        assert stats.spearmanr(frame[covariate], np.abs(u - 0.5)).pvalue > RARE


@each_real
def test_the_mean_is_the_one_of_the_published_equations_and_of_the_sample(name):
    frame = datasets.load(name, n=20_000, seed=12)
    mean = SIMULATIONS[name].mean(frame)
    np.testing.assert_allclose(mean, reference_mean(frame, name), rtol=1e-12, atol=1e-14)
    assert stats.ttest_1samp(frame["y"] - mean, 0).pvalue > RARE


@pytest.mark.parametrize(
    ("name", "x", "law"),
    [
        ("dpmix1", {"x": 0.3}, stats.norm(-0.4, np.sqrt(0.01))),
        ("beta1", {"x1": 0.2, "x2": 0.5}, stats.beta(1.55, 5.0)),
        ("beta2", {"x1": 0.5, "x2": 0.2, "x3": 0.4, "x4": 0.6}, stats.beta(np.e, 3.8)),
    ],
)
def test_the_law_at_a_point_is_the_one_of_scipy(name, x, law):
    y = np.linspace(*law.ppf([0.01, 0.99]), 9)
    frame = pd.DataFrame({**x, "y": y})
    np.testing.assert_allclose(SIMULATIONS[name].log_density(frame), law.logpdf(y), rtol=1e-10)
    np.testing.assert_allclose(SIMULATIONS[name].quantile(frame, 0.3), law.ppf(0.3), rtol=1e-10)


@pytest.mark.parametrize(
    ("name", "x", "parts"),
    [
        ("bimodal", 0.4, [(0.5, -1.1, 0.5), (0.5, 1.9, 1.0)]),
        ("dpmix2", 0.4, [(np.exp(-0.8), 0.4, 0.1), (1 - np.exp(-0.8), -0.8, 0.2)]),
        (
            "two_experts",
            0.4,
            [(1 / (1 + np.exp(-0.7)), 1.6, 0.5), (1 / (1 + np.exp(0.7)), -1.4, 0.8)],
        ),
    ],
)
def test_the_mixture_at_a_point_is_the_one_of_the_published_equations(name, x, parts):
    y = np.linspace(-3, 4, 15)
    expected = sum(w * stats.norm(m, s).pdf(y) for w, m, s in parts)
    found = SIMULATIONS[name].log_density(pd.DataFrame({"x": x, "y": y}))
    np.testing.assert_allclose(found, np.log(expected), rtol=1e-10)


@pytest.mark.parametrize(
    ("name", "column", "law"),
    [
        ("bimodal", "x", stats.norm()),
        ("dpmix1", "x", stats.uniform(0, 1)),
        ("dpmix2", "x", stats.uniform(0, 1)),
        ("two_experts", "x", stats.uniform(-2, 4)),
        ("beta1", "x2", stats.uniform(0.05, 0.9)),
        ("beta2", "x4", stats.uniform(0.05, 0.9)),
    ],
)
def test_covariates_follow_their_law(name, column, law):
    assert stats.kstest(datasets.load(name, n=5000, seed=13)[column], law.cdf).pvalue > RARE


def test_the_bimodal_truth_scores_what_is_known_of_it():
    """Mean log density −1.694, measured on 5000 points by other software (standard error .012)."""
    frame = datasets.load("bimodal", n=20_000, seed=14)
    assert SIMULATIONS["bimodal"].log_density(frame).mean() == pytest.approx(-1.694, abs=0.04)


@pytest.mark.parametrize("q", [0.0, 1.0, -0.1, 1.5, float("nan")])
def test_a_quantile_outside_the_unit_interval_is_refused(q):
    with pytest.raises(DataError, match=r"q = "):
        SIMULATIONS["beta1"].quantile(datasets.load("beta1", n=2, seed=1), q)


def test_a_beta_response_outside_its_support_has_density_zero():
    frame = datasets.load("beta1", n=2, seed=1).assign(y=[-0.1, 1.1])
    assert np.all(np.isneginf(SIMULATIONS["beta1"].log_density(frame)))
    np.testing.assert_array_equal(SIMULATIONS["beta1"].cdf(frame), [0, 1])


@each_class
def test_class_probabilities_sum_to_one_on_the_index_given(name):
    frame = datasets.load(name, n=40, seed=5).set_index(pd.Index(np.arange(40) % 7, name="day"))
    probabilities = SIMULATIONS[name].probabilities(frame.drop(columns="label"))
    pd.testing.assert_index_equal(probabilities.index, frame.index)
    assert tuple(probabilities.columns) == SIMULATIONS[name].labels
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-12)


@each_class
def test_the_log_density_is_the_log_probability_of_the_label(name):
    frame = datasets.load(name, n=40, seed=5)
    probabilities = SIMULATIONS[name].probabilities(frame).to_numpy()
    expected = np.log(probabilities[np.arange(40), frame["label"].cat.codes])
    np.testing.assert_allclose(SIMULATIONS[name].log_density(frame), expected, rtol=1e-9)


@each_class
def test_class_probabilities_are_calibrated(name):
    """Among the rows given probability p of a class, a share p is of that class."""
    frame = datasets.load(name, n=8000, seed=15)
    probabilities = SIMULATIONS[name].probabilities(frame)
    for label in probabilities:
        p = probabilities[label].to_numpy()
        bin_of = np.digitize(p, [0.02, 0.1, 0.3, 0.7, 0.9, 0.98])
        for chosen in (bin_of == b for b in range(7)):
            excess = np.sum((frame["label"] == label)[chosen] - p[chosen])
            sd = np.sqrt(np.sum((p * (1 - p))[chosen]))
            assert abs(excess) < 4.5 * sd + 1


@each_class
def test_classes_are_equally_likely(name):
    counts = datasets.load(name, n=8000, seed=16)["label"].value_counts()
    assert stats.chisquare(counts).pvalue > RARE


@each_class
def test_a_label_that_is_no_class_is_refused(name):
    frame = datasets.load(name, n=3, seed=1).assign(label=["0", "seven", "1"])
    with pytest.raises(DataError, match="'seven' is no class"):
        SIMULATIONS[name].log_density(frame)


def test_the_best_classifier_of_the_waveforms_errs_in_13_percent():
    """Also on the 5000 rows that UCI distributes, where the rule of this density errs in 12.9 %."""
    frame = datasets.load("waveform", n=20_000, seed=17)
    best = SIMULATIONS["waveform"].probabilities(frame).idxmax(axis=1)
    assert np.mean(best != frame["label"].astype(str)) == pytest.approx(0.131, abs=0.01)


def test_the_waveform_density_is_the_integral_over_the_mixing_share():
    frame = datasets.load("waveform", n=6, seed=18)
    x = frame.drop(columns="label").to_numpy()
    waves = [np.maximum(6 - np.abs(np.arange(1, 22) - peak), 0) for peak in (7, 15, 11)]

    def density(u, row, a, b):
        return np.exp(stats.norm.logpdf(row, u * waves[a] + (1 - u) * waves[b]).sum())

    expected = [
        [
            np.log(integrate.quad(density, 0, 1, args=(row, a, b))[0])
            for a, b in [(0, 1), (0, 2), (1, 2)]
        ]
        for row in x
    ]
    found = SIMULATIONS["waveform"].log_class_densities(frame)
    np.testing.assert_allclose(found, expected, rtol=1e-7)


def test_waveform_probabilities_stay_finite_far_away():
    frame = datasets.load("waveform", n=4, seed=19)
    far = frame.assign(**{f"x{i}": 1e4 * frame[f"x{i}"] for i in range(1, 22)})
    assert np.isfinite(SIMULATIONS["waveform"].log_class_densities(far)).all()


def bend(design, f, turn):
    """The pinwheel's map, by complex multiplication."""
    return 10 * (f[0] + 1j * f[1]) * np.exp(1j * (turn + design.rate * np.exp(f[0])))


@pytest.mark.parametrize(
    "design", [Pinwheel(classes=1), Pinwheel(classes=1, tangential=0.8, rate=0.4)]
)
def test_the_pinwheel_density_gives_cells_the_share_of_points_that_fall_into_them(design):
    rng = np.random.default_rng(20)
    x = bend(
        design,
        rng.standard_normal((2, 200_000)) * [[design.radial], [design.tangential]] + [[1], [0]],
        0,
    )
    cells = np.linspace(-30, 30, 13)
    found = np.histogram2d(x.real, x.imag, bins=[cells, cells])[0] / x.size
    fine = np.linspace(-30, 30, 241)[:-1] + 0.125
    grid = pd.DataFrame({"x1": np.repeat(fine, 240), "x2": np.tile(fine, 240)})
    density = np.exp(design.log_class_densities(grid)[:, 0]).reshape(12, 20, 12, 20)
    expected = density.mean(axis=(1, 3)) * 25
    # 5 standard errors of the count, and the midpoint rule where the density has a crease
    np.testing.assert_array_less(np.abs(found - expected), 5 * np.sqrt(expected / x.size) + 1e-3)


def test_the_pinwheel_density_counts_every_point_that_leads_there():
    """Where an arm folds over, several f meet; a brute search along the circle finds each."""
    design = Pinwheel(tangential=1.5, rate=0.5)
    radius, target = 2.4, -2.0
    angle = np.linspace(-np.pi, np.pi, 2_000_001)
    ahead = np.exp(1j * (angle + design.rate * np.exp(radius * np.cos(angle)) - target))
    crossing = np.flatnonzero((np.diff(np.sign(ahead.imag)) != 0) & (ahead.real[1:] > 0))
    f1, f2 = radius * np.cos(angle[crossing]), radius * np.sin(angle[crossing])
    density = stats.norm(1, 0.7).pdf(f1) * stats.norm(0, 1.5).pdf(f2)
    expected = np.sum(density / np.abs(1 - design.rate * f2 * np.exp(f1))) / 100
    assert crossing.size == 3
    point = pd.DataFrame(
        {"x1": [10 * radius * np.cos(target)], "x2": [10 * radius * np.sin(target)]}
    )
    assert np.exp(design.log_class_densities(point)[0, 0]) == pytest.approx(expected, rel=1e-4)


def test_turning_the_pinwheel_by_one_arm_shifts_the_classes():
    design = Pinwheel()
    frame = datasets.load("pinwheel", n=50, seed=21)
    turned = (frame["x1"] + 1j * frame["x2"]) * np.exp(2j * np.pi / 5)
    there = pd.DataFrame({"x1": turned.to_numpy().real, "x2": turned.to_numpy().imag})
    before, after = design.log_class_densities(frame), design.log_class_densities(there)
    np.testing.assert_allclose(np.roll(before, 1, axis=1), after, rtol=1e-6)


def test_the_centre_of_the_pinwheel_belongs_to_all_arms_alike():
    centre = pd.DataFrame({"x1": [0.0], "x2": [0.0]})
    np.testing.assert_allclose(Pinwheel().probabilities(centre), 0.2, rtol=1e-12)


def test_a_point_beyond_all_arms_is_refused_with_the_reach():
    with pytest.raises(DataError, match="stay within 89"):
        Pinwheel().probabilities(pd.DataFrame({"x1": [200.0], "x2": [0.0]}))


@pytest.mark.parametrize(
    ("field", "value"), [("classes", 0), ("radial", 0.0), ("tangential", -0.3), ("rate", 0.0)]
)
def test_a_pinwheel_without_extent_is_refused(field, value):
    with pytest.raises(DataError, match=f"{field} = {value} must be positive"):
        Pinwheel(**{field: value})
