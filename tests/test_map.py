"""Which file tests which module: the one that mirrors it, or those of a table that stays true.

``bayesvb/data/frames.py`` is mirrored by ``tests/data/test_frames.py``, ``reports/page.py`` by
``tests/reports/test_page.py``. A module that is tested elsewhere stands in the table.
"""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "tests"
PACKAGES = {"bayesvb": FOLDER, "reports": FOLDER / "reports", "datasets": FOLDER / "datasets"}
WITHOUT_CODE = {"__init__.py", "__main__.py"}
NOT_MIRRORED = {"attacks", "conformance", "frozen", "reference", "benchmarks"}
"""Folders of wrong input, tests over a table, frozen numbers, other software, measurements."""

TESTS = """
cli/test_commands.py: bayesvb/cli/ main messages options tables
cli/test_reports.py: bayesvb/cli/ main
conformance/test_ascent.py: bayesvb/experts/ base; bayesvb/variational/ model
conformance/test_deletion.py: bayesvb/engines/ refits; bayesvb/sensitivity/ deletion operator;
    bayesvb/variational/ row_derivatives
conformance/test_engines.py: bayesvb/engines/ base
conformance/test_experts.py: bayesvb/experts/ dispersed_predictor
conformance/test_factors.py: bayesvb/factors/ dirichlet gamma matrix_normal_gamma normal
    normal_gamma normal_wishart regression_factor
conformance/test_gates.py: bayesvb/gates/ base softmax softmax_jensen stick_breaking;
    bayesvb/variational/ linear_predictors local
conformance/test_gaussian_mixture.py: bayesvb/experts/ gaussian_base gaussian_diagonal gaussian_full
conformance/test_groups.py: bayesvb/experts/ grouped
conformance/test_log_joint.py: bayesvb/estimators/ parameter_values
conformance/test_mixture_bound.py: bayesvb/experts/ linear
conformance/test_model_units.py: bayesvb/data/ standardised_blocks
conformance/test_models.py: bayesvb/estimators/ base fitting loading public_models; bayesvb/results/
    base
conformance/test_parameter_spaces.py: bayesvb/variational/ parameter_space
conformance/test_pca.py: bayesvb/factors/ loadings; bayesvb/models/pca/ model prior scores starts
conformance/test_product.py: bayesvb/gates/ softmax_bouchard
conformance/test_semiconjugate.py: bayesvb/experts/ linear_semiconjugate
conformance/test_sources.py: bayesvb/data/ responses; bayesvb/estimators/ model_rows row_scales;
    bayesvb/formula/passes/ design_rows
conformance/test_tilted.py: bayesvb/gates/ tilted_bound
data/test_dask_frames.py: bayesvb/data/ dask_rows
data/test_scaling.py: bayesvb/data/ responses
datasets/test_datasets.py: datasets/ catalogue loading
datasets/test_simulations.py: datasets/ designs laws pinwheel waveform
distributions/test_count_mixture.py: bayesvb/distributions/ count_laws
distributions/test_location_scale.py: bayesvb/numerics/ records
distributions/test_prediction.py: bayesvb/distributions/ base
distributions/test_predictor_mixture.py: bayesvb/distributions/ gamma_mixture
effects/test_curves.py: bayesvb/effects/ curve_settings; bayesvb/plots/ curves
effects/test_effects.py: bayesvb/effects/ contrasts effect_draws grid marginal_effects result table;
    bayesvb/results/ capabilities
engines/test_adaptive_importance.py: bayesvb/engines/ sampler_record
engines/test_em.py: bayesvb/variational/ point_model
engines/test_known_rows.py: bayesvb/variational/ streamed_model
engines/test_nuts.py: bayesvb/engines/ differentiated
engines/test_point_estimates.py: bayesvb/variational/ point_model
engines/test_ranking.py: bayesvb/engines/ traces
engines/test_restarts.py: bayesvb/engines/ base traces
engines/test_tempering.py: bayesvb/engines/ hamiltonian
estimators/sites/test_contents.py: bayesvb/estimators/sites/ runs
estimators/sites/test_rounds.py: bayesvb/estimators/sites/ columns design record runs
estimators/test_bad_input.py: bayesvb/ argument_checks errors; bayesvb/estimators/ base
estimators/test_checkpoint.py: bayesvb/engines/ run_log run_state
estimators/test_fit.py: bayesvb/estimators/ mixture
estimators/test_groups.py: bayesvb/results/ groups pit; reports/sections/ trajectories
estimators/test_kept_sample.py: bayesvb/formula/passes/ learned_numbers; bayesvb/results/ base
estimators/test_many_groups.py: bayesvb/effects/ many_groups; bayesvb/estimators/ group_effects;
    bayesvb/formula/ group_places
estimators/test_network_public.py: bayesvb/estimators/ network network_assembly network_prediction
estimators/test_pca_intervals.py: bayesvb/models/pca/ covariance information
estimators/test_priors.py: bayesvb/estimators/ default_priors learned_scales prior_rows;
    bayesvb/experts/ regression; bayesvb/variational/ descriptions
estimators/test_probability_intervals.py: bayesvb/estimators/ network_prediction
estimators/test_regression_verbs.py: bayesvb/plots/ diagnostics overview; bayesvb/results/
    calibration pit
estimators/test_shell_line.py: bayesvb/results/ fit_call
estimators/test_streaming.py: bayesvb/data/ frame_kinds frame_streams lazy_frames parquet_frames
    streamed_rows; bayesvb/formula/passes/ representatives streamed_design
    transform_states; bayesvb/results/ all_rows
estimators/test_weighing.py: bayesvb/estimators/ fit_request
evaluation/test_calibration.py: bayesvb/evaluation/ crps
evaluation/test_information_criteria.py: bayesvb/evaluation/ elpd psis
evaluation/test_linear_baseline.py: bayesvb/results/ baselines
evaluation/test_misfit.py: bayesvb/evaluation/ discreteness family_wise normal_scores row_order
    score_regression unseen_optima within_groups
evaluation/test_multinomial_baseline.py: bayesvb/results/ baselines
experts/test_binomial.py: bayesvb/estimators/ trials
experts/test_drawn_lines.py: bayesvb/experts/ row_downdate; bayesvb/models/ drawn_effects
experts/test_gamma.py: bayesvb/experts/ dispersed_predictor positive
experts/test_intervals.py: bayesvb/distributions/ interval_scores; bayesvb/experts/ linear_interval
    student_interval; bayesvb/plots/ survival; bayesvb/results/ survival_curves; reports/sections/
    survival
experts/test_ordinal.py: bayesvb/data/ ordered_levels; bayesvb/distributions/ level_predictions
    ordinal_mixture; bayesvb/experts/ ordered ordinal_posterior
experts/test_sequential.py: bayesvb/experts/ ordered
experts/test_spread.py: bayesvb/data/parts/ sigma; bayesvb/experts/ further_predictor
experts/test_weibull.py: bayesvb/distributions/ weibull_mixture; bayesvb/experts/ positive
experts/test_zero_inflated.py: bayesvb/data/parts/ zero; bayesvb/distributions/
    zero_inflated_mixture; bayesvb/experts/ further_predictor
formula/test_bad_data.py: bayesvb/formula/ checks responses
formula/test_budget.py: bayesvb/formula/ limits
formula/test_design.py: bayesvb/formula/ columns encoder matrices responses
formula/test_expressions.py: bayesvb/formula/ allowed_functions
formula/test_group_columns.py: bayesvb/formula/ level_indicators own_columns term_columns;
    bayesvb/linear/ structure
formula/test_parser.py: bayesvb/data/parts/ base gating mean; bayesvb/ errors; bayesvb/formula/
    terms tokens
formula/test_smooth_columns.py: bayesvb/formula/ own_columns smooth_margins surface_columns
    term_columns; bayesvb/numerics/ periodic_curves
formula/test_stages.py: bayesvb/formula/ binding encoder
gates/test_gaussian_logits.py: bayesvb/models/ drawn_effects
interactive/test_fitting.py: bayesvb/interactive/ tasks
interactive/test_jobs.py: bayesvb/interactive/ zygote
interactive/test_page.py: bayesvb/interactive/ document; bayesvb/interactive/panes/ buttons checks
    controls fit output predict request
interactive/test_server.py: bayesvb/cli/ workbench_command
interactive/test_state.py: bayesvb/interactive/ messages
model_selection/test_selection.py: bayesvb/estimators/ rebuilding
models/network/test_class_probabilities.py: bayesvb/models/network/ stick_labels
models/network/test_held_out.py: bayesvb/engines/ folds
models/network/test_likelihood.py: bayesvb/variational/ likelihood
models/network/test_network_bound.py: bayesvb/models/network/ experts latents model state
models/network/test_network_density.py: bayesvb/models/network/ output output_gaussian
models/network/test_shared_covariance.py: bayesvb/models/network/ output_classes_shared
models/test_compiled_mixture.py: bayesvb/models/ compiled_pass
models/test_mixed_elimination.py: bayesvb/data/ group_rows; bayesvb/models/ grouped_response
    solved_groups; bayesvb/variational/ shared_response
models/test_normal.py: bayesvb/distributions/ normal_scale_mixture
models/test_reduced_mixture.py: bayesvb/models/ integrated_scales mixture_rows reduced_gates;
    bayesvb/variational/ reduced_space
models/test_scaled_mixture.py: bayesvb/models/ scaled_coordinates; bayesvb/variational/
    linear_predictors
plots/test_checks.py: bayesvb/estimators/ fit_pictures
plots/test_plots.py: bayesvb/drawing/ marks palette; bayesvb/effects/ curve_settings plotting table;
    bayesvb/estimators/ fit_pictures; bayesvb/plots/ conditional
reports/markdown/test_page.py: reports/markdown/ formulas inline tree
reports/rows/test_cluster_profiles.py: reports/panels/ clusters
reports/rows/test_group_effects.py: reports/panels/ groups
reports/rows/test_loadings.py: reports/panels/ loadings
reports/rows/test_profiles.py: bayesvb/effects/ observed_rows
reports/test_answer.py: reports/panels/ effects
reports/test_audit.py: reports/figures/ ecdf; reports/sections/ audit
reports/test_checks.py: reports/cells/ checks markup; reports/sections/ accuracy calibration
    classification comparison computation exact pairs replicates
reports/test_effects.py: bayesvb/effects/ average_predictions; reports/rows/ average_effects;
    reports/sections/ effects
reports/test_finding.py: reports/rows/ average_effects; reports/sections/ effect_sentence finding
reports/test_formats.py: reports/sections/ candidates
reports/test_fragments.py: reports/figures/ standalone
reports/test_influence.py: reports/sections/ influence sensitivity
reports/test_panels.py: reports/panels/ dots exact subjects
reports/test_paragraphs.py: reports/ prior_clauses
reports/test_report.py: reports/ page
reports/test_report_classes.py: bayesvb/results/ class_evaluation; reports/figures/ class_regions
    reliability; reports/sections/ classes classification
reports/test_report_parts.py: reports/cells/ numerals plain tables; reports/sections/ reproduce
reports/test_report_sections.py: bayesvb/results/ capabilities; reports/figures/ scatter;
    reports/rows/ sampling; reports/sections/ accuracy calibration components computation
    conditional data exact learning limits model pairs posterior replicates scores verdict
reports/test_side_by_side.py: reports/sections/ side_by_side
results/test_any_group.py: bayesvb/results/ groups
results/test_basis.py: bayesvb/results/checks/ covariates
results/test_causes.py: bayesvb/results/checks/ accuracy causes
results/test_check_table.py: bayesvb/results/checks/ table
results/test_checks.py: bayesvb/results/checks/ accuracy base classes computation covariates grading
    joint pits remedies responses table; bayesvb/results/ class_evaluation
results/test_class_folds.py: bayesvb/results/ class_evaluation
results/test_dependence.py: bayesvb/results/checks/ dependence scope
results/test_exact_draws.py: bayesvb/results/ limits
results/test_far_rows.py: bayesvb/results/checks/ far_rows
results/test_integrated_draws.py: bayesvb/estimators/ half_t
results/test_jackknife_plus.py: bayesvb/results/ calibration
results/test_leave_one_out.py: bayesvb/engines/ refits; bayesvb/results/ groups pit
results/test_more_components.py: bayesvb/results/checks/ more_components
results/test_pit_without_groups.py: bayesvb/results/ pit
results/test_printing.py: bayesvb/results/ limits
results/test_prior_predictive.py: bayesvb/estimators/ prior_rows
results/test_recalibration.py: bayesvb/results/ calibration
results/test_remedies.py: bayesvb/results/checks/ edits
results/test_response_notes.py: bayesvb/evaluation/ response_support
results/test_saving.py: bayesvb/estimators/ loading
results/test_stacking.py: bayesvb/estimators/ fitting; bayesvb/evaluation/ stacking_weights;
    bayesvb/models/ component_model ensemble
results/test_summary.py: bayesvb/distributions/ intervals; bayesvb/results/ named_draws
results/test_tied_values.py: bayesvb/results/checks/ responses
results/test_unfinished.py: bayesvb/results/checks/ computation
sensitivity/test_covariance.py: bayesvb/experts/ linear_coordinates; bayesvb/results/ importance
sensitivity/test_jackknife.py: bayesvb/experts/ linear_coordinates
sensitivity/test_row_space.py: bayesvb/factors/ coupled_forms
sensitivity/test_solvers.py: bayesvb/sensitivity/ krylov low_rank operator row_directions
    row_sensitivity
sklearn/test_estimators.py: bayesvb/sklearn/ base classifiers density_classifier density_regressor
    joint networks regressors
sklearn/test_skpro.py: bayesvb/sklearn/skpro/ distribution regressor
storage/test_netcdf.py: bayesvb/storage/ column_codec
studies/test_benchmark.py: bayesvb/plots/ benchmark; bayesvb/studies/ folds held_out_scores
    model_makers quiet_fits
studies/test_cross_validation.py: bayesvb/studies/
    compared_rows cross_validated model_makers row_scores
studies/test_sbc.py: bayesvb/studies/ quantities quiet_fits replication simulated_rows
test_adding_family.py: reports/figures/ probability_curve
test_former_names.py: bayesvb/data/ former_columns
test_imports.py: bayesvb/estimators/ public_models
test_parts.py: bayesvb/data/parts/ base gating mean
"""
"""Test file below ``tests/``, then the modules that it tests, folder by folder."""


def read_table(text: str) -> Iterator[tuple[str, str]]:
    """Module and test file of each entry of the table."""
    for row in re.sub(r"\n +", " ", text).strip().splitlines():
        test, folders = row.split(": ")
        for folder, *names in map(str.split, folders.split("; ")):
            yield from ((f"{folder}{name}.py", test) for name in names)


def modules() -> dict[str, Path]:
    """Every module with the path of the file that would mirror it."""
    found = {}
    for package, tests in PACKAGES.items():
        for path in sorted((ROOT / package).rglob("*.py")):
            if path.name not in WITHOUT_CODE:
                folder = path.relative_to(ROOT / package).parent
                name = path.relative_to(ROOT).as_posix()
                found[name] = tests / folder / f"test_{path.name}"
    return found


def test_every_module_has_a_test():
    lost = [name for name, mirror in modules().items() if not mirror.exists()]
    assert sorted(set(lost) - set(dict(read_table(TESTS)))) == [], (
        "write its test, or say which file has it"
    )


def test_no_line_of_the_table_is_stale():
    mirrors, rows = modules(), list(read_table(TESTS))
    assert sorted({module for module, _ in rows} - set(mirrors)) == [], "no such module"
    mirrored = [module for module, _ in rows if mirrors[module].exists()]
    assert mirrored == [], "mirrored: no entry needed"
    assert sorted(test for _, test in rows if not (FOLDER / test).is_file()) == []


def test_folders_of_tests_mirror_those_of_the_packages():
    with_tests = {path.parent for path in FOLDER.rglob("test_*.py")} - {FOLDER}
    mirrored = {mirror.parent for mirror in modules().values()}
    strange = [
        folder.relative_to(FOLDER).as_posix()
        for folder in with_tests - mirrored
        if folder.relative_to(FOLDER).parts[0] not in NOT_MIRRORED
    ]
    assert strange == []
