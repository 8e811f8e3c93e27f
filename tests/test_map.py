"""Which file tests which module: the one that mirrors it, or those of a table that stays true.

``bayesvb/data/frames.py`` is mirrored by ``tests/data/test_frames.py``, ``reports/page.py`` by
``tests/reports/test_page.py``. A module that is tested elsewhere has a line below.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests"
PACKAGES = {"bayesvb": TESTS, "reports": TESTS / "reports", "datasets": TESTS / "datasets"}
WITHOUT_CODE = {"__init__.py", "__main__.py"}
NOT_MIRRORED = {"attacks", "conformance", "frozen", "reference", "benchmarks"}
"""Folders of wrong input, tests over a table, frozen numbers, other software, measurements."""

SECTIONS = "reports/test_report_sections.py"
PARTS = "reports/test_report_parts.py"
CLASSES = "reports/test_report_classes.py"

TESTED_BY: dict[str, tuple[str, ...]] = {
    "bayesvb/argument_checks.py": ("estimators/test_bad_input.py",),
    "bayesvb/cli/main.py": (
        "cli/test_commands.py",
        "cli/test_reports.py",
    ),
    "bayesvb/cli/messages.py": ("cli/test_commands.py",),
    "bayesvb/cli/options.py": ("cli/test_commands.py",),
    "bayesvb/cli/tables.py": ("cli/test_commands.py",),
    "bayesvb/interactive/zygote.py": ("interactive/test_jobs.py",),
    "bayesvb/data/former_columns.py": ("test_former_names.py",),
    "bayesvb/data/dask_rows.py": ("data/test_dask_frames.py",),
    "bayesvb/data/ordered_levels.py": ("experts/test_ordinal.py",),
    "bayesvb/sklearn/classifiers.py": ("sklearn/test_estimators.py",),
    "bayesvb/sklearn/density_classifier.py": ("sklearn/test_estimators.py",),
    "bayesvb/distributions/level_predictions.py": ("experts/test_ordinal.py",),
    "bayesvb/distributions/binomial_mixture.py": ("distributions/test_count_mixture.py",),
    "bayesvb/distributions/count_laws.py": ("distributions/test_count_mixture.py",),
    "bayesvb/distributions/negbinomial_mixture.py": ("distributions/test_count_mixture.py",),
    "bayesvb/distributions/gamma_mixture.py": ("distributions/test_predictor_mixture.py",),
    "bayesvb/distributions/poisson_mixture.py": ("distributions/test_count_mixture.py",),
    "bayesvb/distributions/zero_inflated_mixture.py": ("experts/test_zero_inflated.py",),
    "bayesvb/estimators/trials.py": ("experts/test_binomial.py",),
    "bayesvb/data/parts/base.py": (
        "test_parts.py",
        "formula/test_parser.py",
    ),
    "bayesvb/data/parts/gating.py": (
        "test_parts.py",
        "formula/test_parser.py",
    ),
    "bayesvb/data/parts/mean.py": (
        "test_parts.py",
        "formula/test_parser.py",
    ),
    "bayesvb/data/group_rows.py": ("experts/test_mixed_elimination.py",),
    "bayesvb/data/frame_kinds.py": ("estimators/test_streaming.py",),
    "bayesvb/data/frame_streams.py": ("estimators/test_streaming.py",),
    "bayesvb/data/lazy_frames.py": ("estimators/test_streaming.py",),
    "bayesvb/data/parquet_frames.py": ("estimators/test_streaming.py",),
    "bayesvb/data/streamed_rows.py": ("estimators/test_streaming.py",),
    "bayesvb/data/standardised_blocks.py": ("conformance/test_model_units.py",),
    "bayesvb/distributions/base.py": ("distributions/test_prediction.py",),
    "bayesvb/distributions/interval_scores.py": ("experts/test_intervals.py",),
    "bayesvb/distributions/intervals.py": ("results/test_summary.py",),
    "bayesvb/distributions/normal_scale_mixture.py": ("models/test_normal.py",),
    "bayesvb/drawing/marks.py": ("plots/test_plots.py",),
    "bayesvb/drawing/palette.py": ("plots/test_plots.py",),
    "bayesvb/effects/contrasts.py": ("effects/test_effects.py",),
    "bayesvb/effects/effect_draws.py": ("effects/test_effects.py",),
    "bayesvb/effects/grid.py": ("effects/test_effects.py",),
    "bayesvb/effects/average_predictions.py": ("reports/test_effects.py",),
    "bayesvb/effects/observed_rows.py": ("reports/rows/test_profiles.py",),
    "bayesvb/effects/many_groups.py": ("estimators/test_many_groups.py",),
    "bayesvb/effects/marginal_effects.py": ("effects/test_effects.py",),
    "bayesvb/effects/plotting.py": ("plots/test_plots.py",),
    "bayesvb/effects/result.py": ("effects/test_effects.py",),
    "bayesvb/effects/table.py": (
        "effects/test_effects.py",
        "plots/test_plots.py",
    ),
    "bayesvb/engines/base.py": (
        "conformance/test_engines.py",
        "engines/test_restarts.py",
    ),
    "bayesvb/sensitivity/deletion.py": ("conformance/test_deletion.py",),
    "bayesvb/engines/differentiated.py": ("engines/test_nuts.py",),
    "bayesvb/engines/hamiltonian.py": ("engines/test_tempering.py",),
    "bayesvb/engines/sampler_record.py": ("engines/test_adaptive_importance.py",),
    "bayesvb/models/integrated_scales.py": ("models/test_reduced_mixture.py",),
    "bayesvb/models/mixture_rows.py": ("models/test_reduced_mixture.py",),
    "bayesvb/models/reduced_gates.py": ("models/test_reduced_mixture.py",),
    "bayesvb/variational/linear_predictors.py": (
        "conformance/test_gates.py",
        "models/test_scaled_mixture.py",
    ),
    "bayesvb/variational/reduced_space.py": ("models/test_reduced_mixture.py",),
    "bayesvb/engines/run_log.py": ("estimators/test_checkpoint.py",),
    "bayesvb/engines/run_state.py": ("estimators/test_checkpoint.py",),
    "bayesvb/engines/folds.py": ("models/network/test_held_out.py",),
    "bayesvb/engines/refits.py": (
        "conformance/test_deletion.py",
        "results/test_leave_one_out.py",
    ),
    "bayesvb/sensitivity/operator.py": (
        "conformance/test_deletion.py",
        "sensitivity/test_solvers.py",
    ),
    "bayesvb/sensitivity/row_directions.py": ("sensitivity/test_solvers.py",),
    "bayesvb/sensitivity/curvature.py": ("conformance/test_deletion.py",),
    "bayesvb/sensitivity/krylov.py": ("sensitivity/test_solvers.py",),
    "bayesvb/sensitivity/row_sensitivity.py": ("sensitivity/test_solvers.py",),
    "bayesvb/sensitivity/low_rank.py": ("sensitivity/test_solvers.py",),
    "bayesvb/engines/traces.py": (
        "engines/test_restarts.py",
        "engines/test_ranking.py",
    ),
    "bayesvb/errors.py": (
        "formula/test_parser.py",
        "estimators/test_bad_input.py",
    ),
    "bayesvb/estimators/base.py": (
        "conformance/test_models.py",
        "estimators/test_bad_input.py",
    ),
    "bayesvb/estimators/fit_request.py": ("estimators/test_weighing.py",),
    "bayesvb/estimators/fitting.py": (
        "results/test_stacking.py",
        "conformance/test_models.py",
    ),
    "bayesvb/estimators/generative.py": ("results/test_prior_predictive.py",),
    "bayesvb/estimators/group_effects.py": ("estimators/test_many_groups.py",),
    "bayesvb/estimators/half_t.py": ("results/test_integrated_draws.py",),
    "bayesvb/estimators/learned_scales.py": ("estimators/test_priors.py",),
    "bayesvb/estimators/loading.py": (
        "results/test_saving.py",
        "conformance/test_models.py",
    ),
    "bayesvb/estimators/mixture.py": ("estimators/test_fit.py",),
    "bayesvb/estimators/prior_rows.py": (
        "results/test_prior_predictive.py",
        "estimators/test_priors.py",
    ),
    "bayesvb/data/responses.py": (
        "data/test_scaling.py",
        "conformance/test_sources.py",
    ),
    "bayesvb/estimators/model_rows.py": ("conformance/test_sources.py",),
    "bayesvb/estimators/row_scales.py": ("conformance/test_sources.py",),
    "bayesvb/estimators/network.py": ("estimators/test_network_public.py",),
    "bayesvb/estimators/network_assembly.py": ("estimators/test_network_public.py",),
    "bayesvb/estimators/network_prediction.py": (
        "estimators/test_network_public.py",
        "estimators/test_probability_intervals.py",
    ),
    "bayesvb/estimators/parameter_values.py": ("conformance/test_log_joint.py",),
    "bayesvb/results/fit_call.py": ("estimators/test_shell_line.py",),
    "bayesvb/results/class_evaluation.py": (
        CLASSES,
        "results/test_checks.py",
        "results/test_class_folds.py",
    ),
    "bayesvb/results/checks/table.py": (
        "results/test_check_table.py",
        "results/test_checks.py",
    ),
    "bayesvb/formula/passes/design_rows.py": ("conformance/test_sources.py",),
    "bayesvb/estimators/sites/columns.py": ("estimators/sites/test_rounds.py",),
    "bayesvb/estimators/sites/design.py": ("estimators/sites/test_rounds.py",),
    "bayesvb/estimators/sites/record.py": ("estimators/sites/test_rounds.py",),
    "bayesvb/estimators/sites/runs.py": (
        "estimators/sites/test_rounds.py",
        "estimators/sites/test_contents.py",
    ),
    "bayesvb/estimators/rebuilding.py": ("model_selection/test_selection.py",),
    "bayesvb/evaluation/crps.py": ("evaluation/test_calibration.py",),
    "bayesvb/evaluation/discreteness.py": ("evaluation/test_misfit.py",),
    "bayesvb/evaluation/family_wise.py": ("evaluation/test_misfit.py",),
    "bayesvb/evaluation/normal_scores.py": ("evaluation/test_misfit.py",),
    "bayesvb/evaluation/quantile_scores.py": ("studies/test_cross_validation.py",),
    "bayesvb/evaluation/response_support.py": ("results/test_response_notes.py",),
    "bayesvb/evaluation/row_order.py": ("evaluation/test_misfit.py",),
    "bayesvb/evaluation/score_regression.py": ("evaluation/test_misfit.py",),
    "bayesvb/evaluation/within_groups.py": ("evaluation/test_misfit.py",),
    "bayesvb/evaluation/unseen_optima.py": ("evaluation/test_misfit.py",),
    "bayesvb/evaluation/elpd.py": ("evaluation/test_information_criteria.py",),
    "bayesvb/evaluation/psis.py": ("evaluation/test_information_criteria.py",),
    "bayesvb/evaluation/stacking_weights.py": ("results/test_stacking.py",),
    "bayesvb/data/parts/sigma.py": ("experts/test_spread.py",),
    "bayesvb/data/parts/zero.py": ("experts/test_zero_inflated.py",),
    "bayesvb/distributions/weibull_mixture.py": ("experts/test_weibull.py",),
    "bayesvb/experts/positive.py": ("experts/test_gamma.py", "experts/test_weibull.py"),
    "bayesvb/experts/dispersed_predictor.py": (
        "experts/test_gamma.py",
        "conformance/test_experts.py",
    ),
    "bayesvb/experts/linked.py": ("experts/test_predictor.py", "experts/test_gamma.py"),
    "bayesvb/distributions/ordinal_mixture.py": ("experts/test_ordinal.py",),
    "bayesvb/experts/ordinal_posterior.py": ("experts/test_ordinal.py",),
    "bayesvb/experts/predictor_coordinates.py": ("conformance/test_experts.py",),
    "bayesvb/experts/base.py": ("conformance/test_ascent.py",),
    "bayesvb/experts/gaussian_base.py": ("conformance/test_gaussian_mixture.py",),
    "bayesvb/experts/gaussian_diagonal.py": ("conformance/test_gaussian_mixture.py",),
    "bayesvb/experts/gaussian_full.py": ("conformance/test_gaussian_mixture.py",),
    "bayesvb/experts/grouped.py": ("conformance/test_groups.py",),
    "bayesvb/experts/linear.py": ("conformance/test_mixture_bound.py",),
    "bayesvb/results/survival_curves.py": ("experts/test_intervals.py",),
    "bayesvb/plots/survival.py": ("experts/test_intervals.py",),
    "reports/panels/dots.py": ("reports/test_panels.py",),
    "reports/panels/effects.py": ("reports/test_answer.py",),
    "reports/panels/groups.py": ("reports/rows/test_group_effects.py",),
    "reports/sections/survival.py": ("experts/test_intervals.py",),
    "bayesvb/experts/linear_interval.py": ("experts/test_intervals.py",),
    "bayesvb/experts/student_interval.py": ("experts/test_intervals.py",),
    "bayesvb/experts/linear_semiconjugate.py": ("conformance/test_semiconjugate.py",),
    "bayesvb/experts/row_downdate.py": ("experts/test_drawn_lines.py",),
    "bayesvb/experts/regression.py": ("estimators/test_priors.py",),
    "bayesvb/experts/linear_coordinates.py": (
        "sensitivity/test_jackknife.py",
        "sensitivity/test_covariance.py",
    ),
    "bayesvb/models/scaled_coordinates.py": ("models/test_scaled_mixture.py",),
    "bayesvb/factors/dirichlet.py": ("conformance/test_factors.py",),
    "bayesvb/factors/gamma.py": ("conformance/test_factors.py",),
    "bayesvb/factors/loadings.py": ("conformance/test_pca.py",),
    "bayesvb/factors/matrix_normal_gamma.py": ("conformance/test_factors.py",),
    "bayesvb/factors/normal.py": ("conformance/test_factors.py",),
    "bayesvb/factors/normal_gamma.py": ("conformance/test_factors.py",),
    "bayesvb/factors/normal_wishart.py": ("conformance/test_factors.py",),
    "bayesvb/factors/regression_factor.py": ("conformance/test_factors.py",),
    "bayesvb/formula/group_places.py": ("estimators/test_many_groups.py",),
    "bayesvb/formula/allowed_functions.py": ("formula/test_expressions.py",),
    "bayesvb/formula/binding.py": ("formula/test_stages.py",),
    "bayesvb/formula/checks.py": ("formula/test_bad_data.py",),
    "bayesvb/formula/columns.py": ("formula/test_design.py",),
    "bayesvb/formula/encoder.py": (
        "formula/test_stages.py",
        "formula/test_design.py",
    ),
    "bayesvb/formula/matrices.py": ("formula/test_design.py",),
    "bayesvb/formula/own_columns.py": (
        "formula/test_smooth_columns.py",
        "formula/test_group_columns.py",
    ),
    "bayesvb/formula/responses.py": (
        "formula/test_design.py",
        "formula/test_bad_data.py",
    ),
    "bayesvb/formula/smooth_margins.py": ("formula/test_smooth_columns.py",),
    "bayesvb/formula/surface_columns.py": ("formula/test_smooth_columns.py",),
    "bayesvb/numerics/periodic_curves.py": ("formula/test_smooth_columns.py",),
    "bayesvb/formula/term_columns.py": (
        "formula/test_smooth_columns.py",
        "formula/test_group_columns.py",
    ),
    "bayesvb/formula/terms.py": ("formula/test_parser.py",),
    "bayesvb/formula/tokens.py": ("formula/test_parser.py",),
    "bayesvb/formula/passes/learned_numbers.py": ("estimators/test_kept_sample.py",),
    "bayesvb/formula/passes/representatives.py": ("estimators/test_streaming.py",),
    "bayesvb/formula/passes/streamed_design.py": ("estimators/test_streaming.py",),
    "bayesvb/formula/passes/term_states.py": ("estimators/test_streaming.py",),
    "bayesvb/formula/passes/transform_states.py": ("estimators/test_streaming.py",),
    "bayesvb/gates/base.py": ("conformance/test_gates.py",),
    "bayesvb/gates/gaussian_logits.py": ("conformance/test_gates.py",),
    "bayesvb/gates/softmax.py": ("conformance/test_gates.py",),
    "bayesvb/gates/softmax_bouchard.py": ("conformance/test_product.py",),
    "bayesvb/gates/softmax_jensen.py": ("conformance/test_gates.py",),
    "bayesvb/gates/stick_breaking.py": ("conformance/test_gates.py",),
    "bayesvb/gates/tilted_bound.py": ("conformance/test_tilted.py",),
    "bayesvb/models/ensemble.py": ("results/test_stacking.py",),
    "bayesvb/models/network/experts.py": ("models/network/test_network_bound.py",),
    "bayesvb/models/network/latents.py": ("models/network/test_network_bound.py",),
    "bayesvb/models/network/model.py": ("models/network/test_network_bound.py",),
    "bayesvb/models/network/output.py": ("models/network/test_network_density.py",),
    "bayesvb/models/network/output_classes_shared.py": (
        "models/network/test_shared_covariance.py",
    ),
    "bayesvb/models/network/output_gaussian.py": ("models/network/test_network_density.py",),
    "bayesvb/models/network/random_start.py": ("estimators/test_network_public.py",),
    "bayesvb/models/grouped_response.py": ("experts/test_mixed_elimination.py",),
    "bayesvb/models/solved_groups.py": ("experts/test_mixed_elimination.py",),
    "bayesvb/models/solved_systems.py": ("experts/test_mixed_elimination.py",),
    "bayesvb/models/network/state.py": ("models/network/test_network_bound.py",),
    "bayesvb/models/network/stick_labels.py": ("models/network/test_class_probabilities.py",),
    "bayesvb/models/pca/covariance.py": ("estimators/test_pca_intervals.py",),
    "bayesvb/models/pca/information.py": ("estimators/test_pca_intervals.py",),
    "bayesvb/models/pca/model.py": ("conformance/test_pca.py",),
    "bayesvb/models/pca/prior.py": ("conformance/test_pca.py",),
    "bayesvb/models/pca/scores.py": ("conformance/test_pca.py",),
    "bayesvb/models/pca/starts.py": ("conformance/test_pca.py",),
    "bayesvb/numerics/runtime.py": ("data/test_blocks.py",),
    "bayesvb/plots/conditional.py": ("plots/test_plots.py",),
    "bayesvb/plots/diagnostics.py": ("estimators/test_regression_verbs.py",),
    "bayesvb/plots/overview.py": ("estimators/test_regression_verbs.py",),
    "bayesvb/plots/curves.py": ("effects/test_curves.py",),
    "bayesvb/results/base.py": (
        "conformance/test_models.py",
        "estimators/test_kept_sample.py",
    ),
    "bayesvb/results/capabilities.py": (
        "effects/test_effects.py",
        SECTIONS,
    ),
    "bayesvb/results/all_rows.py": ("estimators/test_streaming.py",),
    "bayesvb/results/checks/accuracy.py": (
        "results/test_checks.py",
        "results/test_causes.py",
    ),
    "bayesvb/results/checks/base.py": ("results/test_checks.py",),
    "bayesvb/results/checks/classes.py": ("results/test_checks.py",),
    "bayesvb/results/checks/computation.py": (
        "results/test_checks.py",
        "results/test_unfinished.py",
    ),
    "bayesvb/results/checks/covariates.py": (
        "results/test_checks.py",
        "results/test_basis.py",
    ),
    "bayesvb/results/checks/dependence.py": ("results/test_dependence.py",),
    "bayesvb/results/checks/more_components.py": ("results/test_more_components.py",),
    "bayesvb/results/checks/causes.py": ("results/test_causes.py",),
    "bayesvb/results/checks/far_rows.py": ("results/test_far_rows.py",),
    "bayesvb/formula/limits.py": ("formula/test_budget.py",),
    "bayesvb/effects/curve_settings.py": ("effects/test_curves.py", "plots/test_plots.py"),
    "bayesvb/results/checks/scope.py": ("results/test_dependence.py",),
    "bayesvb/results/checks/grading.py": ("results/test_checks.py",),
    "bayesvb/results/limits.py": ("results/test_printing.py", "results/test_exact_draws.py"),
    "bayesvb/results/checks/joint.py": ("results/test_checks.py",),
    "bayesvb/results/checks/pits.py": ("results/test_checks.py",),
    "bayesvb/results/checks/remedies.py": ("results/test_checks.py",),
    "bayesvb/results/checks/responses.py": (
        "results/test_checks.py",
        "results/test_tied_values.py",
    ),
    "bayesvb/results/calibration.py": (
        "estimators/test_regression_verbs.py",
        "results/test_recalibration.py",
        "results/test_jackknife_plus.py",
    ),
    "bayesvb/results/importance.py": ("sensitivity/test_covariance.py",),
    "bayesvb/results/named_draws.py": ("results/test_summary.py",),
    "bayesvb/results/groups.py": (
        "estimators/test_groups.py",
        "results/test_leave_one_out.py",
        "results/test_any_group.py",
    ),
    "bayesvb/results/pit.py": (
        "estimators/test_regression_verbs.py",
        "results/test_leave_one_out.py",
        "estimators/test_groups.py",
        "results/test_pit_without_groups.py",
    ),
    "bayesvb/sklearn/skpro/distribution.py": ("sklearn/test_skpro.py",),
    "bayesvb/sklearn/skpro/regressor.py": ("sklearn/test_skpro.py",),
    "bayesvb/sklearn/base.py": ("sklearn/test_estimators.py",),
    "bayesvb/sklearn/density_regressor.py": ("sklearn/test_estimators.py",),
    "bayesvb/sklearn/joint.py": ("sklearn/test_estimators.py",),
    "bayesvb/sklearn/networks.py": ("sklearn/test_estimators.py",),
    "bayesvb/sklearn/regressors.py": ("sklearn/test_estimators.py",),
    "bayesvb/sklearn/tables.py": ("sklearn/test_estimators.py",),
    "bayesvb/storage/column_codec.py": ("storage/test_netcdf.py",),
    "bayesvb/plots/benchmark.py": ("studies/test_benchmark.py",),
    "bayesvb/studies/compared_rows.py": ("studies/test_cross_validation.py",),
    "bayesvb/studies/cross_validated.py": ("studies/test_cross_validation.py",),
    "bayesvb/studies/model_makers.py": (
        "studies/test_cross_validation.py",
        "studies/test_benchmark.py",
    ),
    "bayesvb/studies/row_scores.py": ("studies/test_cross_validation.py",),
    "bayesvb/studies/score_means.py": ("studies/test_cross_validation.py",),
    "bayesvb/studies/folds.py": ("studies/test_benchmark.py",),
    "bayesvb/studies/held_out_scores.py": ("studies/test_benchmark.py",),
    "bayesvb/studies/quiet_fits.py": (
        "studies/test_sbc.py",
        "studies/test_benchmark.py",
    ),
    "bayesvb/studies/quantities.py": ("studies/test_sbc.py",),
    "bayesvb/studies/replication.py": ("studies/test_sbc.py",),
    "bayesvb/studies/simulated_rows.py": ("studies/test_sbc.py",),
    "bayesvb/factors/coupled_forms.py": ("sensitivity/test_row_space.py",),
    "bayesvb/variational/descriptions.py": ("estimators/test_priors.py",),
    "bayesvb/variational/local.py": ("conformance/test_gates.py",),
    "bayesvb/variational/model.py": ("conformance/test_ascent.py",),
    "bayesvb/variational/parameter_space.py": ("conformance/test_parameter_spaces.py",),
    "bayesvb/variational/shared_response.py": ("experts/test_mixed_elimination.py",),
    "bayesvb/variational/row_derivatives.py": ("conformance/test_deletion.py",),
    "datasets/catalogue.py": ("datasets/test_datasets.py",),
    "datasets/designs.py": ("datasets/test_simulations.py",),
    "datasets/laws.py": ("datasets/test_simulations.py",),
    "datasets/loading.py": ("datasets/test_datasets.py",),
    "datasets/pinwheel.py": ("datasets/test_simulations.py",),
    "datasets/waveform.py": ("datasets/test_simulations.py",),
    "reports/markdown/formulas.py": ("reports/markdown/test_page.py",),
    "reports/markdown/inline.py": ("reports/markdown/test_page.py",),
    "reports/markdown/tables.py": ("reports/markdown/test_page.py",),
    "reports/markdown/tree.py": ("reports/markdown/test_page.py",),
    "reports/sections/candidates.py": ("reports/test_formats.py",),
    "reports/cells/checks.py": ("reports/test_checks.py",),
    "reports/cells/markup.py": ("reports/test_checks.py",),
    "reports/cells/numerals.py": (PARTS,),
    "reports/cells/plain.py": (PARTS,),
    "reports/cells/tables.py": (PARTS,),
    "reports/figures/probability_curve.py": ("test_adding_family.py",),
    "reports/figures/compact_svg.py": ("reports/test_compact_svg.py",),
    "reports/figures/shared_styles.py": ("reports/test_compact_svg.py",),
    "reports/figures/class_regions.py": (CLASSES,),
    "reports/figures/ellipses.py": (SECTIONS,),
    "reports/figures/label_spacing.py": (CLASSES,),
    "reports/figures/reliability.py": (CLASSES,),
    "reports/figures/scatter.py": (SECTIONS,),
    "reports/figures/svg.py": (PARTS,),
    "reports/page.py": ("reports/test_report.py",),
    "reports/rows/sampling.py": (SECTIONS,),
    "reports/sections/effects.py": ("reports/test_effects.py",),
    "reports/cells/clauses.py": ("reports/test_finding.py",),
    "reports/prior_clauses.py": ("reports/test_paragraphs.py",),
    "reports/rows/average_effects.py": (
        "reports/test_effects.py",
        "reports/test_finding.py",
    ),
    "reports/sections/effect_sentence.py": ("reports/test_finding.py",),
    "reports/sections/finding.py": ("reports/test_finding.py",),
    "reports/sections/side_by_side.py": ("reports/test_side_by_side.py",),
    "reports/sections/accuracy.py": (
        SECTIONS,
        "reports/test_checks.py",
    ),
    "reports/sections/audit.py": ("reports/test_audit.py",),
    "reports/sections/calibration.py": (
        SECTIONS,
        "reports/test_checks.py",
    ),
    "reports/sections/classes.py": (CLASSES,),
    "reports/sections/classification.py": (
        CLASSES,
        "reports/test_checks.py",
    ),
    "reports/sections/comparison.py": ("reports/test_checks.py",),
    "reports/sections/components.py": (SECTIONS,),
    "reports/sections/computation.py": (
        SECTIONS,
        "reports/test_checks.py",
    ),
    "reports/sections/conditional.py": (SECTIONS,),
    "reports/sections/data.py": (SECTIONS,),
    "reports/sections/exact.py": (
        SECTIONS,
        "reports/test_checks.py",
    ),
    "reports/sections/influence.py": ("reports/test_influence.py",),
    "reports/sections/learning.py": (SECTIONS,),
    "reports/sections/limits.py": (SECTIONS,),
    "reports/sections/model.py": (SECTIONS,),
    "reports/sections/pairs.py": (
        SECTIONS,
        "reports/test_checks.py",
    ),
    "reports/sections/posterior.py": (SECTIONS,),
    "reports/sections/replicates.py": (
        SECTIONS,
        "reports/test_checks.py",
    ),
    "reports/sections/reproduce.py": (PARTS,),
    "reports/sections/scores.py": (SECTIONS,),
    "reports/sections/sensitivity.py": ("reports/test_influence.py",),
    "reports/sections/verdict.py": (SECTIONS,),
    "reports/sections/trajectories.py": ("estimators/test_groups.py",),
    "bayesvb/results/baselines.py": (
        "evaluation/test_linear_baseline.py",
        "evaluation/test_multinomial_baseline.py",
    ),
}
"""Module -> files below ``tests/`` that test it."""


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
    assert sorted(set(lost) - set(TESTED_BY)) == [], "write its test, or say which file has it"


def test_no_line_of_the_table_is_stale():
    mirrors = modules()
    assert sorted(set(TESTED_BY) - set(mirrors)) == [], "no such module"
    assert [name for name in TESTED_BY if mirrors[name].exists()] == [], "mirrored: no line needed"
    files = {file for row in TESTED_BY.values() for file in row}
    assert sorted(file for file in files if not (TESTS / file).is_file()) == [], "no such test"


def test_folders_of_tests_mirror_those_of_the_packages():
    with_tests = {path.parent for path in TESTS.rglob("test_*.py")} - {TESTS}
    mirrored = {mirror.parent for mirror in modules().values()}
    strange = [
        folder.relative_to(TESTS).as_posix()
        for folder in with_tests - mirrored
        if folder.relative_to(TESTS).parts[0] not in NOT_MIRRORED
    ]
    assert strange == []
