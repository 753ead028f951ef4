"""exp, log and cos of vectors, by polynomials: the same bits on every machine, compiled or not."""

from linmax._jit.compilation import inline
from linmax._jit.vectors import exponents, mantissas, maximum, power_of_two, where_above

LOWEST = -70.0  # what is less counts as this, since arithmetic on denormal numbers is slow
LN2 = 0.6931471805599453
_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 6.93145751953125e-1, 1.42860682030941723212e-6
_ROUND = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to an integer, which is in the low bits
_C2, _C3, _C4 = 0.5000000067839765, 0.1666666586700766, 0.04166629436435052  # of least relative error
_C5, _C6, _C7 = 0.008333497340973932, 0.0013944703588161405, 0.00019790298119014987
_SQRT2 = 1.4142135623730951
_TWO_PI_SQUARED = 39.47841760435743
_K2, _K4, _K6, _K8, _K10, _K12 = 1.0 / 2, 1.0 / 24, 1.0 / 720, 1.0 / 40320, 1.0 / 3628800, 1.0 / 479001600


@inline
def exp_of(x):
    """Return exp of numbers up to 700, to 6e-11; of those below LOWEST exp(LOWEST)."""
    y = maximum(x, LOWEST)
    t = y * _LOG2_E + _ROUND
    n = t - _ROUND
    r = (y - n * _LN2_HIGH) - n * _LN2_LOW
    r2 = r * r
    r4 = r2 * r2
    low = (r * _C3 + _C2) + (r * _C5 + _C4) * r2
    high = r * _C7 + _C6
    return ((high * r4 + low) * r2 + r + 1.0) * power_of_two(t)


@inline
def log_of(x):
    """Return log of positive normal numbers, to 2 units in the last place (fdlibm)."""
    e = exponents(x)
    m = mantissas(x)
    large = where_above(m, _SQRT2, 1.0, 0.0)
    m = m - m * 0.5 * large
    f = m - 1.0
    s = f / (f + 2.0)
    z = s * s
    w = z * z
    even = w * (w * (w * 1.531383769920937332e-01 + 2.222219843214978396e-01) + 3.999999999940941908e-01)
    odd = z * (
        w * (w * (w * 1.479819860511658591e-01 + 1.818357216161805012e-01) + 2.857142874366239149e-01)
        + 6.666666666666735130e-01
    )
    half = f * f * 0.5
    return (e + large) * LN2 - (half - s * (half + (even + odd)) - f)


@inline
def cos_of_turns(x):
    """Return cos(2 pi x) of numbers up to 1e9, to 2e-4."""
    turns = (x + _ROUND) - _ROUND
    u = x - turns
    v = u * u * _TWO_PI_SQUARED
    tail = v * (v * (v * _K12 - _K10) + _K8) - _K6
    return v * (v * (v * tail + _K4) - _K2) + 1.0
