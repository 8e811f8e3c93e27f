"""Functions of ArviZ, of the installed line, on the object of every model by every engine.

Each function works or is in `REFUSED` with the reason.
"""

import importlib.util
import warnings

import matplotlib.pyplot as plt
import pytest
import xarray as xr

from bayesvb.errors import DataError
from bayesvb.storage.arviz_objects import arviz_line, group, import_arviz

LINE = arviz_line()

ONE_RESPONSE = ("density, softmax", "density, student", "network, classes", "network, numbers",
                "normal")  # fmt: skip
SEVERAL_RESPONSES = ("density, two responses", "gaussians, full", "components, scaled",
                     "components, gaps")  # fmt: skip
METHODS = ("cavi", "em", "svi")

PLOTTED = ("density, softmax", "gaussians, full", "components, gaps", "normal")
"""Cases of the plots, which take most of the time: posteriors of different dimensions."""


def smallest(obj, n=1):
    """Names of the variables with the fewest values."""
    posterior = group(obj, "posterior")
    return sorted(map(str, posterior.data_vars), key=lambda name: posterior[name].size)[:n]


def observed(obj):
    """Name of the first response."""
    return str(next(iter(group(obj, "observed_data").data_vars)))


def of_all(name, **options):
    return lambda az, obj, path: getattr(az, name)(obj, **options)


def of_parameters(name, n=1, **options):
    return lambda az, obj, path: getattr(az, name)(obj, var_names=smallest(obj, n), **options)


def of_response(name, argument="var_names", **options):
    def call(az, obj, path):
        response = observed(obj) if argument in ("y", "var_name") else [observed(obj)]
        return getattr(az, name)(obj, **{argument: response}, **options)

    return call


def through_file(ending, **options):
    def call(az, obj, path):
        write, read = {"nc": ("to_netcdf", az.from_netcdf), "zarr": ("to_zarr", az.from_zarr)}[
            ending
        ]
        getattr(obj, write)(str(path / f"object.{ending}"), **options)
        back = read(str(path / f"object.{ending}"))
        assert group(back, "posterior").equals(group(obj, "posterior"))

    return call


def compared(name):
    def call(az, obj, path):
        table = az.compare({"a": obj, "b": obj})
        return table if name == "compare" else az.plot_compare(table)

    return call


def bayes_factor(az, obj, path):
    """Of one value in the middle of the posterior, near which there are prior draws as well."""
    name = "share" if "share" in group(obj, "posterior") else smallest(obj)[0]
    posterior = group(obj, "posterior")[name]
    at = {dim: 0 for dim in posterior.dims if dim not in ("chain", "draw")}
    value = float(posterior.isel(at).mean())
    both = {key: group(obj, key)[[name]].isel(at, drop=True) for key in ("posterior", "prior")}
    if LINE == 0:
        return az.plot_bf(az.InferenceData(**both), var_name=name, ref_val=value)
    return az.bayes_factor(xr.DataTree.from_dict(both), var_names=name, ref_vals=value)


def without_component(dataset):
    """The dataset with another name of the dimension that az.psense_summary adds itself."""
    return dataset.rename(component="part") if "component" in dataset.dims else dataset


NUMBERS = {
    "summary": of_all("summary"),
    "hdi": of_all("hdi"),
    "ess": of_all("ess"),
    "rhat": of_all("rhat"),
    "mcse": of_all("mcse"),
    "extract": of_all("extract", num_samples=5),
    "loo": of_all("loo", pointwise=True),
    "compare": compared("compare"),
    "bayes_factor": bayes_factor,
    "netCDF": through_file("nc"),
} | (
    {
        "waic": of_all("waic", pointwise=True),
        "loo_pit": of_response("loo_pit", "y"),
        "psens, prior": of_all("psens", component="prior"),
        "psens, likelihood": of_all("psens", component="likelihood"),
        "concat": lambda az, obj, path: az.concat(obj, obj, dim="chain"),
        "to_dataframe": lambda az, obj, path: obj.to_dataframe(),
    }
    if LINE == 0
    else {
        "eti": of_all("eti"),
        "qds": of_all("qds"),
        "psense": of_all("psense"),
        "psense_summary": of_all("psense_summary"),
        "psense_summary, renamed": lambda az, obj, path: az.psense_summary(
            obj.map_over_datasets(without_component)
        ),
        "loo_pit": of_response("loo_pit"),
        "loo_expectations": of_response("loo_expectations", "var_name"),
        "loo_metrics": of_response("loo_metrics", "var_name"),
        "loo_r2": of_response("loo_r2", "var_name"),
        "loo_subsample": of_all("loo_subsample", observations=20),
    }
)

if importlib.util.find_spec("zarr"):
    NUMBERS["zarr"] = through_file("zarr", **({"zarr_format": 2} if LINE else {}))

PLOTS = {
    "plot_compare": compared("plot_compare"),
    "plot_khat": lambda az, obj, path: az.plot_khat(az.loo(obj, pointwise=True)),
    "plot_forest": of_parameters("plot_forest"),
    "plot_trace": of_parameters("plot_trace"),
    "plot_autocorr": of_parameters("plot_autocorr"),
    "plot_ess": of_parameters("plot_ess"),
    "plot_mcse": of_parameters("plot_mcse"),
    "plot_rank": of_parameters("plot_rank"),
    "plot_pair": of_parameters("plot_pair", 2),
    "plot_energy": of_all("plot_energy"),
    "bfmi": of_all("bfmi"),
} | (
    {
        "plot_posterior": of_parameters("plot_posterior"),
        "plot_density": of_parameters("plot_density"),
        "plot_violin": of_parameters("plot_violin"),
        "plot_ppc": of_response("plot_ppc", num_pp_samples=5),
        "plot_ppc, prior": of_response("plot_ppc", num_pp_samples=5, group="prior"),
        "plot_bpv": of_response("plot_bpv"),
        "plot_loo_pit": of_response("plot_loo_pit", "y"),
        "plot_dist_comparison": of_parameters("plot_dist_comparison"),
    }
    if LINE == 0
    else {
        "plot_trace_dist": of_parameters("plot_trace_dist"),
        "plot_dist": of_parameters("plot_dist"),
        "plot_ridge": of_parameters("plot_ridge"),
        "plot_ppc_dist": of_response("plot_ppc_dist", num_samples=5),
        "plot_ppc_dist, prior": of_response(
            "plot_ppc_dist", num_samples=5, group="prior_predictive"
        ),
        "plot_ppc_interval": of_response("plot_ppc_interval"),
        "plot_ppc_tstat": of_response("plot_ppc_tstat"),
        "plot_ppc_pit": of_response("plot_ppc_pit"),
        "plot_loo_pit": of_response("plot_loo_pit"),
        "plot_prior_posterior": of_parameters("plot_prior_posterior"),
        "plot_psense_dist": of_parameters("plot_psense_dist"),
        "plot_psense_quantities": of_parameters("plot_psense_quantities"),
        "plot_rank_dist": of_parameters("plot_rank_dist"),
    }
)

EVERY = (*ONE_RESPONSE, *SEVERAL_RESPONSES)
MIXTURES = tuple(name for name in EVERY if name != "normal")
ONE_CHAIN = (EVERY, "at least 2 chains", "draws are one chain: they are independent")
JOINT = (SEVERAL_RESPONSES, "No variable named|directly convert|KeyError",
         "log_likelihood is the joint density of all responses: there is none of one")  # fmt: skip
NO_ENERGY = (EVERY, "(?i)no (attribute|variable named) 'energy'|energy",
             "no Hamiltonian dynamics made the draws")  # fmt: skip
REFUSED = {
    "plot_energy": NO_ENERGY,
    "bfmi": NO_ENERGY,
} | (
    {}
    if LINE == 0
    else {
        "plot_rank": ONE_CHAIN,
        "plot_rank_dist": ONE_CHAIN,
        "psense_summary": (MIXTURES, "conflicting sizes for dimension 'component'",
                           "its own dimension has the name component; works after a renaming"),
        "loo_pit": JOINT,
        "plot_loo_pit": JOINT,
        "loo_metrics": JOINT,
        "loo_r2": JOINT,
    }
)  # fmt: skip
"""Function to the cases in which it raises, what it says then, and why that is right."""


@pytest.fixture(scope="module")
def az():
    return import_arviz()


def refused(functions, az, obj, path):
    """Functions that raise, with what they say."""
    messages = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few draws and of large Pareto k
        for name, function in functions.items():
            try:
                function(az, obj, path)
            except Exception as error:  # of any type: the table names the message
                messages[name] = f"{type(error).__name__}: {error}"
            finally:
                plt.close("all")
    return messages


def check(functions, case_name, az, obj, path):
    """Raise unless exactly the functions of the table raise, with the messages of the table."""
    expected = {name: said for name, (cases, said, _) in REFUSED.items()
                if name in functions and case_name in cases}  # fmt: skip
    messages = refused(functions, az, obj, path)
    assert set(messages) == set(expected), messages
    for name, said in expected.items():
        assert pytest.raises(Exception, match=said).matches(Exception(messages[name])), messages


def object_of(cases, name, table, method="cavi"):
    """ArviZ object of a brief fit; skip engines that do not fit the model."""
    case = cases[name]
    options = {"seed": 3, "restarts": 1, "combine": "best", "draws": 100, "max_iter": 30}
    try:
        return case.fit(case.model(table), method=method, **options).idata
    except DataError as error:
        assert f"method={method!r}" in str(error)
        pytest.skip(str(error))


@pytest.mark.parametrize("name", ["gaussians, full", "components, scaled", "normal"])
def test_summary_has_a_row_per_number(az, cases, table, name):
    fit = cases[name].brief_fit(cases[name].model(table))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = az.summary(fit.idata, kind="stats")
    assert len(found) == sum(values[0].size for values in fit.named_draws.values.values())


# Names and dims are the same by every engine (test_models_by_engines.py): a few cases are enough.
FITTED = [
    (name, method) for name in EVERY for method in METHODS if method == "cavi" or name in PLOTTED
]


@pytest.mark.heavy
@pytest.mark.parametrize(("name", "method"), FITTED)
def test_functions_that_return_numbers(az, cases, table, name, method, tmp_path):
    check(NUMBERS, name, az, object_of(cases, name, table, method), tmp_path)


@pytest.mark.heavy
@pytest.mark.parametrize("name", PLOTTED)
def test_functions_that_plot(az, cases, table, name, tmp_path):
    check(PLOTS, name, az, object_of(cases, name, table), tmp_path)


@pytest.mark.heavy
@pytest.mark.mcmc
def test_functions_on_chains_of_nuts(az, cases, table, tmp_path):
    """All of the table, with energies."""
    case = cases["normal"]
    options = {"seed": 3, "restarts": 1, "draws": 100, "chains": 2, "warmup": 60}
    obj = case.fit(case.model(table), method="nuts", **options).idata
    assert not refused(NUMBERS | PLOTS, az, obj, tmp_path)


def test_the_draws_serve_power_scaling_and_bayes_factors(az, cases, table, tmp_path):
    obj = object_of(cases, "normal", table)
    scaled = {name: one for name, one in NUMBERS.items() if name.startswith("psens")}
    assert len(scaled) >= 2
    check(scaled | {"bayes_factor": bayes_factor}, "normal", az, obj, tmp_path)
