/* One sweep of the coordinate ascent of a mixture of regressions or Gaussians, or of a network, in
 * one call.
 *
 * What it computes is defined in Python: `one_pass` of bayesvb/engines/base.py for the models that
 * bayesvb/models/compiled_mixture.py and models/network/compiled_network.py cover. Comments name the
 * methods that functions follow;
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

/* Which arrays calls take and fill: as in bayesvb/numerics/compiled.py, raised together with it. */
#define INTERFACE 4

#define R 64
#define MOST_ARRAYS 96
#define MOST_SPARE 8
#define MOST_ROWS (1 << 20)
#define MOST 256 /* components, columns, and other sizes */
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
#define TILE 8 /* rows and columns of a tile, whose sums stay in registers */
#define FEW 16 /* columns up to which products of pairs are faster than tiles */

enum { EXPERTS, GATE, OUTPUT, PARTS };
enum { GAUSSIAN, STUDENT, POISSON };
enum { SOFTMAX, STICKS, DIRICHLET };
enum { WHOLE, ROWS, END }; /* stages: a sweep; sums of some rows; what follows their total */

typedef struct { /* Normal, or MatrixNormalGamma where there is noise: prior and posterior */
    int64_t n, r, d, tails;
    double a0;
    const double *b0, *prior, *m0;
    double *A, *C, *mean, *sh, *rt, *tau, *elt, *squares, ld;
} Part;

typedef struct { /* LinearStats, StudentStats, LogitStats, GaussianStats, WeightStats */
    double *w, *xx, *xy, *yy, *tail;
} Sums;

typedef struct { /* prior and rows, as compile_mixture has them */
    int64_t n, stage, K, p, q, weighted, shifted, J, Be, Bg, kind, gate;
    const int64_t *at, *points, *order;
    double known;
    Part part[OUTPUT];
    const double *limits, *fixE, *memE, *fixG, *memG, *c0, *d0, *shape, *count, *grids;
    const double *y, *weight, *offset, *X, *Z;
} Model;

typedef struct { /* ScaledPosterior beside its parts: common coefficients, precisions, noise */
    double *Q, *slope, *common, *middle, common_ld, *G, *srate, *smean, divergence, dof;
} Law;

typedef struct { /* arrays that are released together: parts of `base`, and others beyond its size */
    void *held[MOST_ARRAYS], *base;
    int64_t size, used;
    int n, failed;
} Room;

/* Zeros from a multiple of 64 bytes on, so that no register's worth of them crosses a cache line. */
static double *take(Room *room, int64_t n) {
    const size_t bytes = ((size_t)(n > 0 ? n : 1) * sizeof(double) + 63) / 64 * 64;
    const int64_t at = room->used, fits = at + (int64_t)bytes <= room->size;
    char *from = fits ? (char *)room->base + at : room->n < MOST_ARRAYS ? calloc(bytes + 64, 1) : NULL;
    double *start = (double *)(((uintptr_t)from + 63) & ~(uintptr_t)63);
    room->used += (int64_t)bytes;
    if (fits) return memset(start, 0, bytes);
    if (from) room->held[room->n++] = from;
    else room->failed = 1;
    return start;
}

static void copy(double *to, const double *from, int64_t n) {
    if (n) memcpy(to, from, sizeof(double) * (size_t)n);
}

/* Columns up to whole tiles. */
static int64_t tiled(int64_t d) { return d < TILE ? d : (d + TILE - 1) / TILE * TILE; }

static int positive(double x) { return x > 0.0 && x < INFINITY; }

static double digamma(double x) {
    double s = 0.0, f;
    for (; x < 10.0; x += 1.0) s -= 1.0 / x;
    f = 1.0 / (x * x);
    return s + log(x) - 0.5 / x - f * (1.0 / 12 - f * (1.0 / 120 - f * (1.0 / 252
        - f * (1.0 / 240 - f * (1.0 / 132 - f * (691.0 / 32760 - f / 12))))));
}

static double gamma_kl(double shape, double rate, double a0, double b0) {
    return (shape - a0) * digamma(shape) - lgamma(shape) + lgamma(a0) + a0 * log(rate / b0)
        + shape * (b0 - rate) / rate;
}

static double trigamma(double x) {
    double s = 0.0, f;
    for (; x < 10.0; x += 1.0) s += 1.0 / (x * x);
    f = 1.0 / (x * x);
    return s + 1.0 / x + 0.5 * f + f / x * (1.0 / 6 - f * (1.0 / 30 - f * (1.0 / 42
        - f * (1.0 / 30 - f * (5.0 / 66 - f * (691.0 / 2730 - f * 7.0 / 6))))));
}

/* degrees_of_freedom._slope: derivatives in the logarithm; `limits` are as in learned_dof below. */
static double dof_slope(double at, double total, double tail, const double *limits, double *bend) {
    double dof = exp(at), half = 0.5 * dof, own = log(half) + 1.0 - digamma(half);
    double slope = (0.5 * (total * own + tail) - limits[4]) * dof;
    *bend = slope + total * half * (1.0 - half * trigamma(half));
    return slope + limits[3] - 1.0;
}

/* learned_dof; `limits` are the first, the least and the most, then shape and rate of the prior. */
static double learned_dof(double total, double tail, const double *limits) {
    double at = log(limits[0]), low = log(limits[1]), high = log(limits[2]), bend, before = INFINITY;
    if (!(total >= 0.0) || !(fabs(tail) < INFINITY) || !positive(limits[1]) || !positive(limits[2]))
        return NAN;
    if (dof_slope(low, total, tail, limits, &bend) <= 0.0) return limits[1];
    if (dof_slope(high, total, tail, limits, &bend) >= 0.0) return limits[2];
    for (int turn = 0; turn < 100 && !(fabs(at - before) <= 1e-11); turn++) {
        double slope = dof_slope(at, total, tail, limits, &bend), ahead = at - slope / bend;
        if (slope > 0.0) low = at;
        else high = at;
        before = at, at = ahead >= low && ahead <= high ? ahead : 0.5 * (low + high);
    }
    return exp(at);
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

/* Sums over l of a[u * across + l * along] b[l * stride + i]. */
INLINE void tile(int64_t n, const double *a, int64_t across, int64_t along, const double *b, int64_t stride,
                 double *out) {
    double s[TILE][TILE];
    for (int u = 0; u < TILE; u++) EACH(TILE) s[u][i] = a[u * across] * b[i];
    for (int64_t l = 1; l < n; l++)
        for (int u = 0; u < TILE; u++) {
            double factor = a[u * across + l * along];
            EACH(TILE) s[u][i] += factor * b[l * stride + i];
        }
    for (int u = 0; u < TILE; u++) EACH(TILE) out[u * TILE + i] = s[u][i];
}

/* Adds a multiple of some numbers. */
INLINE void add_times(int64_t n, double factor, const double *from, double *to) {
    _Pragma("omp simd") for (int64_t i = 0; i < n; i++) to[i] += factor * from[i];
}

/* Subtracts U'B from the rows of B from J on, of which U has those before J; some columns, in tiles. */
INLINE void eliminate(int64_t J, int64_t D, const double *U, double *B, int64_t first, int64_t last) {
    double s[TILE * TILE];
    for (int64_t at = first; at < last && J; at += TILE) {
        tile(J, U + J, 1, D, B + at, D, s);
        for (int u = 0; u < TILE; u++) add_times(TILE, -1.0, s + u * TILE, B + (J + u) * D + at);
    }
}

/* Inverse and log-determinant by Cholesky, in bands of rows of a matrix that has ones on its diagonal up
 * to whole tiles; zero if it is not positive definite. `work` has room for two such matrices. */
CLONES static int invert(const double *A, int64_t d, double *inverse, double *ld, double *work) {
    const int64_t band = d < TILE ? d : TILE, D = tiled(d);
    double *U = work, *W = work + D * D, s[TILE * TILE], logs = 0.0;
    memset(work, 0, sizeof(double) * (size_t)(2 * D * D));
    for (int64_t i = 0; i < D; i++) U[i * D + i] = W[i * D + i] = 1.0;
    for (int64_t i = 0; i < d; i++) copy(U + i * D, A + i * d, d);
    for (int64_t J = 0; J < D; J += band) { /* A = U'U */
        eliminate(J, D, U, U, J, D);
        for (int64_t j = J; j < J + band; j++) {
            double *own = U + j * D;
            if (!positive(own[j])) return 0;
            double root = sqrt(own[j]);
            logs += log(root);
            for (int64_t i = j; i < D; i++) own[i] /= root;
            for (int64_t i = j + 1; i < J + band; i++) add_times(D - i, -own[i], own + i, U + i * D + i);
        }
    }
    for (int64_t J = 0; J < D; J += band) { /* U'W = I */
        eliminate(J, D, U, W, 0, J);
        for (int64_t j = J; j < J + band; j++) {
            double *own = W + j * D;
            for (int64_t k = J; k < j; k++) add_times(k + 1, -U[k * D + j], W + k * D, own);
            for (int64_t i = 0; i <= j; i++) own[i] /= U[j * D + j];
        }
    }
    memset(inverse, 0, sizeof(double) * (size_t)(d * d));
    for (int64_t l = 0; l < d && d < TILE; l++) /* W'W */
        for (int64_t i = 0; i <= l; i++) add_times(i + 1, W[l * D + i], W + l * D, inverse + i * d);
    for (int64_t i = 0; i < d && d >= TILE; i += TILE)
        for (int64_t j = 0; j <= i; j += TILE) {
            tile(D - i, W + i * D + i, 1, D, W + i * D + j, D, s);
            for (int64_t u = 0; u < TILE && i + u < d; u++)
                copy(inverse + (i + u) * d + j, s + u * TILE, j + TILE < d ? TILE : d - j);
        }
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < i; j++) inverse[j * d + i] = inverse[i * d + j];
    *ld = 2.0 * logs;
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

INLINE double dot(const double *a, const double *b, int64_t n) {
    double s = 0.0;
    if (n < TILE) for (int64_t i = 0; i < n; i++) s += a[i] * b[i];
    else _Pragma("omp simd reduction(+ : s)") for (int64_t i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}

static double sum_log(const double *a, int64_t n) {
    double s = 0.0;
    for (int64_t i = 0; i < n; i++) s += log(a[i]);
    return s;
}

INLINE void times(const double *A, const double *x, int64_t rows, int64_t n, double *out) {
    for (int64_t i = 0; i < rows; i++) out[i] = dot(A + i * n, x, n);
}

/* A B, of so many rows, n, and columns: in tiles, of which the last ones overlap. */
INLINE void multiply(int64_t rows, int64_t n, int64_t columns, const double *a, const double *b, double *out) {
    double s[TILE * TILE];
    if (rows < TILE || columns < TILE) {
        memset(out, 0, sizeof(double) * (size_t)(rows * columns));
        for (int64_t i = 0; i < rows * n; i++)
            for (int64_t j = 0; j < columns; j++) out[i / n * columns + j] += a[i] * b[i % n * columns + j];
    }
    else for (int64_t i = 0; i < rows; i += TILE)
        for (int64_t j = 0; j < columns; j += TILE) {
            int64_t row = i < rows - TILE ? i : rows - TILE, at = j < columns - TILE ? j : columns - TILE;
            tile(n, a + row * n, n, 1, b + at, columns, s);
            for (int u = 0; u < TILE; u++) copy(out + (row + u) * columns + at, s + u * TILE, TILE);
        }
}

/* TermScales.by_term: precisions of coefficients from those of blocks. */
static void by_term(const double *fixed, const double *membership, const double *precision,
                    int64_t blocks, int64_t terms, double *out) {
    copy(out, fixed, terms);
    for (int64_t b = 0; b < blocks; b++)
        for (int64_t j = 0; j < terms; j++) out[j] += precision[b] * membership[b * terms + j];
}

/* Number of the sums of a part. */
static int64_t length(const Part *a) {
    const int64_t noise = a->b0 != NULL;
    return a->n * (noise * (1 + a->r) + PAIRS(a->d) + a->r * a->d + a->tails);
}

/* Where they are; what follows them. */
static double *layout(const Part *a, double *at, Sums *sums) {
    const int64_t noise = a->b0 != NULL;
    sums->w = at, sums->xx = sums->w + noise * a->n, sums->xy = sums->xx + a->n * PAIRS(a->d);
    sums->yy = sums->xy + a->n * a->r * a->d, sums->tail = sums->yy + noise * a->n * a->r;
    return at + length(a);
}

/* Normal.plus, MatrixNormalGamma.posterior, for these precisions of the prior. */
CLONES static int learn_part(Part *a, const double *prior, const Sums *sums, Room *room) {
    const int64_t n = a->n, r = a->r, d = a->d;
    double *work = take(room, 2 * tiled(d) * tiled(d));
    a->A = take(room, n * d * d), a->C = take(room, n * d * d), a->mean = take(room, n * r * d);
    a->sh = take(room, n), a->rt = take(room, n * r), a->tau = take(room, n * r);
    a->elt = take(room, n), a->squares = take(room, 2 * d);
    if (room->failed) return 0;
    for (int64_t k = 0; k < n; k++) {
        double *A = a->A + k * d * d, *C = a->C + k * d * d, ld;
        unpack(sums->xx + k * PAIRS(d), prior, d, A);
        if (!invert(A, d, C, &ld, work)) return 0;
        a->ld += ld;
        for (int64_t i = k * r; i < (k + 1) * r; i++) {
            const double *xy = sums->xy + i * d;
            double *mean = a->mean + i * d, residual = 0.0;
            for (int64_t j = 0; j < d; j++) work[j] = xy[j] + (a->m0 ? prior[j] * a->m0[i * d + j] : 0.0);
            times(C, work, d, d, mean);
            if (!a->b0) continue;
            for (int64_t j = 0; j < d; j++) residual += mean[j] * (dot(A + j * d, mean, d) - 2.0 * xy[j]);
            a->sh[k] = a->a0 + 0.5 * sums->w[k], a->rt[i] = a->b0[i % r] + 0.5 * (sums->yy[i] + residual);
            if (!positive(a->sh[k]) || !positive(a->rt[i])) return 0;
        }
    }
    return 1;
}

/* Moments of the noise, and E[tau (beta - m0)^2] of each term, summed over vectors. */
static void settle_part(Part *a) {
    const int64_t r = a->r, d = a->d;
    for (int64_t i = 0; i < a->n * r; i++) {
        a->tau[i] = a->b0 ? a->sh[i / r] / a->rt[i] : 1.0;
        if (a->b0) a->elt[i / r] += digamma(a->sh[i / r]) - log(a->rt[i]);
        for (int64_t j = 0; j < d; j++) {
            double shift = a->mean[i * d + j] - (a->m0 ? a->m0[i * d + j] : 0.0);
            a->squares[j] += a->tau[i] * shift * shift + a->C[(i / r * d + j) * d + j];
        }
    }
}

/* Divergence from the prior with these precisions. */
CLONES static double divergence_of(const Part *a, const double *prior) {
    const int64_t n = a->n, r = a->r, d = a->d;
    double kl = 0.5 * (dot(prior, a->squares, d) + (double)r * a->ld);
    kl -= 0.5 * (double)(n * r) * (sum_log(prior, d) + (double)d);
    for (int64_t i = 0; i < n * r && a->b0; i++) kl += gamma_kl(a->sh[i / r], a->rt[i], a->a0, a->b0[i % r]);
    return kl;
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
CLONES static void through_common(int64_t K, int64_t J, const double *score, const double *middle,
                                  const double *info, double *seen, double *through, double *work) {
    const int64_t JJ = J * J;
    EACH_COMPONENT {
        double *turned = seen + K * JJ;
        multiply(J, J, J, info + k * JJ, middle, seen + k * JJ);
        for (int64_t i = 0; i < JJ; i++) turned[i % J * J + i / J] = seen[k * JJ + i];
        times(middle, score + k * J, J, J, work);
        for (int64_t l = 0; l <= k; l++)
            through[k * K + l] = through[l * K + k]
                = -dot(work, score + l * J, J) - 0.5 * dot(turned, seen + l * JJ, JJ);
    }
}

/* CommonEffectPrior._solve_common: `info` are the G_k, `pull` the E' Lambda g_k. */
CLONES static int solve_common(Model *m, Law *law, const double *pull, const double *info, double *work,
                               Room *room) {
    int64_t K = m->K, J = m->J, JJ = J * J;
    Part *a = m->part;
    double *noise = take(room, K), *before = take(room, K), *step = take(room, K), *base = take(room, K);
    double *score = take(room, K * J), *seen = take(room, (K + 1) * JJ), *total = take(room, JJ);
    double *linear = take(room, J), *through = take(room, K * K), *slope = take(room, K * K);
    if (room->failed) return 0;
    EACH_COMPONENT {
        base[k] = a->rt[k], noise[k] = a->sh[k] / a->rt[k];
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
            a->rt[k] = base[k] + 0.5 * square;
            if (!positive(a->rt[k])) return 0;
            step[k] = log(a->sh[k] / (a->rt[k] * before[k]));
        }
        if (turn == 1 || (turn && far))
            through_common(K, J, score, law->middle, info, seen, through, work);
        if (turn) {
            for (int64_t i = 0; i < K * K; i++)
                slope[i] = (i / K == i % K) + before[i % K] / a->rt[i / K] * through[i];
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
    const double *C = m->part->C + k * p * p, *mean = m->part->mean + k * p;
    double *W = law->slope + k * p * J;
    for (int64_t i = 0; i < p; i++)
        for (int64_t j = 0; j < J; j++) W[i * J + j] = C[i * p + m->at[j]] * law->Q[m->at[j]];
    for (int64_t i = 0; i < J; i++) {
        int64_t a = m->at[i];
        pull[i] = law->Q[a] * mean[a];
        for (int64_t j = 0; j < J; j++) {
            int64_t b = m->at[j];
            double one = law->Q[a] * ((a == b) - W[a * J + j]);
            info[i * J + j] = 0.5 * (one + law->Q[b] * ((a == b) - W[b * J + i]));
        }
    }
}

/* Effect of q(b): means, effective covariances, and E[tau (beta - b)^2] summed over components. */
CLONES static void with_common(Model *m, Law *law, int64_t k, double *work) {
    int64_t p = m->p, J = m->J;
    Part *a = m->part;
    double *W = law->slope + k * p * J, *C = a->C + k * p * p, *mean = a->mean + k * p;
    double *away = work, *through = away + p * J, *turned = through + p * J, *more = turned + p * J;
    copy(away, W, p * J);
    for (int64_t i = 0; i < p * J; i++) turned[i % J * p + i / J] = W[i];
    for (int64_t j = 0; j < J; j++) away[m->at[j] * J + j] -= 1.0;
    multiply(p, J, J, away, law->middle, through);
    for (int64_t i = 0; i < p; i++) {
        double shift = mean[i] + dot(W + i * J, law->common, J), own = C[i * p + i];
        double across = dot(away + i * J, through + i * J, J);
        mean[i] = shift;
        for (int64_t j = 0; j < J; j++) shift -= m->at[j] == i ? law->common[j] : 0.0;
        a->squares[i] += a->tau[k] * (shift * shift + across) + own;
    }
    for (int64_t j = 0; j < J; j++) add_times(J, 1.0, law->middle + j * J, through + m->at[j] * J);
    multiply(p, J, p, through, turned, more);
    for (int64_t i = 0; i < p; i++)
        for (int64_t j = 0; j <= i; j++) C[j * p + i] = C[i * p + j] += a->tau[k] * more[i * p + j];
}

/* CommonEffectPrior.posterior, from that of components without common coefficients. */
static int add_common(Model *m, Law *law, double *work, Room *room) {
    int64_t K = m->K, p = m->p, J = m->J;
    double *info = take(room, K * J * J), *pull = take(room, K * J), *squares = m->part->squares;
    double *space = take(room, J ? (3 * J + p) * p : 0);
    law->slope = take(room, K * p * J), law->common = take(room, J), law->middle = take(room, J * J);
    if (room->failed) return 0;
    EACH_COMPONENT around_common(m, law, k, pull + k * J, info + k * J * J);
    if (J && !solve_common(m, law, pull, info, work, room)) return 0;
    settle_part(m->part);
    if (J) memset(squares, 0, sizeof(double) * (size_t)p);
    for (int64_t k = 0; k < K && J; k++) with_common(m, law, k, space);
    for (int64_t j = 0; j < J; j++)
        squares[p + j] = law->common[j] * law->common[j] + law->middle[j * J + j];
    return 1;
}

/* Dirichlet: expected log weights; and the divergence. */
static int learn_weights(Part *a, const Sums *sums) {
    double total = 0.0;
    for (int64_t k = 0; k < a->n; k++) {
        total += a->sh[k] = a->b0[k] + sums->w[k];
        if (!positive(a->sh[k])) return 0;
    }
    for (int64_t k = 0; k < a->n; k++) a->elt[k] = digamma(a->sh[k]) - digamma(total);
    return 1;
}

static double divergence_of_weights(const Part *a) {
    double kl = 0.0, total = 0.0, before = 0.0;
    for (int64_t k = 0; k < a->n; k++) {
        total += a->sh[k], before += a->b0[k];
        kl += (a->sh[k] - a->b0[k]) * a->elt[k] - lgamma(a->sh[k]) + lgamma(a->b0[k]);
    }
    return kl + lgamma(total) - lgamma(before);
}

/* ScaledMixture.kl; precisions of the priors are left in Q and G. */
static double divergence(const Model *m, Law *law) {
    const Part *experts = m->part + EXPERTS, *gate = m->part + GATE;
    int64_t p = m->p, J = m->J;
    double kl = m->known + law->divergence, *Q = law->Q, *G = law->G;
    by_term(m->fixE, m->memE, law->smean, m->Be, p + J, Q);
    by_term(m->fixG, m->memG, law->smean + m->Be, m->Bg, m->q, G);
    for (int64_t b = 0; b < m->Be + m->Bg; b++) {
        double growth = law->srate[b] / m->d0[b];
        if (!m->points[b]) kl += m->c0[b] * log(growth) + m->shape[b] * (1.0 / growth - 1.0);
    }
    kl += divergence_of(experts, Q) + (m->q ? divergence_of(gate, G) : divergence_of_weights(gate));
    kl += 0.5 * (dot(Q + p, experts->squares + p, J) + law->common_ld - sum_log(Q + p, J) - (double)J);
    if (m->kind == STUDENT) kl -= (m->limits[3] - 1.0) * log(law->dof) - m->limits[4] * law->dof;
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
INLINE void newton(int64_t K, const double *T, const double *S, double *tilt, double *share, double *slope) {
    double norm[R], sum[R], up[R], down[R], none[R];
    copy(tilt, T, K * R);
    log_sum_exp(K, tilt, norm);
    for (int turn = 0; turn < 3; turn++) {
        EACH_ROW none[i] = up[i] = down[i] = 0.0;
        EACH_COMPONENT EACH_ROW share[k * R + i]
            = T[k * R + i] - norm[i] + (0.5 - tilt[k * R + i]) * S[k * R + i];
        normalise(K, share, none, sum);
        EACH_COMPONENT EACH_ROW {
            double d = slope[k * R + i] = 1.0 / (1.0 + share[k * R + i] * S[k * R + i]);
            up[i] += d * tilt[k * R + i], down[i] += d * share[k * R + i];
        }
        EACH_ROW up[i] /= down[i];
        EACH_COMPONENT EACH_ROW tilt[k * R + i]
            += slope[k * R + i] * (share[k * R + i] * up[i] - tilt[k * R + i]);
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

/* Case weights of the rows of a piece, zero beyond the last one. */
INLINE void case_weights(const double *from, int64_t n, int64_t first, double *weight) {
    for (int64_t i = 0; i < R; i++) weight[i] = first + i >= n ? 0.0 : from ? from[first + i] : 1.0;
}

/* Responsibilities times case weights from log densities, in place; the rows' part of the bound. */
INLINE double responsibilities(int64_t K, double *terms, const double *weight) {
    double norm[R];
    log_sum_exp(K, terms, norm);
    EACH_COMPONENT EACH_ROW { /* subnormal numbers are slow */
        double r = terms[k * R + i];
        terms[k * R + i] = r > 1e-100 ? r * weight[i] : 0.0;
    }
    return sum_of(norm, weight);
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

typedef struct { /* a piece of d columns for K components, and factors and sums of products of two. If
                  * few, products follow; else zeros up to whole tiles. Of many there are also weighted
                  * ones, and tiles with a line of the cache for each column, or for each row. */
    int64_t d, D, K;
    double *x, *factor, *sums, *weighted, *by_column, *by_row;
} Columns;

static Columns columns_of(int64_t d, int64_t K, Room *room) {
    const int64_t D = tiled(d), few = d <= FEW, each = few ? PAIRS(d) : D * D;
    double *x = take(room, (few ? d + PAIRS(d) : 4 * D) * R), *more = x + D * R;
    return (Columns){d, D, K, x, take(room, K * each), take(room, K * each), more, more + D * R, more + 2 * D * R};
}

/* Rows that are not there repeat the first. */
INLINE void read_columns(Columns *to, const double *from, int64_t n, int64_t first) {
    int64_t here = n - first < R ? n - first : R;
    if (to->d <= FEW) features(from, n, first, to->d, to->x);
    else for (int64_t j = 0; j < to->d; j++) {
        double *x = to->x + j * R;
        copy(x, from + j * n + first, here);
        for (int64_t i = here; i < R; i++) x[i] = x[0];
        for (int64_t i = 0; i < R; i++) {
            to->by_column[(i / TILE * to->D + j) * TILE + i % TILE] = x[i];
            to->by_row[(j / TILE * R + i) * TILE + j % TILE] = x[i];
        }
    }
}

/* quadratic_weights of a component, as a lower triangle. */
static void weigh_squares(Columns *a, int64_t k, const double *matrix) {
    if (a->d <= FEW) weigh_pairs(matrix, a->d, 1.0, a->factor + k * PAIRS(a->d));
    else for (int64_t i = 0; i < a->d; i++)
        for (int64_t j = 0; j <= i; j++)
            a->factor[(k * a->D + i) * a->D + j] = (2 - (i == j)) * matrix[i * a->d + j];
}

/* Adds quadratic forms of the columns. */
INLINE void quadratics(const Columns *a, double *out) {
    const int64_t D = a->D;
    double s[TILE * TILE];
    if (a->d <= FEW) predict(a->K, PAIRS(a->d), a->x + a->d * R, a->factor, out);
    else for (int64_t k = 0; k < a->K; k++)
        for (int64_t j = 0; j < D; j += TILE)
            for (int64_t first = 0; first < R; first += TILE) {
                tile(j + TILE, a->factor + (k * D + j) * D, D, 1, a->by_column + first * D, TILE, s);
                for (int u = 0; u < TILE; u++)
                    EACH(TILE) out[k * R + first + i] += s[u * TILE + i] * a->x[(j + u) * R + first + i];
            }
}

/* Adds weighted products of two columns to their sums: lower triangles of tiles. */
INLINE void add_squares(Columns *a, const double *w) {
    const int64_t D = a->D;
    double s[TILE * TILE];
    if (a->d <= FEW) add_sums(a->K, PAIRS(a->d), a->x + a->d * R, w, a->sums);
    else for (int64_t k = 0; k < a->K; k++) {
        double *weighted = a->weighted;
        for (int64_t j = 0; j < D; j++) EACH_ROW weighted[j * R + i] = w[k * R + i] * a->x[j * R + i];
        for (int64_t j = 0; j < D; j += TILE)
            for (int64_t l = 0; l <= j; l += TILE) {
                tile(R, weighted + j * R, R, 1, a->by_row + l * R, TILE, s);
                for (int u = 0; u < TILE; u++)
                    EACH(TILE) a->sums[(k * D + j + u) * D + l + i] += s[u * TILE + i];
            }
    }
}

/* The packed sums. */
static void pack(const Columns *a, double *out) {
    if (a->d <= FEW) copy(out, a->sums, a->K * PAIRS(a->d));
    else for (int64_t k = 0; k < a->K; k++)
        for (int64_t i = 0; i < a->d; out += ++i)
            copy(out, a->sums + (k * a->D + i) * a->D, i + 1);
}

/* SoftmaxGate.local: bounded log weights. */
INLINE int weights(int64_t K, const double *T, double *S, double *tilt, double *share, double *E,
                   double *work) {
    double norm[R];
    newton(K, T, S, tilt, share, work);
    if (!hard_rows(K, T, S, tilt, work)) return 0;
    EACH_COMPONENT EACH_ROW share[k * R + i]
        = (0.5 - tilt[k * R + i]) * S[k * R + i] + T[k * R + i];
    log_sum_exp(K, share, norm);
    EACH_COMPONENT EACH_ROW norm[i] += 0.5 * tilt[k * R + i] * tilt[k * R + i] * S[k * R + i];
    EACH_COMPONENT EACH_ROW E[k * R + i] = T[k * R + i] - norm[i];
    return 1;
}

/* tanh(xi / 2) / (2 xi) and log(2 cosh(xi / 2)) of a square: special.jaakkola. */
INLINE double jaakkola(double square, double *log_cosh) {
    double xi = sqrt(square > 1e-10 ? square : 1e-10), e = exp1(-xi), s = square;
    double near = 0.25 - s * (1.0 / 48 - s * (1.0 / 480 - s * (17.0 / 80640 - s * (31.0 / 1451520))));
    double far = 0.5 * (1.0 - e) / ((1.0 + e) * xi);
    *log_cosh = log1(1.0 + e) + 0.5 * xi;
    return square < 0.01 ? near : far;
}

/* StickBreakingGate.rows_of: log weights from logits T and variances S; S becomes omega. */
INLINE void stick_weights(int64_t K, const int64_t *order, const double *T, double *S, double *E) {
    double before[R], passing;
    EACH_ROW before[i] = 0.0;
    for (int64_t k = 0; k < K - 1; k++) {
        double *own = E + order[k] * R;
        EACH_ROW {
            double t = T[k * R + i];
            S[k * R + i] = jaakkola(S[k * R + i] + t * t, &passing);
            before[i] -= passing + 0.5 * t, own[i] = before[i] + t;
        }
    }
    EACH_ROW E[order[K - 1] * R + i] = before[i];
}

/* StickLocalPosterior.weights, over logits and omega. */
INLINE void stick_sums(int64_t K, const int64_t *order, const double *r, double *T, double *S) {
    double reach[R];
    copy(reach, r + order[K - 1] * R, R);
    for (int64_t k = K - 2; k >= 0; k--) {
        const double *own = r + order[k] * R;
        EACH_ROW reach[i] += own[i], S[k * R + i] *= reach[i], T[k * R + i] = own[i] - 0.5 * reach[i];
    }
}

/* Expected log densities, added to E, from standardised residuals V and variances U of predictors;
 * then U and V are what squares and terms are weighted with, and `tails` E[log u] - E[u]. */
INLINE void densities(const Model *m, const Law *law, const double *y, const double *offset, double *all,
                      double *variances, double *predictors, double *tails) {
    const Part *a = m->part;
    const int64_t student = m->kind == STUDENT;
    const double nu = law->dof, psi = student ? digamma(0.5 * (nu + 1.0)) - log(0.5 * nu) : 0.0;
    const double top = student ? lgamma(0.5 * (nu + 1.0)) - lgamma(0.5 * nu) - 0.5 * log(0.5 * nu) : 0.0;
    for (int64_t k = 0; k < m->K; k++) {
        double peak = 0.5 * (a->elt[k] - LOG_2PI) + top, *E = all + k * R, *V = predictors + k * R;
        double *U = variances + k * R, *tail = tails + k * R;
        if (m->kind == GAUSSIAN) EACH_ROW E[i] += peak - 0.5 * (V[i] * V[i] + U[i]);
        else if (student) EACH_ROW {
            double square = V[i] * V[i] + U[i], kernel = log1(1.0 + square / nu);
            E[i] += peak - 0.5 * (nu + 1.0) * kernel;
            U[i] = (nu + 1.0) / (nu + square), tail[i] = psi - kernel - U[i];
        }
        else EACH_ROW {
            double at = V[i] + offset[i], most = at + 0.5 * U[i];
            double rate = exp1(most > m->limits[0] ? m->limits[0] : most);
            E[i] += y[i] * at - rate, U[i] = rate, V[i] = y[i] - rate + rate * V[i];
        }
    }
}

/* Mixture.e_step: sums over the rows in `out`; returns the rows' part of the bound. */
CLONES static double e_step(const Model *m, const Law *law, Sums *out, double *gain, Room *room) {
    const Part *experts = m->part, *gate = m->part + GATE;
    const int64_t K = m->K, p = m->p, q = m->q, n = m->n, L = gate->n, KR = K * R;
    double *E = take(room, KR), *T = take(room, KR), *S = take(room, KR), *U = take(room, KR);
    double *V = take(room, KR), *tilt = take(room, KR), *share = take(room, KR), *work = take(room, 8 * KR);
    double *scaled = take(room, K * p), y[2 * R], offset[R] = {0.0}, weight[R], one_each[R], bound = 0.0;
    Columns x = columns_of(p, K, room), z = columns_of(q, L, room);
    if (room->failed) return INFINITY;
    EACH_COMPONENT {
        weigh_squares(&x, k, experts->C + k * p * p);
        for (int64_t j = k * p; j < (k + 1) * p; j++) scaled[j] = sqrt(experts->tau[k]) * experts->mean[j];
    }
    EACH_ROW one_each[i] = 1.0;
    for (int64_t l = 0; l < L; l++) weigh_squares(&z, l, gate->C + l * q * q);
    for (int64_t first = 0; first < n; first += R) {
        const int64_t here = n - first < R ? n - first : R;
        read_columns(&x, m->X, n, first), read_columns(&z, m->Z, n, first);
        features(m->y, n, first, 1, y);
        case_weights(m->weighted ? m->weight : NULL, n, first, weight);
        if (m->shifted) copy(offset, m->offset + first, here);
        EACH_COMPONENT EACH_ROW T[k * R + i] = S[k * R + i] = 0.0, E[k * R + i] = gate->elt[k % L];
        predict(L, q, z.x, gate->mean, T), quadratics(&z, S);
        if (m->gate == STICKS) stick_weights(K, m->order, T, S, E);
        if (m->gate == SOFTMAX && !weights(K, T, S, tilt, share, E, work)) return INFINITY;
        EACH_COMPONENT {
            double root = m->kind == POISSON ? 0.0 : -sqrt(experts->tau[k]);
            EACH_ROW V[k * R + i] = root * y[i], U[k * R + i] = 0.0;
        }
        predict(K, p, x.x, scaled, V), quadratics(&x, U);
        densities(m, law, y, offset, E, U, V, work);
        bound += responsibilities(K, E, weight);
        if (m->gate == STICKS) stick_sums(K, m->order, E, T, S);
        for (int64_t k = 0; k < K && m->gate == SOFTMAX; k++) { /* row_weights */
            double *r = E + k * R, *a = tilt + k * R, *h = share + k * R, *s = S + k * R, *t = T + k * R;
            EACH_ROW {
                double c = (a[i] - 2.0 * h[i]) * a[i] + h[i], pull = c * s[i], g = 1.0 - 2.0 * a[i];
                t[i] = r[i] - weight[i] * h[i], a[i] = g * g * s[i] * pull / (1.0 + pull);
                s[i] = c * weight[i];
            }
            gain[k] += sum_of(a, weight);
        }
        add_squares(&z, S), add_sums(L, q, z.x, T, out[GATE].xy);
        EACH_COMPONENT {
            double *r = E + k * R, *u = U + k * R, *v = V + k * R;
            if (m->gate == DIRICHLET) out[GATE].w[k] += sum_of(r, one_each);
            if (m->kind != POISSON) out->w[k] += sum_of(r, one_each);
            if (m->kind == STUDENT) out->tail[k] += sum_of(r, work + k * R);
            if (m->kind == POISSON) EACH_ROW v[i] *= r[i];
            if (m->kind != GAUSSIAN) EACH_ROW r[i] *= u[i];
            if (m->kind != POISSON) {
                EACH_ROW v[i] = r[i] * y[i];
                out->yy[k] += sum_of(v, y);
            }
        }
        add_squares(&x, E), add_sums(K, p, x.x, V, out->xy);
    }
    pack(&x, out->xx), pack(&z, out[GATE].xx);
    return bound;
}

/* SlopeStats.damped and centred_sums: the step of the gate, in place. */
CLONES static int step_gate(const Model *m, Law *law, Sums *out, const double *precision,
                            const double *gain, double *work, Room *room) {
    const Part *gate = m->part + GATE;
    int64_t K = m->K, q = m->q;
    double *D = take(room, q * q), *inverse = take(room, q * q), *slope = take(room, q);
    double *off = take(room, K * q), *average = take(room, q), *N = law->G, ld;
    if (room->failed) return 0;
    by_term(m->fixG, m->memG, precision, m->Bg, q, N);
    EACH_COMPONENT {
        double *cu = out->xx + k * PAIRS(q), *own = off + k * q, held = gain[k] / (2.0 + gain[k]);
        unpack(cu, NULL, q, D);
        for (int64_t i = 0; i < q * q; i++) D[i] = 2.0 * D[i] + (i / q == i % q ? N[i % q] : 0.0);
        for (int64_t j = 0; j < q; j++)
            slope[j] = out->xy[k * q + j] - N[j] * (gate->mean[k * q + j] - gate->m0[k * q + j]);
        if (!invert(D, q, inverse, &ld, work)) return 0;
        times(inverse, slope, q, q, own);
        for (int64_t j = 0; j < q; j++) {
            own[j] += gate->mean[k * q + j] - gate->m0[k * q + j];
            average[j] += own[j] / (double)K;
        }
        for (int64_t i = 0; i < q; i++)
            for (int64_t j = 0; j <= i; j++, cu++)
                *cu += held * (gate->A[(k * q + i) * q + j] - (i == j) * N[i] - *cu);
    }
    EACH_COMPONENT {
        double *own = off + k * q;
        unpack(out->xx + k * PAIRS(q), NULL, q, D);
        for (int64_t j = 0; j < q; j++) own[j] -= average[j], slope[j] = gate->m0[k * q + j] + own[j];
        times(D, slope, q, q, out->xy + k * q);
        for (int64_t j = 0; j < q; j++) out->xy[k * q + j] += N[j] * own[j];
    }
    return 1;
}

/* The posterior of these statistics: ScaledMixture.update. */
static int update(Model *m, const Sums *sums, const double *precision, const double *squares, Law *law,
                  double *work, Room *room) {
    int64_t K = m->K, B = m->Be + m->Bg;
    Part *gate = m->part + GATE;
    double total = 0.0, tail = 0.0;
    law->Q = take(room, m->p + m->J), law->G = take(room, m->q);
    law->srate = take(room, B), law->smean = take(room, B);
    if (room->failed) return 0;
    by_term(m->fixE, m->memE, precision, m->Be, m->p + m->J, law->Q);
    by_term(m->fixG, m->memG, precision + m->Be, m->Bg, m->q, law->G);
    for (int64_t k = 0; k < K && m->kind == STUDENT; k++) total += sums->w[k], tail += sums->tail[k];
    law->dof = m->kind == STUDENT ? learned_dof(total, tail, m->limits) : INFINITY;
    if (isnan(law->dof) || !learn_part(gate, law->G, sums + GATE, room)
        || (m->q ? 0 : !learn_weights(gate, sums + GATE)) || !learn_part(m->part, law->Q, sums, room))
        return 0;
    if (m->q) settle_part(gate);
    return add_common(m, law, work, room) && scales(m, law, squares, law->smean, work);
}

/* one_pass: the bound of the posterior of these statistics, and the statistics that follow. */
static double sweep(Model *m, double *in, double *out, Room *room) {
    int64_t K = m->K, p = m->p, q = m->q, B = m->Be + m->Bg, most = p > q ? p : q, points = 1;
    Sums sums[OUTPUT], following[OUTPUT];
    Law law = {0};
    double *precision = layout(m->part + GATE, layout(m->part, in, sums), sums + GATE), bound = 0.0;
    double *ahead = layout(m->part + GATE, layout(m->part, out, following), following + GATE);
    double *squares = precision + B, *of_blocks = ahead + B, *rest = of_blocks + B;
    for (int64_t b = 0; b < B; b++)
        points = m->points[b] > points ? m->points[b] : points;
    double *work = take(room, 2 * tiled(most) * tiled(most) + points), *gain = m->stage ? rest : take(room, K);
    if (room->failed || !update(m, sums, precision, squares, &law, work, room))
        return room->failed ? INFINITY : NAN;
    if (m->stage != END) {
        memset(out, 0, sizeof(double) * (size_t)(rest - out + (m->stage ? K : 0)));
        bound = e_step(m, &law, following, gain, room);
    }
    if (!(fabs(bound) < INFINITY) || m->stage == ROWS) return bound;
    bound -= divergence(m, &law);
    times(m->memE, m->part->squares, m->Be, p + m->J, of_blocks);
    times(m->memG, m->part[GATE].squares, m->Bg, q, of_blocks + m->Be);
    if (!scales(m, &law, of_blocks, ahead, work)
        || (m->gate == SOFTMAX && !step_gate(m, &law, following + GATE, ahead + m->Be, gain, work, room)))
        return room->failed ? INFINITY : NAN;
    return fabs(bound) < INFINITY ? bound : NAN;
}

typedef struct { /* what is left of a buffer; nowhere once too much was taken, or odd numbers */
    const double *at, *end;
} Cursor;

typedef struct { /* a size, and its limits */
    int64_t *to, least, most;
} Size;

static Cursor over(const Py_buffer *v) {
    const double *at = v->len % 8 || (uintptr_t)v->buf % 8 ? NULL : v->buf;
    return (Cursor){at, at ? at + v->len / 8 : NULL};
}

static int used_up(const Cursor *left) { return left->at && left->at == left->end; }

/* The next so many numbers. */
static const double *next(Cursor *left, int64_t n) {
    const double *found = left->at;
    left->at = found && n <= left->end - found ? found + n : NULL;
    return left->at ? found : NULL;
}

/* The next so many whole numbers, from zero to below `end`. */
static const int64_t *next_places(Cursor *left, int64_t n, int64_t end) {
    const int64_t *found = (const int64_t *)next(left, n);
    for (int64_t i = 0; i < n && left->at; i++)
        if (found[i] < 0 || found[i] >= end) left->at = NULL;
    return left->at ? found : NULL;
}

static int read_sizes(Cursor *left, const Size *own, int n) {
    const int64_t *found = next_places(left, n, INT64_MAX);
    for (int i = 0; i < n; i++) {
        if (!found || found[i] < own[i].least || found[i] > own[i].most) return 0;
        *own[i].to = found[i];
    }
    return 1;
}
#define READ_SIZES(left, own) read_sizes(left, own, (int)(sizeof(own) / sizeof(*own)))

/* The model that the buffers describe; zero unless all lengths are as the sizes say. */
static int read_model(Model *m, const Py_buffer *v) {
    Cursor head = over(v), prior = over(v + 1), rows = over(v + 2), in = over(v + 3), out = over(v + 4);
    const Size own[] = {
        {&m->n, 0, MOST_ROWS}, {&m->stage, 0, END}, {&m->K, 1, MOST}, {&m->p, 1, MOST}, {&m->q, 0, MOST},
        {&m->weighted, 0, 1}, {&m->shifted, 0, 1}, {&m->J, 0, MOST}, {&m->Be, 0, MOST}, {&m->Bg, 0, MOST},
        {&m->kind, 0, POISSON}, {&m->gate, 0, DIRICHLET}};
    if (!READ_SIZES(&head, own)) return 0;
    const int64_t n = m->n, K = m->K, p = m->p, q = m->q, J = m->J, B = m->Be + m->Bg, L = K - (m->gate == STICKS);
    int64_t grid = 0, used;
    if (!L || !q != (m->gate == DIRICHLET) || J > p || (J && m->kind == POISSON)) return 0;
    m->order = next_places(&head, K, K), m->at = next_places(&head, J, p);
    m->points = next_places(&head, B, MOST_ROWS + 1);
    for (int64_t b = 0; b < B && m->points; b++) grid += 2 * m->points[b];
    const double *noise = next(&prior, 3), *gate;
    m->limits = next(&prior, 5), m->fixE = next(&prior, p + J), m->memE = next(&prior, m->Be * (p + J));
    m->fixG = next(&prior, q), m->memG = next(&prior, m->Bg * q), gate = next(&prior, q ? L * q : K);
    m->c0 = next(&prior, B), m->d0 = next(&prior, B), m->shape = next(&prior, B), m->count = next(&prior, B);
    m->grids = next(&prior, grid), m->y = next(&rows, n), m->weight = next(&rows, m->weighted * n);
    m->offset = next(&rows, m->shifted * n), m->X = next(&rows, p * n), m->Z = next(&rows, q * n);
    if (!used_up(&head) || !used_up(&prior) || !used_up(&rows) || !in.at) return 0;
    m->known = noise[2];
    m->part[EXPERTS] = (Part){.n = K, .r = 1, .d = p, .tails = m->kind == STUDENT, .a0 = noise[0],
                              .b0 = m->kind == POISSON ? NULL : noise + 1};
    m->part[GATE] = q ? (Part){.n = L, .r = 1, .d = q, .m0 = gate} : (Part){.n = K, .b0 = gate};
    used = length(m->part) + length(m->part + GATE) + 2 * B;
    next(&in, used), next(&out, used + (m->stage ? K : 0));
    return used_up(&in) && used_up(&out);
}

typedef struct { /* Network and its rows, as CompiledNetwork has them */
    int64_t n, stage, K, p, q, h, O, classes, inner, diagonal, weighted;
    const int64_t *order;
    Part part[PARTS];
    const double *y, *weight, *X, *Z;
} Network;

/* latents.settle_full and settle_diagonal: a bordered precision becomes E[u u'] without its last
 * entry, in place, by the sweep operator; and its determinant. Marks rows that NumPy has to see. */
INLINE void settle(int64_t h, int64_t diagonal, double *M, double *det, double *odd, double *work) {
#define ENTRY(i, j) (M + ((i) > (j) ? PAIRS(i) + (j) : PAIRS(j) + (i)) * R)
    EACH_ROW det[i] = 1.0;
    for (int64_t k = 0; k < h && diagonal; k++) copy(work + k * R, ENTRY(k, k), R);
    for (int64_t k = 0; k < h; k++) {
        double *pivot = ENTRY(k, k), *own = diagonal ? work + k * R : pivot;
        EACH_ROW odd[i] = pivot[i] > 0.0 ? odd[i] : 1.0;
        EACH_ROW det[i] *= own[i], pivot[i] = -1.0 / pivot[i];
        for (int64_t a = 0; a <= h; a++)
            for (int64_t b = 0; b <= a && b < h && a != k; b++) {
                double *x = ENTRY(a, k), *y = ENTRY(b, k), *at = ENTRY(a, b);
                if (b != k) EACH_ROW at[i] += x[i] * y[i] * pivot[i];
            }
        for (int64_t a = 0; a <= h; a++) {
            double *x = ENTRY(a, k);
            if (a != k) EACH_ROW x[i] *= -pivot[i];
        }
    }
    EACH_ROW odd[i] = det[i] > 1e-200 && det[i] < 1e200 ? odd[i] : 1.0;
    for (int64_t a = 0; a < h; a++)
        for (int64_t b = 0; b <= a; b++) {
            double *at = ENTRY(a, b), *x = ENTRY(h, a), *y = ENTRY(h, b), on = a == b;
            if (diagonal) EACH_ROW at[i] = on / work[a * R + i] + x[i] * y[i];
            else EACH_ROW at[i] = x[i] * y[i] - at[i];
        }
#undef ENTRY
}

typedef struct { /* LabelEvidence, ResponseEvidence: squares, curvature and slopes by stick; rows */
    int64_t sticks;
    double *squares, *curvature, *slope, *kappa, *reach, *linear;
} Evidence;

static Evidence evidence_of(const Network *m, Room *room) {
    const Part *a = m->part + OUTPUT;
    int64_t D = m->h + 1, H = PAIRS(D), L = m->classes ? m->O : 1;
    Evidence e = {L, take(room, L * H), take(room, L * H), take(room, m->O * D),
                  take(room, m->O * R), take(room, L * R), take(room, D * R)};
    double *W = take(room, D * D);
    for (int64_t l = 0; l < L && !room->failed; l++) {
        double *packed = e.curvature + l * H;
        for (int64_t i = 0; i < D * D; i++)
            W[i] = (m->classes ? 1.0 : (double)m->O) * a->C[l * D * D + i];
        for (int64_t o = m->classes ? l : 0; o < (m->classes ? l + 1 : m->O); o++) {
            const double *mean = a->mean + o * D, tau = m->classes ? 1.0 : a->tau[o];
            for (int64_t i = 0; i < D * D; i++) W[i] += tau * mean[i / D] * mean[i % D];
            for (int64_t i = 0; i < D; i++) e.slope[o * D + i] = tau * mean[i];
        }
        weigh_pairs(W, D, 1.0, e.squares + l * H);
        for (int64_t i = 0; i < D; i++)
            for (int64_t j = 0; j <= i; j++) *packed++ = i == m->h ? -W[i * D + j] : W[i * D + j];
    }
    return e;
}

/* Evidence of the rows of a piece: sticks of codes, or numbers; adds what no latent enters to E. */
INLINE void read_responses(const Network *m, int64_t first, Evidence *e, double *E) {
    const int64_t here = m->n - first < R ? m->n - first : R, D = m->h + 1;
    const Part *a = m->part + OUTPUT;
    for (int64_t o = 0; o < m->O; o++) {
        double *own = e->kappa + o * R, *reach = e->reach + o * R;
        const double *y = m->y + (m->classes ? 0 : o * m->n) + first;
        for (int64_t i = 0; i < R; i++) {
            double value = y[i < here ? i : 0];
            if (m->classes) reach[i] = value >= (double)o;
            own[i] = m->classes ? (value == (double)o) - 0.5 * reach[i] : value;
        }
        if (!m->classes) EACH_ROW E[i] -= 0.5 * a->tau[o] * own[i] * own[i];
    }
    if (!m->classes) EACH_ROW E[i] += 0.5 * (a->elt[0] - (double)m->O * LOG_2PI);
    memset(e->linear, 0, sizeof(double) * (size_t)(D * R));
    for (int64_t o = 0; o < m->O; o++)
        for (int64_t d = 0; d < D; d++)
            EACH_ROW e->linear[d * R + i] += e->slope[o * D + d] * e->kappa[o * R + i];
    EACH_ROW E[i] += e->linear[m->h * R + i];
}

/* given_component, GaussianOutput._settled of one expert: its E[x] before in `at`, its terms in E. */
INLINE void latent_rows(const Network *m, const Evidence *e, const double *tau, const double *at,
                        double *M, double *omega, double *E, double *odd, double *work) {
    const int64_t h = m->h, H = PAIRS(h + 1), L = e->sticks;
    double *linear = work, *diagonal = linear + h * R, *second = diagonal + h * R, det[R], log_cosh;
    const double *mean = m->part[OUTPUT].mean, *border = M + PAIRS(h) * R;
    for (int64_t j = 0; j < h; j++)
        EACH_ROW linear[j * R + i] = tau[j] * at[j * R + i] + e->linear[j * R + i];
    for (int64_t l = 0; l < L && m->classes; l++) { /* LabelEvidence.before */
        double *own = second + l * R, base = e->squares[(l + 1) * H - 1], end = mean[l * (h + 1) + h];
        for (int64_t j = 0; j < h; j++) base += e->squares[l * H + PAIRS(j + 1) - 1] / tau[j];
        EACH_ROW own[i] = 0.0;
        predict(1, h, at, mean + l * (h + 1), own);
        EACH_ROW own[i] = (own[i] + end) * (own[i] + end) + base - end * end;
    }
    for (int64_t turn = 0; turn < m->inner; turn++) {
        memset(M, 0, sizeof(double) * (size_t)(H * R));
        for (int64_t l = 0; l < L; l++) {
            double *o = omega + l * R, *s = second + l * R, *reach = e->reach + l * R;
            if (m->classes) EACH_ROW o[i] = reach[i] * jaakkola(s[i], &log_cosh);
            else EACH_ROW o[i] = 1.0;
            for (int64_t j = 0; j < H - 1; j++)
                EACH_ROW M[j * R + i] += e->curvature[l * H + j] * o[i];
        }
        for (int64_t j = 0; j < h; j++) {
            double *own = M + (PAIRS(j + 1) - 1) * R, *side = M + (PAIRS(h) + j) * R;
            EACH_ROW own[i] += tau[j], side[i] += linear[j * R + i];
        }
        settle(h, m->diagonal, M, det, odd, diagonal);
        EACH_ROW M[(H - 1) * R + i] = 1.0;
        memset(second, 0, sizeof(double) * (size_t)(L * R)), predict(L, H, M, e->squares, second);
    }
    for (int64_t l = 0; l < L; l++) {
        double *o = omega + l * R, *s = second + l * R, *reach = e->reach + l * R;
        if (m->classes) EACH_ROW o[i] = reach[i] * jaakkola(s[i], &log_cosh), E[i] -= reach[i] * log_cosh;
        else EACH_ROW E[i] -= 0.5 * s[i];
    }
    for (int64_t j = 0; j < h; j++) {
        const double *square = M + (PAIRS(j + 1) - 1) * R;
        EACH_ROW E[i] += linear[j * R + i] * border[j * R + i] - 0.5 * tau[j] * square[i];
    }
    EACH_ROW E[i] += 0.5 * ((double)h * (1.0 + LOG_2PI) - log1(det[i]));
}

/* AbstractLatentPosterior.sufficient_stats: sums of products by stick, and of u. */
INLINE void add_output(const Network *m, const Evidence *e, const double *sums, const double *u, Sums *out) {
    const int64_t D = m->h + 1, H = PAIRS(D);
    const double *total = u + m->h * R;
    double one[R], square[R];
    EACH_ROW one[i] = 1.0;
    for (int64_t j = 0; j < e->sticks * H; j++) out->xx[j] += sum_of(sums + j * R, one);
    for (int64_t o = 0; o < m->O; o++) {
        const double *kappa = e->kappa + o * R;
        for (int64_t d = 0; d < D; d++) out->xy[o * D + d] += sum_of(kappa, u + d * R);
        EACH_ROW square[i] = kappa[i] * kappa[i];
        if (!m->classes) out->yy[o] += sum_of(square, total);
    }
    if (!m->classes) out->w[0] += sum_of(total, one);
}

/* Network._piece: sums over the rows in `out`; returns the rows' part of the bound. */
CLONES static double network_rows(const Network *m, Sums *out, Room *room) {
    const int64_t K = m->K, p = m->p, q = m->q, h = m->h, D = h + 1, H = PAIRS(D), n = m->n;
    const Part *experts = m->part + EXPERTS, *gate = m->part + GATE;
    Evidence e = evidence_of(m, room);
    const int64_t L = e.sticks;
    double *we = take(room, K * PAIRS(p)), *wg = take(room, K * PAIRS(q));
    double *x = take(room, (p + PAIRS(p)) * R), *z = take(room, (q + PAIRS(q)) * R);
    double *E = take(room, K * R), *T = take(room, K * R), *S = take(room, K * R);
    double *at = take(room, K * h * R), *M = take(room, K * H * R), *omega = take(room, K * L * R);
    double *work = take(room, (2 * h + L) * R), *sums = take(room, L * H * R), *u = take(room, D * R);
    double odd[R] = {0.0}, one[R], weight[R], common[R], bound = 0.0;
    if (room->failed) return INFINITY;
    EACH_ROW one[i] = 1.0;
    EACH_COMPONENT weigh_pairs(experts->C + k * p * p, p, -0.5 * (double)h, we + k * PAIRS(p));
    for (int64_t k = 0; k < K - 1; k++) weigh_pairs(gate->C + k * q * q, q, 1.0, wg + k * PAIRS(q));
    for (int64_t first = 0; first < n; first += R) {
        const double *xx = features(m->X, n, first, p, x), *zz = features(m->Z, n, first, q, z);
        case_weights(m->weighted ? m->weight : NULL, n, first, weight);
        memset(T, 0, sizeof(double) * (size_t)(K * R)), memset(S, 0, sizeof(double) * (size_t)(K * R));
        predict(K - 1, q, z, gate->mean, T), predict(K - 1, PAIRS(q), zz, wg, S);
        stick_weights(K, m->order, T, S, E);
        predict(K, PAIRS(p), xx, we, E);
        memset(at, 0, sizeof(double) * (size_t)(K * h * R));
        predict(K * h, p, x, experts->mean, at);
        EACH_ROW common[i] = 0.0;
        read_responses(m, first, &e, common);
        EACH_COMPONENT { /* LatentExperts.local */
            const double *tau = experts->tau + k * h, peak = 0.5 * (experts->elt[k] - (double)h * LOG_2PI);
            double *own = E + k * R, *place = at + k * h * R;
            EACH_ROW own[i] += peak + common[i];
            for (int64_t j = 0; j < h; j++)
                EACH_ROW own[i] -= 0.5 * tau[j] * place[j * R + i] * place[j * R + i];
            latent_rows(m, &e, tau, place, M + k * H * R, omega + k * L * R, own, odd, work);
        }
        bound += responsibilities(K, E, weight);
        memset(sums, 0, sizeof(double) * (size_t)(L * H * R)), memset(u, 0, sizeof(double) * (size_t)(D * R));
        EACH_COMPONENT {
            double *r = E + k * R, *own = M + k * H * R, *end = own + PAIRS(h) * R;
            for (int64_t l = 0; l < L; l++) {
                double *o = omega + (k * L + l) * R;
                EACH_ROW o[i] *= r[i];
                for (int64_t j = 0; j < H; j++)
                    EACH_ROW sums[(l * H + j) * R + i] += o[i] * own[j * R + i];
            }
            for (int64_t j = 0; j < h; j++)
                out[EXPERTS].yy[k * h + j] += sum_of(r, own + (PAIRS(j + 1) - 1) * R);
            for (int64_t j = 0; j < D; j++) EACH_ROW end[j * R + i] *= r[i], u[j * R + i] += end[j * R + i];
            for (int64_t j = 0; j < h; j++) copy(at + (k * h + j) * R, end + j * R, R);
            out[EXPERTS].w[k] += sum_of(end + h * R, one);
        }
        add_sums(K, PAIRS(p), xx, E, out[EXPERTS].xx), add_sums(K * h, p, x, at, out[EXPERTS].xy);
        stick_sums(K, m->order, E, T, S);
        add_sums(K - 1, PAIRS(q), zz, S, out[GATE].xx), add_sums(K - 1, q, z, T, out[GATE].xy);
        add_output(m, &e, sums, u, &out[OUTPUT]);
    }
    for (int64_t i = 0; i < R; i++) bound = odd[i] > 0.0 ? INFINITY : bound;
    return bound;
}

static double network_sweep(Network *m, double *in, double *out, Room *room) {
    Sums here[PARTS], following[PARTS];
    double kl = 0.0, bound = 0.0, *end = out;
    for (int i = 0; i < PARTS; i++) {
        in = layout(m->part + i, in, here + i), end = layout(m->part + i, end, following + i);
        if (!learn_part(m->part + i, m->part[i].prior, here + i, room)) return room->failed ? INFINITY : NAN;
        settle_part(m->part + i);
        kl += divergence_of(m->part + i, m->part[i].prior);
    }
    if (m->stage != END) {
        memset(out, 0, sizeof(double) * (size_t)(end - out));
        bound = network_rows(m, following, room);
    }
    return bound < INFINITY && m->stage != ROWS ? bound - kl : bound;
}

/* The network that the buffers describe; zero unless all lengths are as the sizes say. */
static int read_network(Network *m, const Py_buffer *v) {
    Cursor head = over(v), prior = over(v + 1), rows = over(v + 2), in = over(v + 3), out = over(v + 4);
    const Size own[] = {
        {&m->n, 0, MOST_ROWS}, {&m->stage, 0, END}, {&m->K, 1, MOST}, {&m->p, 1, MOST}, {&m->q, 1, MOST},
        {&m->h, 1, MOST}, {&m->O, 1, MOST}, {&m->inner, 1, MOST}, {&m->classes, 0, 1}, {&m->diagonal, 0, MOST},
        {&m->weighted, 0, 1}};
    if (!READ_SIZES(&head, own)) return 0;
    const int64_t n = m->n, K = m->K, p = m->p, q = m->q, h = m->h, O = m->O, D = h + 1, noisy = !m->classes;
    m->order = next_places(&head, K, K);
    const double *noise = next(&prior, 1), *rates = next(&prior, h), *experts = next(&prior, p);
    const double *gate = next(&prior, q), *centre = next(&prior, (K - 1) * q), *output = next(&prior, D);
    const double *last = next(&prior, noisy ? 1 + O : O * D);
    m->y = next(&rows, (noisy ? O : 1) * n), m->weight = next(&rows, m->weighted * n);
    m->X = next(&rows, p * n), m->Z = next(&rows, q * n);
    if (!used_up(&head) || !used_up(&prior) || !used_up(&rows)) return 0;
    m->part[EXPERTS] = (Part){.n = K, .r = h, .d = p, .a0 = *noise, .b0 = rates, .prior = experts};
    m->part[GATE] = (Part){.n = K - 1, .r = 1, .d = q, .prior = gate, .m0 = centre};
    m->part[OUTPUT] = noisy ? (Part){.n = 1, .r = O, .d = D, .prior = output, .a0 = *last, .b0 = last + 1}
                            : (Part){.n = O, .r = 1, .d = D, .prior = output, .m0 = last};
    for (int i = 0; i < PARTS; i++) next(&in, length(m->part + i)), next(&out, length(m->part + i));
    next(&out, m->stage ? K : 0);
    return used_up(&in) && used_up(&out);
}

typedef struct { /* FullGaussianExperts with constant weights, and rows; terms of log densities */
    int64_t n, stage, K, d, weighted;
    const double *law, *m0, *scatter, *weight, *X;
    double *constant, *linear, *square;
    Part gate;
} Joint;

/* NormalWishart.posterior of one component from its sums, and its divergence; NaN outside the domain. */
static double learn_gaussian(const Joint *m, int64_t k, double w, const double *x, const double *xx, double *work) {
    const int64_t d = m->d;
    const double strength = m->law[0] + w, dof = m->law[1] + w, size = (double)d;
    double *A = work, *W = A + d * d, *mean = W + d * d, *shift = mean + d, *linear = m->linear + k * d;
    double ld, log_det, kl, trace = 0.0, pull = 0.0;
    if (!positive(strength) || !positive(dof - size + 1.0)) return NAN;
    for (int64_t j = 0; j < d; j++) mean[j] = (m->law[0] * m->m0[j] + x[j]) / strength, shift[j] = mean[j] - m->m0[j];
    unpack(xx, NULL, d, A);
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < d; j++)
            A[i * d + j] += m->scatter[i * d + j] - mean[i] * x[j] - x[i] * mean[j] + w * mean[i] * mean[j]
                + m->law[0] * shift[i] * shift[j];
    if (!invert(A, d, W, &ld, shift + d)) return NAN;
    trace = dot(m->scatter, W, d * d);
    for (int64_t j = 0; j < d; j++) linear[j] = dof * dot(W + j * d, mean, d), pull += shift[j] * dot(W + j * d, shift, d);
    weigh_pairs(W, d, -0.5 * dof, m->square + k * PAIRS(d));
    log_det = size * log(2.0) - ld;
    kl = 0.5 * (m->law[1] * (size * log(2.0) + m->law[2]) - dof * log_det);
    for (int64_t j = 0; j < d; j++) {
        const double half = 0.5 * (dof - (double)j);
        log_det += digamma(half), kl += lgamma(0.5 * (m->law[1] - (double)j)) - lgamma(half);
    }
    m->constant[k] = 0.5 * (log_det - size / strength - size * LOG_2PI - dot(mean, linear, d));
    kl += 0.5 * size * (m->law[0] / strength - 1.0 - log(m->law[0] / strength));
    return kl + 0.5 * (m->law[0] * dof * pull + w * log_det + dof * (trace - size));
}

/* Mixture.e_step: sums over the rows in `out`; returns the rows' part of the bound. */
CLONES static double joint_rows(const Joint *m, double *out, Room *room) {
    const int64_t K = m->K, d = m->d, n = m->n;
    double *x = take(room, (d + PAIRS(d)) * R), *E = take(room, K * R), one[R], weight[R], bound = 0.0;
    if (room->failed) return INFINITY;
    EACH_ROW one[i] = 1.0;
    for (int64_t first = 0; first < n; first += R) {
        const double *xx = features(m->X, n, first, d, x);
        case_weights(m->weighted ? m->weight : NULL, n, first, weight);
        EACH_COMPONENT EACH_ROW E[k * R + i] = m->constant[k];
        predict(K, d, x, m->linear, E), predict(K, PAIRS(d), xx, m->square, E);
        bound += responsibilities(K, E, weight);
        add_sums(K, 1, one, E, out), add_sums(K, d, x, E, out + K), add_sums(K, PAIRS(d), xx, E, out + K + K * d);
    }
    return bound;
}

static double joint_sweep(Joint *m, const double *in, double *out, Room *room) {
    const int64_t K = m->K, d = m->d;
    const double *x = in + K, *xx = x + K * d;
    Sums shares = {.w = (double *)xx + K * PAIRS(d)};
    double *work = take(room, 2 * (d * d + tiled(d) * tiled(d)) + 2 * d), *gate = out + (shares.w - in), kl, bound = 0.0;
    m->gate.sh = take(room, K), m->gate.elt = take(room, K);
    m->constant = take(room, K), m->linear = take(room, K * d), m->square = take(room, K * PAIRS(d));
    if (room->failed) return INFINITY;
    if (!learn_weights(&m->gate, &shares)) return NAN;
    kl = divergence_of_weights(&m->gate);
    EACH_COMPONENT {
        kl += learn_gaussian(m, k, in[k], x + k * d, xx + k * PAIRS(d), work);
        m->constant[k] += m->gate.elt[k];
    }
    if (isnan(kl)) return NAN;
    if (m->stage != END) {
        memset(out, 0, sizeof(double) * (size_t)(gate - out));
        bound = joint_rows(m, out, room);
        copy(gate, out, K);
    }
    bound -= m->stage == ROWS ? 0.0 : kl;
    return fabs(bound) < INFINITY || room->failed ? bound : NAN;
}

/* The mixture that the buffers describe; zero unless all lengths are as the sizes say. */
static int read_joint(Joint *m, const Py_buffer *v) {
    Cursor head = over(v), prior = over(v + 1), rows = over(v + 2), in = over(v + 3), out = over(v + 4);
    const Size own[] = {{&m->n, 0, MOST_ROWS}, {&m->stage, 0, END}, {&m->K, 1, MOST}, {&m->d, 1, MOST},
                        {&m->weighted, 0, 1}};
    if (!READ_SIZES(&head, own)) return 0;
    const int64_t n = m->n, K = m->K, d = m->d, used = K * (2 + d + PAIRS(d));
    m->law = next(&prior, 3), m->m0 = next(&prior, d), m->scatter = next(&prior, d * d);
    m->gate = (Part){.n = K, .b0 = next(&prior, K)};
    m->weight = next(&rows, m->weighted * n), m->X = next(&rows, d * n);
    next(&in, used), next(&out, used + (m->stage ? K : 0));
    return used_up(&head) && used_up(&prior) && used_up(&rows) && used_up(&in) && used_up(&out);
}

typedef struct { /* arrays of drawn_probabilities */
    int64_t n, draws, K, h, L, P;
    const double *limits, *coefficients, *variance, *points, *log_weights, *location;
} Drawn;

/* Logits of the points of an expert's latent noise, as exp(-logit), and how far a stick's reach. */
INLINE void drawn_points(const Drawn *m, const double *beta, const double *variance, double *away,
                         double *factor, double *reach) {
    const int P = (int)m->P;
    EACH(P) factor[i] = 1.0 / (double)P;
    for (int64_t l = 0; l < m->L; l++, away += P, factor += P) {
        double most = 0.0;
        EACH(P) away[i] = 0.0;
        for (int64_t j = 0; j < m->h; j++) {
            const double slope = beta[l * (m->h + 1) + j] * sqrt(variance[j]), *at = m->points + j * P;
            EACH(P) away[i] += slope * at[i];
        }
        for (int i = 0; i < P; i++) most = fabs(away[i]) > most ? fabs(away[i]) : most;
        EACH(P) away[i] = exp1(-away[i]), factor[P + i] = factor[i] * away[i];
        reach[l] = most;
    }
}

/* class_probabilities._stick_products of some rows: their exp(-logit) in `pass`, 1 / P and products
 * of those of the points in `factor`. One division a point: the inverse product of all sticks, from
 * which the products of fewer follow. */
INLINE void stick_means(const Drawn *m, int lanes, const double *pass, const double *away,
                        const double *factor, double *mean) {
    memset(mean, 0, sizeof(double) * (size_t)((m->L + 1) * R));
    for (int64_t t = 0; t < m->P; t++) {
        double inverse[R];
        EACH(lanes) inverse[i] = 1.0;
        for (int64_t l = 0; l < m->L; l++) {
            double at = away[l * m->P + t];
            EACH(lanes) inverse[i] *= 1.0 + pass[l * R + i] * at;
        }
        EACH(lanes) inverse[i] = 1.0 / inverse[i], mean[m->L * R + i] += factor[m->L * m->P + t] * inverse[i];
        for (int64_t l = m->L - 1; l >= 0; l--) {
            double at = away[l * m->P + t], share = factor[l * m->P + t];
            EACH(lanes) mean[l * R + i] += share * inverse[i], inverse[i] *= 1.0 + pass[l * R + i] * at;
        }
    }
}

/* class_probabilities.drawn_probabilities; infinite where products of sticks may overflow. */
CLONES static double drawn_rows(const Drawn *m, double *out, Room *room) {
    const double certain = m->limits[0], least = m->limits[1], largest = m->limits[2];
    const int64_t n = m->n, L = m->L, h = m->h, D = h + 1;
    double *away = take(room, L * m->P), *reach = take(room, L), *pass = take(room, L * R);
    double *mean = take(room, (L + 1) * R), *factor = take(room, (L + 1) * m->P), weight[R];
    if (room->failed) return INFINITY;
    memset(out, 0, sizeof(double) * (size_t)(m->draws * (L + 1) * n));
    for (int64_t at = 0; at < m->draws * m->K; at++) {
        const double *beta = m->coefficients + at / m->K * L * D, *place = m->location + at * h * n;
        double *found = out + at / m->K * (L + 1) * n, total = 0.0;
        drawn_points(m, beta, m->variance + at * h, away, factor, reach);
        for (int64_t l = 0; l < L; l++) total += certain + 2.0 * reach[l];
        if (!(total <= largest)) return INFINITY;
        for (int64_t row = 0, which[R]; row < n;) {
            int64_t here = 0;
            for (; row < n && here < R; row++)
                if (m->log_weights[at * n + row] > least) which[here++] = row;
            const int lanes = (int)(here + 7) / 8 * 8; /* a register's worth of rows, or several */
            for (int64_t i = 0; i < lanes; i++) weight[i] = i < here ? m->log_weights[at * n + which[i]] : 0.0;
            EACH(lanes) weight[i] = exp1(weight[i]);
            for (int64_t l = 0; l < L; l++) {
                double *own = pass + l * R, most = certain + reach[l];
                EACH(lanes) own[i] = beta[l * D + h];
                for (int64_t j = 0; j < h; j++)
                    for (int64_t i = 0; i < here; i++)
                        own[i] += beta[l * D + j] * place[j * n + which[i]];
                EACH(lanes) own[i] = own[i] > most ? most : own[i] < -most ? -most : own[i];
                EACH(lanes) own[i] = exp1(-own[i]);
            }
            stick_means(m, lanes, pass, away, factor, mean);
            for (int64_t l = 0; l <= L; l++) {
                for (int64_t i = 0; i < here; i++) found[l * n + which[i]] += weight[i] * mean[l * R + i];
                if (l < L) EACH(lanes) weight[i] *= pass[l * R + i];
            }
        }
    }
    for (int64_t s = 0; s < m->draws; s++)
        for (int64_t row = 0; row < n; row++) {
            double *found = out + s * (L + 1) * n + row, total = 0.0;
            for (int64_t l = 0; l <= L; l++) total += found[l * n];
            for (int64_t l = 0; l <= L; l++) found[l * n] /= total;
        }
    return 0.0;
}

/* The arrays of the buffers; zero unless all lengths are as the sizes say. */
static int read_drawn(Drawn *m, const Py_buffer *v) {
    Cursor head = over(v), small = over(v + 1), weights = over(v + 2), rows = over(v + 3), out = over(v + 4);
    const Size own[] = {{&m->n, 0, MOST_ROWS}, {&m->draws, 0, MOST_ROWS}, {&m->K, 1, MOST}, {&m->h, 1, MOST},
                        {&m->L, 1, MOST}, {&m->P, 1, MOST}};
    if (!READ_SIZES(&head, own)) return 0;
    const int64_t experts = m->draws * m->K, L = m->L, h = m->h;
    m->limits = next(&small, 3), m->coefficients = next(&small, m->draws * L * (h + 1));
    m->variance = next(&small, experts * h), m->points = next(&small, m->P * h);
    m->log_weights = next(&weights, experts * m->n), m->location = next(&rows, experts * h * m->n);
    next(&out, m->draws * (L + 1) * m->n);
    return used_up(&head) && used_up(&small) && used_up(&weights) && used_up(&rows) && used_up(&out);
}

/* Rooms of earlier calls, as fresh pages take a tenth of a sweep of 200 columns; under the lock of the
 * interpreter. */
static Room spare[MOST_SPARE];
static int n_spare;

static PyObject *call(PyObject *args, double (*run)(const Py_buffer *, Room *, int *)) {
    Py_buffer v[5];
    Room room = {{NULL}, NULL, 0, 0, 0, 0};
    double bound;
    int known = 0;
    if (!PyArg_ParseTuple(args, "y*y*y*y*w*", v, v + 1, v + 2, v + 3, v + 4)) return NULL;
    if (n_spare) room = spare[--n_spare];
    Py_BEGIN_ALLOW_THREADS
    bound = run(v, &room, &known);
    while (room.n) free(room.held[--room.n]);
    if (room.used > room.size) {
        free(room.base);
        room.base = malloc((size_t)room.used + 64), room.size = room.base ? room.used : 0;
    }
    Py_END_ALLOW_THREADS
    room.used = room.failed = 0;
    if (n_spare < MOST_SPARE) spare[n_spare++] = room;
    else free(room.base);
    for (int i = 0; i < 5; i++) PyBuffer_Release(v + i);
    if (known) return PyFloat_FromDouble(bound);
    PyErr_SetString(PyExc_ValueError, "lengths of the arrays do not agree with the sizes");
    return NULL;
}

/* A function of the module: reads the buffers as a `Type`, then computes. */
#define METHOD(name, Type, computed)                                                   \
    static double run_##name(const Py_buffer *v, Room *room, int *known) {             \
        Type m;                                                                        \
        *known = read_##name(&m, v);                                                   \
        return *known ? (computed) : NAN;                                              \
    }                                                                                  \
    static PyObject *py_##name(PyObject *self, PyObject *args) {                       \
        (void)self;                                                                    \
        return call(args, run_##name);                                                 \
    }

METHOD(model, Model, sweep(&m, v[3].buf, v[4].buf, room))
METHOD(network, Network, network_sweep(&m, v[3].buf, v[4].buf, room))
METHOD(joint, Joint, joint_sweep(&m, v[3].buf, v[4].buf, room))
METHOD(drawn, Drawn, drawn_rows(&m, v[4].buf, room))

static PyMethodDef methods[] = {
    {"sweep", py_model, METH_VARARGS, "Bound of a sweep; what follows it in the last array."},
    {"network", py_network, METH_VARARGS, "The same for a network."},
    {"joint", py_joint, METH_VARARGS, "The same for a mixture of Gaussians."},
    {"drawn", py_drawn, METH_VARARGS, "Probabilities of classes by draw, in the last array."},
    {NULL, NULL, 0, NULL},
};

static int name_interface(PyObject *core) { return PyModule_AddIntConstant(core, "INTERFACE", INTERFACE); }

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)name_interface}, {0, NULL}};

static PyModuleDef module = {PyModuleDef_HEAD_INIT, "compiled_sweep", NULL, 0, methods, slots, NULL,
                             NULL, NULL};

PyMODINIT_FUNC PyInit_compiled_sweep(void) { return PyModuleDef_Init(&module); }
