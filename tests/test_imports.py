"""`import bayesvb` is quick, and brings no package that only some calls need."""

import ast
import inspect
import json
import statistics
import subprocess
import sys

import pytest

import bayesvb

SECONDS = 0.6
LATE = {"arviz", "arviz_plots", "arviz_stats", "dask", "formulaic", "jinja2", "matplotlib"}
AFTER_A_FIT = {
    *("arviz", "jinja2", "matplotlib", "xarray"),
    *("scipy.cluster", "scipy.optimize", "scipy.spatial", "scipy.stats"),
    *("bayesvb.estimators.imputation", "bayesvb.estimators.network", "bayesvb.estimators.pca"),
    *("bayesvb.experts.gaussian_full", "bayesvb.experts.linear_student", "bayesvb.experts.poisson"),
    *("bayesvb.formula.passes.streamed_design", "bayesvb.models.reduced_mixture"),
    *("bayesvb.results.leave_one_out", "bayesvb.results.stacking", "bayesvb.sensitivity.jackknife"),
}
MODELLING = sorted(set(bayesvb._HOMES) - {"datasets", "report", "report_section"})


def run(program: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def brought() -> dict[str, set[str]]:
    """Late packages in memory after `import bayesvb`, then after each public name in turn.

    One interpreter is enough: whatever a name brings stays there, for it and for all after it.
    """
    program = (
        "import json, sys, bayesvb\n"
        "loaded = lambda: sorted({name.split('.')[0] for name in sys.modules})\n"
        "seen = {'': loaded()}\n"
        f"for name in {[*MODELLING, 'report']}:\n"
        "    getattr(bayesvb, name)\n"
        "    seen[name] = loaded()\n"
        "print(json.dumps(seen))"
    )
    return {name: LATE & set(packages) for name, packages in json.loads(run(program)).items()}


@pytest.mark.timing
def test_import_takes_well_under_a_second():
    clock = "from time import perf_counter as now; t = now(); import bayesvb; print(now() - t)"
    run(clock)  # the first time writes the compiled files
    assert statistics.median(float(run(clock)) for _ in range(5)) <= SECONDS


@pytest.mark.parametrize("name", ["", *MODELLING])
def test_a_public_name_brings_no_package_that_only_some_calls_need(brought, name):
    assert brought[name] == set()


def test_pages_bring_templates_but_no_drawings(brought):
    """The short edition has no figure of matplotlib, whose import takes 0.4 s."""
    assert brought["report"] == {"jinja2"}


@pytest.mark.parametrize("gate", ["softmax", "stick-breaking"])
@pytest.mark.quick(gate=("softmax",))
def test_a_first_fit_brings_what_it_needs(gate):
    """Statistical tests, optimisers, files and pages wait until they are asked for."""
    program = (
        "import sys, warnings, bayesvb\n"
        "warnings.simplefilter('ignore')\n"
        "rows = {'x': [float(i) for i in range(60)], 'y': [float(i * i % 17) for i in range(60)]}\n"
        f"model = bayesvb.DensityRegression('y ~ x', rows, n_components=2, gate={gate!r})\n"
        "model.fit(seed=1, restarts=1, draws=25).predict()\n"
        f"print([name for name in {sorted(AFTER_A_FIT)} if name in sys.modules])"
    )
    assert run(program).strip() == "[]"


def test_a_first_table_of_effects_brings_no_module_that_takes_long():
    """Statistical tests and optimisers take 0.5 s to import, a table of effects 0.1 s."""
    slow = sorted(name for name in AFTER_A_FIT if name.startswith("scipy"))
    program = (
        "import sys, warnings, bayesvb\n"
        "warnings.simplefilter('ignore')\n"
        "rows = {'x': [float(i) for i in range(60)], 'y': [float(i * i % 17) for i in range(60)]}\n"
        "fit = bayesvb.DensityRegression('y ~ x', rows, n_components=1).fit(seed=1)\n"
        "print(bayesvb.effects.predictions(fit, {'x': [1.0, 2.0]}))\n"
        f"print([name for name in {slow} if name in sys.modules])"
    )
    assert run(program).splitlines()[-1] == "[]"


@pytest.mark.parametrize("name", bayesvb.__all__)
def test_a_public_name_is_there_and_listed(name):
    assert getattr(bayesvb, name) is not None
    assert name in dir(bayesvb)


@pytest.mark.parametrize("module", [bayesvb, bayesvb.effects, bayesvb.plots])
def test_completion_lists_public_names_only(module):
    listed = [name for name in dir(module) if not name.startswith("_")]
    public = [name for name in module.__all__ if not name.startswith("_")]
    assert sorted(listed) == sorted([*public, *(["sklearn"] if module is bayesvb else [])])


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'bayesvb' has no attribute 'DensityRegresion'"):
        bayesvb.DensityRegresion  # noqa: B018


def test_type_checkers_see_the_names_that_the_interpreter_sees():
    (block,) = (
        node
        for node in ast.parse(inspect.getsource(bayesvb)).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    seen = {
        alias.asname: getattr(statement, "module", alias.name)
        for statement in block.body
        if isinstance(statement, ast.Import | ast.ImportFrom)
        for alias in statement.names
    }
    assert seen == bayesvb._HOMES


@pytest.mark.heavy
def test_a_module_of_every_folder_can_be_imported_first():
    # A circular import shows only when the wrong module comes first. It cannot arise while
    # test_layers.py passes; this looks at what the interpreter does, not at what is written.
    program = (
        "import importlib.util, pkgutil, sys, bayesvb\n"
        "modules = pkgutil.walk_packages(bayesvb.__path__, 'bayesvb.')\n"
        "last = {module.name.rpartition('.')[0]: module for module in modules}\n"
        "for module in last.values():\n"
        "    for name in [n for n in sys.modules if n.startswith('bayesvb.')]:\n"
        "        del sys.modules[name]\n"
        "    lacks = '.skpro' in module.name and not importlib.util.find_spec('skpro')\n"
        "    if not (lacks or module.name.endswith('__main__')): __import__(module.name)\n"
    )
    assert run(program) == ""
