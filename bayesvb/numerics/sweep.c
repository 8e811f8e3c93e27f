/* One sweep of the coordinate ascent of a mixture of Gaussian regressions, in one call.
 *
 * What it computes is defined in Python: `one_pass` of bayesvb/engines/base.py for the models that
 * bayesvb/models/compiled_mixture.py covers. Comments name the methods that functions follow;
 * numbers agree up to the rounding of sums. A sweep outside the domain returns NaN, one that
 * Python has to make itself infinity.
 *
 * Rows are gone over in pieces of R, whose arrays stay in the cache: entry `k * R + i` of such an
 * array is component k, row i. Sums of products are packed by rows of the lower triangle.
 */
#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define R 64
#define MOST_ARRAYS 64
#define LOG_2PI 1.8378770664093453
#define EPS 2.220446049250313e-16

/* The same code for processors with and without wide registers. Which one runs is known when the
 * program starts: bits are the same in all calls on one machine. */
#if !defined(__clang__) && __GNUC__ >= 12 && defined(__x86_64__) && defined(__GLIBC__) \
    && !defined(__SANITIZE_ADDRESS__)
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CLONES
#endif
#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif
#define EACH(n) _Pragma("omp simd") for (int i = 0; i < (n); i++)
#define EACH_ROW EACH(R)
#define EACH_COMPONENT for (int64_t k = 0; k < K; k++)
#define PAIRS(d) ((d) * ((d) + 1) / 2)

typedef struct { /* prior and rows, as CompiledMixture has them */
    int64_t n, K, p, q, weighted, J, Be, Bg;
    const int64_t *at, *points;
    double a0, b0, known;
    const double *fixE, *memE, *fixG, *memG, *m0, *c0, *d0, *shape, *count, *grids;
    const double *y, *weight, *X, *Z;
} Model;

typedef struct { /* ScaledStats */
    double *w, *xx, *xy, *yy, *cu, *li, *pr, *sq;
} Stats;

typedef struct { /* ScaledPosterior: experts, common coefficients, gate, precisions */
    double *Q, *mean, *cond, *cov, *slope, *sh, *rt, *tau, *elt, ld;
    double *common, *middle, common_ld;
    double *G, *g, *gcov, *gprec, gld;
    double *srate, *smean, divergence, *squares;
} Law;

typedef struct { /* arrays that are released together */
    double *held[MOST_ARRAYS];
    int n, failed;
} Room;

static double *take(Room *room, int64_t n) {
    double *found = room->n < MOST_ARRAYS ? calloc(n > 0 ? (size_t)n : 1, sizeof(double)) : NULL;
    if (found) room->held[room->n++] = found;
    else room->failed = 1;
    return found;
}

static void copy(double *to, const double *from, int64_t n) {
    if (n) memcpy(to, from, sizeof(double) * (size_t)n);
}

static int positive(double x) { return x > 0.0 && x < INFINITY; }

static double digamma(double x) {
    double s = 0.0, f;
    for (; x < 10.0; x += 1.0) s -= 1.0 / x;
    f = 1.0 / (x * x);
    return s + log(x) - 0.5 / x - f * (1.0 / 12 - f * (1.0 / 120 - f * (1.0 / 252
        - f * (1.0 / 240 - f * (1.0 / 132 - f * (691.0 / 32760 - f / 12))))));
}

/* exp, to the last bit or the one before, in a form that compilers turn into vectors. */
INLINE double exp1(double x) {
    const double magic = 6755399441055744.0; /* adding it rounds, and leaves an integer's bits */
    double whole, r, f;
    int64_t bits;
    x = x > 709.0 ? 709.0 : x;
    x = x < -708.0 ? -708.0 : x;
    whole = x * 1.4426950408889634 + magic;
    memcpy(&bits, &whole, 8);
    whole -= magic;
    r = x - whole * 0.693147180369123816490 - whole * 1.90821492927058770002e-10;
    f = (((1.0 / 6227020800.0 * r + 1.0 / 479001600.0) * r + 1.0 / 39916800.0) * r
        + 1.0 / 3628800.0) * r + 1.0 / 362880.0;
    f = ((((f * r + 1.0 / 40320.0) * r + 1.0 / 5040.0) * r + 1.0 / 720.0) * r + 1.0 / 120.0) * r;
    f = ((((f + 1.0 / 24.0) * r + 1.0 / 6.0) * r + 0.5) * r + 1.0) * r + 1.0;
    bits = (int64_t)(((uint64_t)bits + 1023u) << 52);
    memcpy(&r, &bits, 8);
    return f * r;
}

/* log of a positive number, by the series of fdlibm; of infinity and nan it is nan. */
INLINE double log1(double x) {
    const uint64_t low = 0x3fe6a09e667f3bcdULL;
    uint64_t bits, e;
    double m, k, s, z, w, half;
    memcpy(&bits, &x, 8);
    bits += 0x3ff0000000000000ULL - low;
    e = (bits >> 52) | 0x4330000000000000ULL;
    bits = (bits & 0x000fffffffffffffULL) + low;
    memcpy(&m, &bits, 8);
    memcpy(&k, &e, 8);
    k -= 4503599627370496.0 + 1023.0, m -= 1.0;
    s = m / (2.0 + m), z = s * s, w = z * z, half = 0.5 * m * m;
    z *= 6.666666666666735130e-01 + w * (2.857142874366239149e-01
        + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01));
    z += w * (3.999999999940941908e-01
        + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    z = s * (half + z) + k * 1.90821492927058770002e-10 - half + m;
    return z + k * 6.93147180369123816490e-01 + 0.0 * x;
}

/* Inverse and log-determinant by Cholesky; zero if the matrix is not positive definite. */
static int invert(const double *A, int64_t d, double *inverse, double *ld, double *work) {
    double *L = work, *W = work + d * d, s = 0.0, v;
    int64_t i, j, k;
    for (j = 0; j < d; j++) {
        for (v = A[j * d + j], k = 0; k < j; k++) v -= L[j * d + k] * L[j * d + k];
        if (!positive(v)) return 0;
        L[j * d + j] = sqrt(v), s += log(L[j * d + j]), W[j * d + j] = 1.0 / L[j * d + j];
        for (i = j + 1; i < d; i++) {
            for (v = A[i * d + j], k = 0; k < j; k++) v -= L[i * d + k] * L[j * d + k];
            L[i * d + j] = v / L[j * d + j];
        }
    }
    for (j = 0; j < d; j++)
        for (i = j + 1; i < d; i++) {
            for (v = 0.0, k = j; k < i; k++) v -= L[i * d + k] * W[k * d + j];
            W[i * d + j] = v / L[i * d + i];
        }
    for (i = 0; i < d; i++)
        for (j = 0; j <= i; j++) {
            for (v = 0.0, k = i; k < d; k++) v += W[k * d + i] * W[k * d + j];
            inverse[i * d + j] = inverse[j * d + i] = v;
        }
    *ld = 2.0 * s;
    return 1;
}

/* Solution of A x = b in b, by elimination with pivots. */
static int solve(double *A, double *b, int64_t d) {
    for (int64_t j = 0; j < d; j++) {
        int64_t top = j;
        for (int64_t i = j + 1; i < d; i++)
            if (fabs(A[i * d + j]) > fabs(A[top * d + j])) top = i;
        if (!(fabs(A[top * d + j]) > 0.0)) return 0;
        double swap = b[j];
        b[j] = b[top], b[top] = swap;
        for (int64_t i = 0; i < d; i++)
            swap = A[j * d + i], A[j * d + i] = A[top * d + i], A[top * d + i] = swap;
        for (int64_t i = j + 1; i < d; i++) {
            double f = A[i * d + j] / A[j * d + j];
            for (int64_t k = j; k < d; k++) A[i * d + k] -= f * A[j * d + k];
            b[i] -= f * b[j];
        }
    }
    for (int64_t i = d - 1; i >= 0; i--) {
        for (int64_t k = i + 1; k < d; k++) b[i] -= A[i * d + k] * b[k];
        b[i] /= A[i * d + i];
    }
    return 1;
}

/* The whole matrix of a packed one, with more on its diagonal. */
static void unpack(const double *packed, const double *more, int64_t d, double *A) {
    for (int64_t i = 0; i < d; i++) {
        for (int64_t j = 0; j <= i; j++) A[i * d + j] = A[j * d + i] = *packed++;
        A[i * d + i] += more ? more[i] : 0.0;
    }
}

static double dot(const double *a, const double *b, int64_t n) {
    double s = 0.0;
    for (int64_t i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}

static double sum_log(const double *a, int64_t n) {
    double s = 0.0;
    for (int64_t i = 0; i < n; i++) s += log(a[i]);
    return s;
}

static void times(const double *A, const double *x, int64_t rows, int64_t n, double *out) {
    for (int64_t i = 0; i < rows; i++) out[i] = dot(A + i * n, x, n);
}

/* TermScales.by_term: precisions of coefficients from those of blocks. */
static void by_term(const double *fixed, const double *membership, const double *precision,
                    int64_t blocks, int64_t terms, double *out) {
    copy(out, fixed, terms);
    for (int64_t b = 0; b < blocks; b++)
        for (int64_t j = 0; j < terms; j++) out[j] += precision[b] * membership[b * terms + j];
}

static int64_t length(const Model *m) {
    return m->K * (2 + PAIRS(m->p) + m->p + PAIRS(m->q) + m->q) + 2 * (m->Be + m->Bg);
}

static Stats parts(const Model *m, double *v) {
    Stats s = {.w = v};
    s.xx = s.w + m->K, s.xy = s.xx + m->K * PAIRS(m->p), s.yy = s.xy + m->K * m->p;
    s.cu = s.yy + m->K, s.li = s.cu + m->K * PAIRS(m->q);
    s.pr = s.li + m->K * m->q, s.sq = s.pr + m->Be + m->Bg;
    return s;
}

/* BoundedScale.moments: mean of a precision on a grid; returns its part of the divergence. */
static double on_grid(const double *precision, int64_t n, double squares, double count,
                      double *mean, double *weights) {
    double top = -INFINITY, total = 0.0, m = 0.0;
    for (int64_t i = 0; i < n; i++) {
        weights[i] = precision[n + i] + 0.5 * (count * log(precision[i]) - squares * precision[i]);
        top = weights[i] > top ? weights[i] : top;
    }
    for (int64_t i = 0; i < n; i++) total += weights[i] = exp1(weights[i] - top);
    for (int64_t i = 0; i < n; i++) m += weights[i] / total * precision[i];
    *mean = m;
    return 0.5 * (count * log(m) - squares * m) - (top + log(total));
}

/* ScaledMixture._scales: posterior of the precisions given sums of squares. */
static int scales(const Model *m, Law *law, const double *squares, double *mean, double *work) {
    const double *grid = m->grids;
    law->divergence = 0.0;
    for (int64_t b = 0; b < m->Be + m->Bg; b++) {
        law->srate[b] = m->d0[b] + 0.5 * squares[b];
        if (!positive(law->srate[b])) return 0;
        mean[b] = m->shape[b] / law->srate[b];
        if (!m->points[b]) continue;
        law->divergence += on_grid(grid, m->points[b], squares[b], m->count[b], mean + b, work);
        grid += 2 * m->points[b];
    }
    return 1;
}

/* noise_through_common */
static void through_common(int64_t K, int64_t J, const double *score, const double *middle,
                           const double *info, double *seen, double *through, double *work) {
    for (int64_t i = 0; i < K * J; i++) times(middle, info + i * J, J, J, seen + i * J);
    EACH_COMPONENT {
        times(middle, score + k * J, J, J, work);
        for (int64_t l = 0; l < K; l++) {
            const double *one = seen + k * J * J, *other = seen + l * J * J;
            double sum = 0.0;
            for (int64_t i = 0; i < J; i++)
                for (int64_t j = 0; j < J; j++) sum += one[i * J + j] * other[j * J + i];
            through[k * K + l] = -dot(work, score + l * J, J) - 0.5 * sum;
        }
    }
}

/* CommonEffectPrior._solve_common: `info` are the G_k, `pull` the E' Lambda g_k. */
static int solve_common(const Model *m, Law *law, const double *residual, const double *pull,
                        const double *info, double *work, Room *room) {
    int64_t K = m->K, J = m->J, JJ = J * J;
    double *noise = take(room, K), *before = take(room, K), *step = take(room, K);
    double *score = take(room, K * J), *seen = take(room, K * JJ), *total = take(room, JJ);
    double *linear = take(room, J), *through = take(room, K * K), *slope = take(room, K * K);
    if (room->failed) return 0;
    EACH_COMPONENT {
        law->rt[k] = m->b0 + 0.5 * residual[k];
        if (!positive(law->sh[k]) || !positive(law->rt[k])) return 0;
        noise[k] = law->sh[k] / law->rt[k];
    }
    for (int turn = 0, far = 1, moving = 1; turn < 100 && moving; turn++) {
        copy(before, noise, K);
        memset(total, 0, sizeof(double) * (size_t)JJ);
        memset(linear, 0, sizeof(double) * (size_t)J);
        EACH_COMPONENT {
            for (int64_t i = 0; i < JJ; i++) total[i] += noise[k] * info[k * JJ + i];
            for (int64_t i = 0; i < J; i++) linear[i] += noise[k] * pull[k * J + i];
        }
        for (int64_t i = 0; i < J; i++) total[i * J + i] += law->Q[m->p + i];
        if (!invert(total, J, law->middle, &law->common_ld, work)) return 0;
        times(law->middle, linear, J, J, law->common);
        EACH_COMPONENT {
            double square = dot(info + k * JJ, law->middle, JJ);
            times(info + k * JJ, law->common, J, J, score + k * J);
            for (int64_t i = k * J; i < (k + 1) * J; i++) {
                score[i] = pull[i] - score[i];
                square -= (score[i] + pull[i]) * law->common[i - k * J];
            }
            law->rt[k] = m->b0 + 0.5 * (residual[k] + square);
            if (!positive(law->rt[k])) return 0;
            step[k] = log(law->sh[k] / (law->rt[k] * before[k]));
        }
        if (turn == 1 || (turn && far))
            through_common(K, J, score, law->middle, info, seen, through, work);
        if (turn) {
            for (int64_t i = 0; i < K * K; i++)
                slope[i] = (i / K == i % K) + before[i % K] / law->rt[i / K] * through[i];
            if (!solve(slope, step, K)) return 0;
        }
        far = moving = 0;
        EACH_COMPONENT {
            noise[k] = before[k] * exp(step[k] > 1.0 ? 1.0 : step[k] < -1.0 ? -1.0 : step[k]);
            far |= fabs(step[k]) > 1e-3, moving |= fabs(step[k]) > 1e-12;
        }
    }
    return 1;
}

/* CommonEffectPrior.posterior before q(b) is known: base, slope, residual, pull, information. */
static void around_common(const Model *m, Law *law, int64_t k, double *pull, double *info) {
    int64_t p = m->p, J = m->J;
    double *W = law->slope + k * p * J, *cond = law->cond + k * p * p;
    for (int64_t i = 0; i < p; i++)
        for (int64_t j = 0; j < J; j++) W[i * J + j] = cond[i * p + m->at[j]] * law->Q[m->at[j]];
    for (int64_t i = 0; i < J; i++) {
        int64_t a = m->at[i];
        pull[i] = law->Q[a] * law->mean[k * p + a];
        for (int64_t j = 0; j < J; j++) {
            int64_t b = m->at[j];
            double one = law->Q[a] * ((a == b) - W[a * J + j]);
            info[i * J + j] = 0.5 * (one + law->Q[b] * ((a == b) - W[b * J + i]));
        }
    }
}

/* Effect of q(b): means, effective covariances, and E[tau (beta - b)^2] summed over components. */
static void with_common(const Model *m, Law *law, int64_t k, double *work) {
    int64_t p = m->p, J = m->J;
    double *W = law->slope + k * p * J, *cov = law->cov + k * p * p, *mean = law->mean + k * p;
    copy(cov, law->cond + k * p * p, p * p);
    for (int64_t i = 0; i < p; i++) {
        double shift = mean[i] + dot(W + i * J, law->common, J), across = 0.0;
        mean[i] = shift;
        times(law->middle, W + i * J, J, J, work);
        for (int64_t j = 0; j <= i; j++)
            cov[j * p + i] = cov[i * p + j] += law->tau[k] * dot(work, W + j * J, J);
        copy(work, W + i * J, J);
        for (int64_t j = 0; j < J; j++)
            if (m->at[j] == i) work[j] -= 1.0, shift -= law->common[j];
        for (int64_t j = 0; j < J; j++) across += work[j] * dot(law->middle + j * J, work, J);
        law->squares[i] += law->tau[k] * (shift * shift + across) + law->cond[(k * p + i) * p + i];
    }
}

/* Update of the experts: MatrixNormalGamma.posterior, CommonEffectPrior.posterior. */
static int update_experts(const Model *m, const Stats *s, Law *law, double *work, Room *room) {
    int64_t K = m->K, p = m->p, J = m->J;
    double *A = take(room, p * p), *info = take(room, K * J * J), *pull = take(room, K * J);
    double *residual = take(room, K), ld;
    if (room->failed) return 0;
    EACH_COMPONENT {
        double *mean = law->mean + k * p, *xy = s->xy + k * p;
        unpack(s->xx + k * PAIRS(p), law->Q, p, A);
        if (!invert(A, p, law->cond + k * p * p, &ld, work)) return 0;
        law->ld += ld, law->sh[k] = m->a0 + 0.5 * s->w[k];
        times(law->cond + k * p * p, xy, p, p, mean);
        residual[k] = s->yy[k] - dot(xy, mean, p);
        if (J) around_common(m, law, k, pull + k * J, info + k * J * J);
        for (int64_t i = 0; i < p && !J; i++)
            residual[k] += mean[i] * (dot(A + i * p, mean, p) - xy[i]);
        law->rt[k] = m->b0 + 0.5 * residual[k];
        if (!positive(law->sh[k]) || !positive(law->rt[k])) return 0;
    }
    if (J && !solve_common(m, law, residual, pull, info, work, room)) return 0;
    EACH_COMPONENT {
        law->tau[k] = law->sh[k] / law->rt[k], law->elt[k] = digamma(law->sh[k]) - log(law->rt[k]);
        with_common(m, law, k, work);
    }
    for (int64_t j = 0; j < J; j++)
        law->squares[p + j] = law->common[j] * law->common[j] + law->middle[j * J + j];
    return 1;
}

/* ScaledMixture.kl; precisions of the priors are left in Q and G. */
static double divergence(const Model *m, Law *law) {
    int64_t K = m->K, p = m->p, q = m->q, J = m->J;
    double kl = m->known + law->divergence, *Q = law->Q, *G = law->G;
    by_term(m->fixE, m->memE, law->smean, m->Be, p + J, Q);
    by_term(m->fixG, m->memG, law->smean + m->Be, m->Bg, q, G);
    for (int64_t b = 0; b < m->Be + m->Bg; b++) {
        double growth = law->srate[b] / m->d0[b];
        if (!m->points[b]) kl += m->c0[b] * log(growth) + m->shape[b] * (1.0 / growth - 1.0);
    }
    kl += 0.5 * (dot(Q, law->squares, p + J) + law->ld + law->common_ld + law->gld);
    kl -= 0.5 * (sum_log(Q + p, J) + (double)(K * (p + q) + J));
    kl -= 0.5 * (double)K * (sum_log(Q, p) + sum_log(G, q));
    EACH_COMPONENT {
        double sh = law->sh[k], rt = law->rt[k]; /* gamma_kl */
        kl += (sh - m->a0) * digamma(sh) - lgamma(sh) + lgamma(m->a0);
        kl += m->a0 * log(rt / m->b0) + sh * (m->b0 - rt) / rt;
        for (int64_t j = 0; j < q; j++) {
            double shift = law->g[k * q + j] - m->m0[k * q + j];
            kl += 0.5 * G[j] * (shift * shift + law->gcov[(k * q + j) * q + j]);
        }
    }
    return kl;
}

/* exp(terms - offset) over their sums, in place, and the sums. */
INLINE void normalise(int64_t K, double *terms, const double *offset, double *sum) {
    double scale[R];
    EACH_ROW sum[i] = 0.0;
    EACH_COMPONENT EACH_ROW {
        double e = exp1(terms[k * R + i] - offset[i]);
        terms[k * R + i] = e, sum[i] += e;
    }
    EACH_ROW scale[i] = 1.0 / sum[i];
    EACH_COMPONENT EACH_ROW terms[k * R + i] *= scale[i];
}

/* special.log_sum_exp */
INLINE void log_sum_exp(int64_t K, double *terms, double *norm) {
    double top[R];
    EACH_ROW top[i] = terms[i];
    EACH_COMPONENT EACH_ROW top[i] = terms[k * R + i] > top[i] ? terms[k * R + i] : top[i];
    normalise(K, terms, top, norm);
    EACH_ROW norm[i] = top[i] + log1(norm[i]);
}

/* tilted_bound._newton; `T` are logits, `S` their variances, in all that follows. */
INLINE void newton(int64_t K, const double *T, const double *S, double *tilt, double *share) {
    double norm[R], sum[R], up[R], down[R], none[R];
    copy(tilt, T, K * R);
    log_sum_exp(K, tilt, norm);
    for (int turn = 0; turn < 3; turn++) {
        EACH_ROW none[i] = up[i] = down[i] = 0.0;
        EACH_COMPONENT EACH_ROW share[k * R + i]
            = T[k * R + i] - norm[i] + (0.5 - tilt[k * R + i]) * S[k * R + i];
        normalise(K, share, none, sum);
        EACH_COMPONENT EACH_ROW {
            double d = 1.0 / (1.0 + share[k * R + i] * S[k * R + i]);
            up[i] += d * tilt[k * R + i], down[i] += d * share[k * R + i];
        }
        EACH_ROW up[i] /= down[i];
        EACH_COMPONENT EACH_ROW {
            double d = 1.0 / (1.0 + share[k * R + i] * S[k * R + i]);
            tilt[k * R + i] += d * (share[k * R + i] * up[i] - tilt[k * R + i]);
        }
    }
}

/* tilted_bound._by_normaliser for `n` rows, tilts in `a`; zero if steps have not settled. */
INLINE int by_normaliser(int64_t K, int n, const double *t, double *s, double *a, double *work) {
    double *target = work, *lp = target + K * R, *slope = lp + K * R, *miss = slope + K * R;
    double share = 1.0 / (double)K, log_share = -log(share);
    double least[R], most[R], c[R], total[R], den[R], rise[R], longest[R];
    int moving = 1;
    EACH(n) least[i] = most[i] = -INFINITY;
    EACH_COMPONENT EACH(n) {
        double own = s[k * R + i] > EPS ? s[k * R + i] : EPS, at = t[k * R + i];
        double low = at - 0.5 * own, high = at + (0.5 - share) * own + log_share;
        s[k * R + i] = own;
        least[i] = low > least[i] ? low : least[i], most[i] = high > most[i] ? high : most[i];
    }
    EACH_COMPONENT EACH(n) {
        double own = s[k * R + i], at = t[k * R + i] + 0.5 * own + log1(own) - least[i];
        double above = log1(at > 1.0 ? at : 1.0);
        target[k * R + i] = at, lp[k * R + i] = at < above ? at : above, c[i] = least[i];
    }
    for (int turn = 0; turn < 12 && moving; turn++) {
        EACH(n) total[i] = den[i] = longest[i] = 0.0;
        EACH_COMPONENT EACH(n) {
            double e = exp1(lp[k * R + i]), d = 1.0 / (1.0 + e);
            double gap = (lp[k * R + i] + e - target[k * R + i]) * d;
            e /= s[k * R + i];
            total[i] += e - e * (gap < 0.9 ? gap : 0.9), den[i] += e * d;
            slope[k * R + i] = d, miss[k * R + i] = gap;
            longest[i] = fabs(gap) > longest[i] ? fabs(gap) : longest[i];
        }
        EACH(n) {
            double up = total[i] * log1(total[i]) / den[i];
            up = up < least[i] - c[i] ? least[i] - c[i] : up;
            rise[i] = up > most[i] - c[i] ? most[i] - c[i] : up, c[i] += rise[i];
        }
        EACH_COMPONENT EACH(n) {
            double at = target[k * R + i] - rise[i], above = log1(at > 1.0 ? at : 1.0);
            double to = lp[k * R + i] - miss[k * R + i] - slope[k * R + i] * rise[i];
            to = to < at ? to : at, above = to < above ? to : above;
            target[k * R + i] = at, lp[k * R + i] = rise[i] < -1.0 ? above : to;
        }
        moving = 0;
        for (int i = 0; i < n; i++)
            moving |= !(fabs(rise[i]) <= 1e-8 * (1.0 + fabs(c[i])) && longest[i] <= 1e-8);
    }
    EACH(n) total[i] = 0.0;
    EACH_COMPONENT EACH(n) total[i] += a[k * R + i] = exp1(lp[k * R + i]) / s[k * R + i];
    EACH_COMPONENT EACH(n) a[k * R + i] /= total[i];
    return !moving;
}

/* Tilts of the rows of a piece whose logits vary much. */
INLINE int hard_rows(int64_t K, const double *T, const double *S, double *tilt, double *work) {
    double *t = work, *s = t + K * R, *a = s + K * R;
    int which[R], n = 0;
    for (int i = 0; i < R; i++) {
        double top = 0.0;
        EACH_COMPONENT top = S[k * R + i] > top ? S[k * R + i] : top;
        if (top > 4.0) which[n++] = i;
    }
    EACH_COMPONENT for (int i = 0; i < n; i++)
        t[k * R + i] = T[k * R + which[i]], s[k * R + i] = S[k * R + which[i]];
    if (n && !by_normaliser(K, n, t, s, a, a + K * R)) return 0;
    EACH_COMPONENT for (int i = 0; i < n; i++) tilt[k * R + which[i]] = a[k * R + i];
    return 1;
}

INLINE double sum_of(const double *a, const double *b) {
    double s = 0.0;
    _Pragma("omp simd reduction(+ : s)") for (int i = 0; i < R; i++) s += a[i] * b[i];
    return s;
}

/* Adds weights times features, of all components. */
INLINE void predict(int64_t K, int64_t d, const double *x, const double *b, double *out) {
    for (int64_t j = 0; j < d; j++)
        EACH_COMPONENT {
            double w = b[k * d + j];
            EACH_ROW out[k * R + i] += w * x[j * R + i];
        }
}

/* Adds sums of features, weighted by the rows of each component. */
INLINE void add_sums(int64_t K, int64_t d, const double *x, const double *w, double *out) {
    for (int64_t j = 0; j < d; j++)
        EACH_COMPONENT out[k * d + j] += sum_of(w + k * R, x + j * R);
}

/* A piece of some columns, then their products; rows that are not there repeat the first. */
INLINE double *features(const double *from, int64_t n, int64_t first, int64_t d, double *to) {
    int64_t here = n - first < R ? n - first : R;
    double *pair = to + d * R;
    for (int64_t j = 0; j < d; j++) {
        copy(to + j * R, from + j * n + first, here);
        for (int64_t i = here; i < R; i++) to[j * R + i] = to[j * R];
        for (int64_t l = 0; l <= j; l++, pair += R)
            EACH_ROW pair[i] = to[j * R + i] * to[l * R + i];
    }
    return to + d * R;
}

/* quadratic_weights, times a factor. */
static void weigh_pairs(const double *matrix, int64_t d, double factor, double *out) {
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j <= i; j++) *out++ = (2 - (i == j)) * factor * matrix[i * d + j];
}

/* SoftmaxGate.local: adds bounded log weights to E. */
INLINE int weights(int64_t K, const double *T, double *S, double *tilt, double *share, double *E,
                   double *work) {
    double norm[R];
    newton(K, T, S, tilt, share);
    if (!hard_rows(K, T, S, tilt, work)) return 0;
    EACH_COMPONENT EACH_ROW share[k * R + i]
        = (0.5 - tilt[k * R + i]) * S[k * R + i] + T[k * R + i];
    log_sum_exp(K, share, norm);
    EACH_COMPONENT EACH_ROW norm[i] += 0.5 * tilt[k * R + i] * tilt[k * R + i] * S[k * R + i];
    EACH_COMPONENT EACH_ROW E[k * R + i] += T[k * R + i] - norm[i];
    return 1;
}

/* Mixture.e_step: sums over the rows in `out`; returns the rows' part of the bound. */
CLONES static double e_step(const Model *m, const Law *law, Stats *out, double *gain, Room *room) {
    const int64_t K = m->K, p = m->p, q = m->q, n = m->n;
    double *E = take(room, K * R), *T = take(room, K * R), *S = take(room, K * R);
    double *tilt = take(room, K * R), *share = take(room, K * R), *work = take(room, 8 * K * R);
    double *we = take(room, K * PAIRS(p)), *scaled = take(room, K * p), bound = 0.0;
    double *wg = take(room, K * PAIRS(q)), *x = take(room, (p + PAIRS(p)) * R);
    double *z = take(room, (q + PAIRS(q)) * R), y[2 * R], weight[R];
    if (room->failed) return INFINITY;
    EACH_COMPONENT {
        weigh_pairs(law->cov + k * p * p, p, -0.5, we + k * PAIRS(p));
        weigh_pairs(law->gcov + k * q * q, q, 1.0, wg + k * PAIRS(q));
        for (int64_t j = k * p; j < (k + 1) * p; j++) scaled[j] = sqrt(law->tau[k]) * law->mean[j];
    }
    for (int64_t first = 0; first < n; first += R) {
        const int64_t here = n - first < R ? n - first : R;
        const double *xx = features(m->X, n, first, p, x), *zz = features(m->Z, n, first, q, z);
        features(m->y, n, first, 1, y);
        for (int64_t i = 0; i < R; i++)
            weight[i] = i >= here ? 0.0 : m->weighted ? m->weight[first + i] : 1.0;
        EACH_COMPONENT {
            double root = -sqrt(law->tau[k]);
            EACH_ROW T[k * R + i] = root * y[i];
        }
        predict(K, p, x, scaled, T);
        EACH_COMPONENT {
            double peak = 0.5 * (law->elt[k] - LOG_2PI);
            EACH_ROW E[k * R + i] = peak - 0.5 * T[k * R + i] * T[k * R + i];
        }
        predict(K, PAIRS(p), xx, we, E);
        EACH_COMPONENT EACH_ROW T[k * R + i] = S[k * R + i] = 0.0;
        predict(K, q, z, law->g, T);
        predict(K, PAIRS(q), zz, wg, S);
        if (!weights(K, T, S, tilt, share, E, work)) return INFINITY;
        double norm[R];
        log_sum_exp(K, E, norm);
        bound += sum_of(norm, weight);
        EACH_COMPONENT { /* row_weights */
            double *r = E + k * R, *a = tilt + k * R, *h = share + k * R, *s = S + k * R;
            double *cu = T + k * R, *ry = work + k * R, count = 0.0;
            _Pragma("omp simd reduction(+ : count)") for (int i = 0; i < R; i++) {
                double c = (a[i] - 2.0 * h[i]) * a[i] + h[i], pull = c * s[i], f = 1.0 - 2.0 * a[i];
                r[i] *= weight[i], count += r[i], ry[i] = r[i] * y[i];
                h[i] = r[i] - weight[i] * h[i], cu[i] = c * weight[i];
                s[i] = f * f * s[i] * pull / (1.0 + pull);
            }
            out->w[k] += count;
            out->yy[k] += sum_of(ry, y);
            gain[k] += sum_of(s, weight);
        }
        add_sums(K, PAIRS(p), xx, E, out->xx);
        add_sums(K, p, x, work, out->xy);
        add_sums(K, PAIRS(q), zz, T, out->cu);
        add_sums(K, q, z, share, out->li);
    }
    return bound;
}

/* SlopeStats.damped and centred_sums: the step of the gate, in place. */
static int step_gate(const Model *m, Law *law, Stats *out, const double *gain, double *work,
                     Room *room) {
    int64_t K = m->K, q = m->q;
    double *D = take(room, q * q), *inverse = take(room, q * q), *slope = take(room, q);
    double *off = take(room, K * q), *average = take(room, q), *N = law->G, ld;
    if (room->failed) return 0;
    by_term(m->fixG, m->memG, out->pr + m->Be, m->Bg, q, N);
    EACH_COMPONENT {
        double *cu = out->cu + k * PAIRS(q), *own = off + k * q, held = gain[k] / (2.0 + gain[k]);
        unpack(cu, NULL, q, D);
        for (int64_t i = 0; i < q * q; i++) D[i] = 2.0 * D[i] + (i / q == i % q ? N[i % q] : 0.0);
        for (int64_t j = 0; j < q; j++)
            slope[j] = out->li[k * q + j] - N[j] * (law->g[k * q + j] - m->m0[k * q + j]);
        if (!invert(D, q, inverse, &ld, work)) return 0;
        times(inverse, slope, q, q, own);
        for (int64_t j = 0; j < q; j++) {
            own[j] += law->g[k * q + j] - m->m0[k * q + j];
            average[j] += own[j] / (double)K;
        }
        for (int64_t i = 0; i < q; i++)
            for (int64_t j = 0; j <= i; j++, cu++)
                *cu += held * (law->gprec[(k * q + i) * q + j] - (i == j) * N[i] - *cu);
    }
    EACH_COMPONENT {
        double *own = off + k * q;
        unpack(out->cu + k * PAIRS(q), NULL, q, D);
        for (int64_t j = 0; j < q; j++) own[j] -= average[j], slope[j] = m->m0[k * q + j] + own[j];
        times(D, slope, q, q, out->li + k * q);
        for (int64_t j = 0; j < q; j++) out->li[k * q + j] += N[j] * own[j];
    }
    return 1;
}

/* The posterior of these statistics: ScaledMixture.update. */
static int update(const Model *m, const Stats *s, Law *law, double *work, Room *room) {
    int64_t K = m->K, p = m->p, q = m->q, J = m->J, B = m->Be + m->Bg;
    law->Q = take(room, p + J), law->squares = take(room, p + J), law->mean = take(room, K * p);
    law->cond = take(room, K * p * p), law->cov = take(room, K * p * p);
    law->slope = take(room, K * p * J), law->sh = take(room, K), law->rt = take(room, K);
    law->tau = take(room, K), law->elt = take(room, K), law->common = take(room, J);
    law->middle = take(room, J * J), law->G = take(room, q), law->g = take(room, K * q);
    law->gcov = take(room, K * q * q), law->gprec = take(room, K * q * q);
    law->srate = take(room, B), law->smean = take(room, B);
    if (room->failed) return 0;
    by_term(m->fixE, m->memE, s->pr, m->Be, p + J, law->Q);
    by_term(m->fixG, m->memG, s->pr + m->Be, m->Bg, q, law->G);
    EACH_COMPONENT { /* Normal.plus */
        double *P = law->gprec + k * q * q, *C = law->gcov + k * q * q, ld;
        unpack(s->cu + k * PAIRS(q), law->G, q, P);
        if (!invert(P, q, C, &ld, work)) return 0;
        law->gld += ld;
        for (int64_t j = 0; j < q; j++) work[j] = s->li[k * q + j] + law->G[j] * m->m0[k * q + j];
        times(C, work, q, q, law->g + k * q);
    }
    return update_experts(m, s, law, work, room) && scales(m, law, s->sq, law->smean, work);
}

/* one_pass: the bound of the posterior of these statistics, and the statistics that follow. */
static double sweep(const Model *m, double *in, double *out, Room *room) {
    int64_t K = m->K, p = m->p, q = m->q, most = p > q ? p : q, points = 1;
    Stats s = parts(m, in), next = parts(m, out);
    Law law = {0};
    for (int64_t b = 0; b < m->Be + m->Bg; b++)
        points = m->points[b] > points ? m->points[b] : points;
    double *work = take(room, 2 * most * most + points), *gain = take(room, K), bound;
    double *gate = take(room, q);
    if (room->failed || !update(m, &s, &law, work, room)) return room->failed ? INFINITY : NAN;
    memset(out, 0, sizeof(double) * (size_t)length(m));
    bound = e_step(m, &law, &next, gain, room);
    if (!(fabs(bound) < INFINITY)) return bound;
    bound -= divergence(m, &law);
    EACH_COMPONENT for (int64_t j = 0; j < q; j++)
        gate[j] += law.g[k * q + j] * law.g[k * q + j] + law.gcov[(k * q + j) * q + j];
    times(m->memE, law.squares, m->Be, p + m->J, next.sq);
    times(m->memG, gate, m->Bg, q, next.sq + m->Be);
    if (!scales(m, &law, next.sq, next.pr, work) || !step_gate(m, &law, &next, gain, work, room))
        return room->failed ? INFINITY : NAN;
    return fabs(bound) < INFINITY ? bound : NAN;
}

/* The next so many numbers of a buffer. */
static const double *next(const double **at, int64_t n) {
    *at += n;
    return *at - n;
}

/* The model that the buffers describe; zero unless all lengths are as the sizes say. */
static int read_model(Model *m, const Py_buffer *v) {
    enum { SIZES = 8, MOST_ROWS = 1 << 20, MOST = 256 };
    int64_t *own[SIZES] = {&m->n, &m->K, &m->p, &m->q, &m->weighted, &m->J, &m->Be, &m->Bg};
    const int64_t *size = v[0].buf, given = v[0].len / 8;
    for (int i = 0; i < 5; i++)
        if (v[i].len % 8 || (uintptr_t)v[i].buf % 8) return 0;
    for (int i = 0; i < SIZES; i++) {
        if (given < SIZES || size[i] < 0 || size[i] > (i ? MOST : MOST_ROWS)) return 0;
        *own[i] = size[i];
    }
    int64_t K = m->K, p = m->p, q = m->q, J = m->J, B = m->Be + m->Bg, grid = 0;
    m->at = size + SIZES, m->points = m->at + J;
    if (!K || !p || !q || J > p || m->weighted > 1 || given != SIZES + J + B) return 0;
    for (int64_t j = 0; j < J; j++)
        if (m->at[j] < 0 || m->at[j] >= p) return 0;
    for (int64_t b = 0; b < B; b++, grid += 2 * m->points[b - 1])
        if (m->points[b] < 0 || m->points[b] > MOST_ROWS) return 0;
    if (v[1].len / 8 != 3 + (1 + m->Be) * (p + J) + (1 + m->Bg + K) * q + 4 * B + grid
        || v[2].len / 8 != m->n * (1 + m->weighted + p + q) || v[3].len / 8 != length(m)
        || v[4].len != v[3].len)
        return 0;
    const double *at = v[1].buf;
    m->a0 = at[0], m->b0 = at[1], m->known = at[2], at += 3;
    m->fixE = next(&at, p + J), m->memE = next(&at, m->Be * (p + J));
    m->fixG = next(&at, q), m->memG = next(&at, m->Bg * q), m->m0 = next(&at, K * q);
    m->c0 = next(&at, B), m->d0 = next(&at, B), m->shape = next(&at, B), m->count = next(&at, B);
    m->grids = at, at = v[2].buf;
    m->y = next(&at, m->n), m->weight = next(&at, m->weighted * m->n);
    m->X = next(&at, p * m->n), m->Z = next(&at, q * m->n);
    return 1;
}

static PyObject *py_sweep(PyObject *self, PyObject *args) {
    Py_buffer v[5];
    Model m;
    Room room = {{NULL}, 0, 0};
    double bound = NAN;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*y*y*w*", v, v + 1, v + 2, v + 3, v + 4)) return NULL;
    int known = read_model(&m, v);
    Py_BEGIN_ALLOW_THREADS
    if (known) bound = sweep(&m, v[3].buf, v[4].buf, &room);
    while (room.n) free(room.held[--room.n]);
    Py_END_ALLOW_THREADS
    for (int i = 0; i < 5; i++) PyBuffer_Release(v + i);
    if (known) return PyFloat_FromDouble(bound);
    PyErr_SetString(PyExc_ValueError, "lengths of the arrays do not agree with the sizes");
    return NULL;
}

static PyMethodDef methods[] = {
    {"sweep", py_sweep, METH_VARARGS, "Bound of a sweep; what follows it in the last array."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef module = {PyModuleDef_HEAD_INIT, "compiled_sweep", NULL, 0, methods, NULL, NULL,
                             NULL, NULL};

PyMODINIT_FUNC PyInit_compiled_sweep(void) { return PyModuleDef_Init(&module); }
