/* The trial loop in plain C, as fast as it gets: hard votes plus threshold experts, top rival, one learner.

   Votes are unsigned bytes, and an abstention is a code of its own, so that no vote takes a branch: the score of
   that code is never read. Votes are added to two sums in turn, which need not wait for one another. An update
   adds q[vote], which is 1, -1 or 0. Weights of n + k sub-experts; Winnow reads its weights from a table of
   powers, since theta is a whole number. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#define CODES 256

static long guess_of(const uint8_t *row, long n, long k, const double *w, double *scores) {
    double *others = scores + CODES;
    for (long c = 0; c < k; c++) scores[c] = others[c] = 0.0;
    long i = 0;
    for (; i + 1 < n; i += 2) {
        scores[row[i]] += w[i];
        others[row[i + 1]] += w[i + 1];
    }
    if (i < n) scores[row[i]] += w[i];
    long guess = 0;
    double top = scores[0] += others[0] + w[n];
    for (long c = 1; c < k; c++) {
        const double score = scores[c] + others[c] + w[n + c];
        const int up = score > top;
        top = up ? score : top;
        guess = up ? c : guess;
    }
    return guess;
}

long perceptron(const uint8_t *votes, const int32_t *labels, long T, long n, long k, double *w, double eta,
                double *scores) {
    double q[CODES] = {0};
    long mistakes = 0;
    for (long t = 0; t < T; t++) {
        const uint8_t *row = votes + t * n;
        const long y = labels[t], g = guess_of(row, n, k, w, scores);
        if (g == y) continue;
        mistakes++;
        q[y] = 1.0;
        q[g] = -1.0;
        for (long i = 0; i < n; i++) w[i] += q[row[i]];
        w[n + y] += 1.0;
        w[n + g] -= 1.0;
        q[y] = q[g] = 0.0;
    }
    return mistakes;
}

#define RANGE 4096 /* theta stays within it on the problems that are measured; beyond, weights are no longer numbers */

long winnow(const uint8_t *votes, const int32_t *labels, long T, long n, long k, double *w, double eta,
            double *scores) {
    static int32_t theta[1 << 20];
    static double powers[2 * RANGE + 1];
    const double *table = powers + RANGE;
    for (long j = -RANGE; j <= RANGE; j++) powers[RANGE + j] = exp(eta * j);
    int32_t q[CODES] = {0};
    long mistakes = 0;
    memset(theta, 0, (n + k) * sizeof(int32_t));
    for (long i = 0; i < n + k; i++) w[i] = table[0];
    for (long t = 0; t < T; t++) {
        const uint8_t *row = votes + t * n;
        const long y = labels[t], g = guess_of(row, n, k, w, scores);
        if (g == y) continue;
        mistakes++;
        q[y] = 1;
        q[g] = -1;
        for (long i = 0; i < n; i++) w[i] = table[theta[i] += q[row[i]]];
        w[n + y] = table[theta[n + y] += 1];
        w[n + g] = table[theta[n + g] -= 1];
        q[y] = q[g] = 0;
    }
    return mistakes;
}
