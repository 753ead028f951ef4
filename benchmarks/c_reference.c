/* The trial loop in plain C: hard votes plus threshold experts, top rival, one learner. Weights of n + k sub-experts. */
#include <math.h>
#include <stdint.h>

#define HIGH 300.0
#define LOST (1.0 / 65536.0)

static long guess_of(const int32_t *row, long n, long k, const double *w, double *scores) {
    for (long c = 0; c < k; c++) scores[c] = 0.0;
    for (long i = 0; i < n; i++)
        if (row[i] >= 0) scores[row[i]] += w[i];
    for (long c = 0; c < k; c++) scores[c] += w[n + c];
    long guess = 0;
    for (long c = 1; c < k; c++)
        if (scores[c] > scores[guess]) guess = c;
    return guess;
}

long perceptron(const int32_t *votes, const int32_t *labels, long T, long n, long k, double *w, double *theta,
                double eta, double *scores) {
    long mistakes = 0;
    for (long t = 0; t < T; t++) {
        const int32_t *row = votes + t * n;
        const long y = labels[t], g = guess_of(row, n, k, w, scores);
        if (g == y) continue;
        mistakes++;
        for (long i = 0; i < n; i++) {
            if (row[i] == y) w[i] += 1.0;
            else if (row[i] == g) w[i] -= 1.0;
        }
        w[n + y] += 1.0;
        w[n + g] -= 1.0;
    }
    return mistakes;
}

static double winnow_mass, winnow_shift, winnow_peak;

static void winnow_one(double *w, double *theta, double eta, double z) {
    *theta += z;
    winnow_mass -= *w;
    *w = exp(eta * *theta - winnow_shift);
    winnow_mass += *w;
}

static void winnow_settle(double *w, double *theta, double eta, long n) {
    double largest = theta[0];
    for (long i = 1; i < n; i++)
        if (theta[i] > largest) largest = theta[i];
    winnow_shift = eta * largest;
    winnow_mass = 0.0;
    for (long i = 0; i < n; i++) winnow_mass += w[i] = exp(eta * theta[i] - winnow_shift);
    winnow_peak = winnow_mass;
}

long winnow(const int32_t *votes, const int32_t *labels, long T, long n, long k, double *w, double *theta,
            double eta, double *scores) {
    long mistakes = 0;
    winnow_settle(w, theta, eta, n + k);
    for (long t = 0; t < T; t++) {
        const int32_t *row = votes + t * n;
        const long y = labels[t], g = guess_of(row, n, k, w, scores);
        if (g == y) continue;
        mistakes++;
        for (long i = 0; i < n; i++) {
            if (row[i] == y) winnow_one(w + i, theta + i, eta, 1.0);
            else if (row[i] == g) winnow_one(w + i, theta + i, eta, -1.0);
        }
        winnow_one(w + n + y, theta + n + y, eta, 1.0);
        winnow_one(w + n + g, theta + n + g, eta, -1.0);
        if (winnow_mass > exp(HIGH) || winnow_mass < LOST * winnow_peak) winnow_settle(w, theta, eta, n + k);
        if (winnow_mass > winnow_peak) winnow_peak = winnow_mass;
    }
    return mistakes;
}

static double balanced_mass, balanced_shift, balanced_peak, balanced_one_squared;

static void balanced_one(double *w, double *theta, double eta, double z) {
    balanced_mass -= sqrt(*w * *w + balanced_one_squared);
    *theta += z;
    const double x = eta * *theta;
    const double up = exp(x - balanced_shift), down = exp(-x - balanced_shift);
    *w = (up - down) / 2.0;
    balanced_mass += (up + down) / 2.0;
}

static void balanced_settle(double *w, double *theta, double eta, long n) {
    double largest = 0.0;
    for (long i = 0; i < n; i++)
        if (fabs(theta[i]) > largest) largest = fabs(theta[i]);
    balanced_shift = eta * largest;
    balanced_one_squared = exp(-2.0 * balanced_shift);
    balanced_mass = 0.0;
    for (long i = 0; i < n; i++) {
        const double up = exp(eta * theta[i] - balanced_shift), down = exp(-eta * theta[i] - balanced_shift);
        w[i] = (up - down) / 2.0;
        balanced_mass += (up + down) / 2.0;
    }
    balanced_peak = balanced_mass;
}

long balanced(const int32_t *votes, const int32_t *labels, long T, long n, long k, double *w, double *theta,
              double eta, double *scores) {
    long mistakes = 0;
    balanced_settle(w, theta, eta, n + k);
    for (long t = 0; t < T; t++) {
        const int32_t *row = votes + t * n;
        const long y = labels[t], g = guess_of(row, n, k, w, scores);
        if (g == y) continue;
        mistakes++;
        for (long i = 0; i < n; i++) {
            if (row[i] == y) balanced_one(w + i, theta + i, eta, 1.0);
            else if (row[i] == g) balanced_one(w + i, theta + i, eta, -1.0);
        }
        balanced_one(w + n + y, theta + n + y, eta, 1.0);
        balanced_one(w + n + g, theta + n + g, eta, -1.0);
        if (balanced_mass > exp(HIGH) || balanced_mass < LOST * balanced_peak) balanced_settle(w, theta, eta, n + k);
        if (balanced_mass > balanced_peak) balanced_peak = balanced_mass;
    }
    return mistakes;
}
