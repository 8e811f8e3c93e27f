# R code of coming-from.md, and its output there: R 4.2.2, lme4 1.1-31, flexmix 2.3-18, brms 2.18.0, mgcv 1.8-41.
#
# In a folder with lines.csv and mcycle.csv, which are written by
#
#     import bayesvb as bvb
#     bvb.datasets.load("two_experts", n=400, seed=1).to_csv("lines.csv", index=False)
#     bvb.datasets.load("mcycle").to_csv("mcycle.csv", index=False)

lines <- read.csv("lines.csv")
mcycle <- read.csv("mcycle.csv")

library(lme4)
m <- lmer(Reaction ~ Days + (Days | Subject), sleepstudy)
print(round(coef(summary(m)), 3))
print(VarCorr(m))

library(flexmix)
set.seed(1)
m <- stepFlexmix(y ~ x, data = lines, k = 2, nrep = 5, verbose = FALSE)
print(parameters(m))
print(prior(m))
print(posterior(m)[1:3, ])
moving <- stepFlexmix(y ~ x, data = lines, k = 2, nrep = 5, verbose = FALSE,
                      concomitant = FLXPmultinom(~ x),
                      control = list(tolerance = 1e-12, iter.max = 2000))
print(summary(refit(moving)))
print(parameters(moving, which = "concomitant"))

library(mgcv)
g <- gam(accel ~ s(times, k = 10), data = mcycle, method = "REML")
print(summary(g)$edf)
print(predict(g, data.frame(times = 20), se.fit = TRUE))

library(brms)
weak <- c(prior(normal(1, 1), Intercept, dpar = mu1), prior(normal(-1, 1), Intercept, dpar = mu2),
          prior(normal(0, 2), class = b, dpar = mu1), prior(normal(0, 2), class = b, dpar = mu2),
          prior(normal(0, 2), Intercept, dpar = theta2), prior(normal(0, 2), class = b, dpar = theta2))
seconds <- system.time(
  b <- brm(bf(y ~ x, theta2 ~ x), lines, family = mixture(gaussian, gaussian), prior = weak, init = 0,
           seed = 1, chains = 2, cores = 1, refresh = 0)
)
print(seconds)
print(rstan::get_elapsed_time(b$fit))
print(summary(b))
print(loo(b))
print(predictive_interval(b, newdata = data.frame(x = 1), prob = 0.9))
