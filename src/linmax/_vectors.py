"""Vectors of eight numbers in kernels: `take`, `put`, `splat`, + - * /, `maximum`, `where_above`, `total`.

Compiled, a vector is a value of LLVM's type <8 x double> or <8 x float>, which the machine holds in as many
registers as it needs; loops over vectors are fast on every processor, without hints to the compiler. Nothing
is contracted or reordered: as Python, where a vector is an array of eight numbers, the same source gives the
same bits.
"""

import operator
from typing import Any

import numpy as np
from numba import types

from linmax._numba import State, disable_compilation

WIDTH = 8
SQUARABLE = 1e12  # the largest number of which squares are added in float32
ROOT_GUESS = 0x5F375A86  # minus half the bits of a float32, the bits of its inverse root to 4 %


def take(array: Any, at: Any) -> Any:
    """Return array[at : at + 8]; the array has one dimension, and is of float64 or float32."""
    return array[at : at + WIDTH].copy()


def put(array: Any, at: Any, vector: Any) -> None:
    """Assign a vector to array[at : at + 8]."""
    array[at : at + WIDTH] = vector


def get(array: Any, at: Any) -> Any:
    """Return array[at], where `at` is not negative: compiled, that is not looked at."""
    return array[at]


def get_alone(array: Any, at: Any) -> Any:
    """Do what `get` does; compiled, never for several numbers at once.

    A vector that is read right after its numbers were written one by one makes the processor wait.
    """
    return array[at]


def assign(array: Any, at: Any, x: Any) -> None:
    """Assign x to array[at], where `at` is not negative."""
    array[at] = x


def increase(array: Any, at: Any, x: Any) -> None:
    """Add x to array[at], where `at` is not negative."""
    array[at] += x


def slot(code: Any) -> Any:
    """Return the index of a class's number; an abstention, -1, has the last of the array.

    Compiled, the index of a code of one byte is that byte without a sign, so that nothing is looked at: the
    arrays that it indexes have 256 numbers or more.
    """
    return code


def splat(x: Any) -> Any:
    """Return a vector of eight times the same number."""
    return np.full(WIDTH, float(x))


def wide(a: Any) -> Any:
    """Return a vector of float64 with these numbers."""
    return a.astype(np.float64)


def maximum(a: Any, b: Any) -> Any:
    """Return the larger numbers of two vectors, or of a vector and a number."""
    return np.where(a > b, a, a.dtype.type(b) if np.ndim(b) == 0 else b)


def where_above(a: Any, b: Any, x: Any, y: Any) -> Any:
    """Return x where a > b, and y elsewhere; b, x and y may be numbers."""
    return np.where(a > b, x, y).astype(a.dtype)


def total(a: Any) -> float:
    """Return the sum of the eight numbers, added in pairs."""
    b = a[:4] + a[4:]
    c = b[:2] + b[2:]
    return float(c[0] + c[1])


def largest(a: Any) -> float:
    """Return the largest of the eight numbers."""
    return float(a.max())


def power_of_two(a: Any) -> Any:
    """Return 2^n for numbers n + 1.5 * 2^52, with the integer n in the low bits."""
    return np.exp2(a - 6755399441055744.0)


def exponents(a: Any) -> Any:
    """Return e of positive normal numbers m 2^e, 1 <= m < 2, of float64."""
    return np.frexp(a)[1] - 1.0


def mantissas(a: Any) -> Any:
    """Return m of positive normal numbers m 2^e, 1 <= m < 2, of float64."""
    return 2.0 * np.frexp(a)[0]


def over_root(z: Any, x: Any) -> Any:
    """Return z / sqrt(x), of vectors or numbers.

    In float32 it is right to 1.1e-4, by one step of Halley's method from a guess by the bits of x.
    """
    if z.dtype == np.float64:
        return z / np.sqrt(x)
    y = (np.int32(ROOT_GUESS) - (x.view(np.int32) >> 1)).view(np.float32)
    e = 1.0 - x * y * y
    return z * (y + y * e * (e * 0.375 + 0.5))


def like(array: Any, a: Any) -> Any:
    """Return a vector, or a number, of the type of an array (of a NamedTuple: of its field `cells`)."""
    return np.asarray(a).astype(array.dtype)[()]


def squarable(array: Any, a: Any) -> Any:
    """Do what `like` does; in float32 the numbers are limited, so that sums of their squares stay finite."""
    return like(array, a if array.dtype == np.float64 else np.clip(a, -SQUARABLE, SQUARABLE))


if State.compiles:
    try:
        from llvmlite import ir
        from numba.core.cgutils import get_or_insert_function
        from numba.extending import lower_builtin, models, register_model, type_callable
    except ImportError as missing:
        disable_compilation(missing)

if State.compiles:
    _index = ir.IntType(32)
    ROOT, ROOT_OF_ONE = "llvm.sqrt.v8f64", "llvm.sqrt.f64"

    class Vector(types.Type):
        """The type of eight numbers.

        Parameters
        ----------
        element : numba.types.Float
            The type of one.
        """

        def __init__(self, element: Any) -> None:
            self.element = element
            super().__init__(f"linmax.Vector({element})")

    doubles, floats = Vector(types.float64), Vector(types.float32)
    LLVM = {types.float64: ir.DoubleType(), types.float32: ir.FloatType()}

    @register_model(Vector)
    class _Model(models.PrimitiveModel):
        def __init__(self, manager: Any, kind: Any) -> None:
            super().__init__(manager, kind, ir.VectorType(LLVM[kind.element], WIDTH))  # type: ignore[no-untyped-call]

    def _lanes(of: Any, values: list[Any]) -> Any:
        return ir.Constant(ir.VectorType(of, len(values)), [ir.Constant(of, value) for value in values])

    def _spread(context: Any, builder: Any, value: Any, kind: Any, vector: Any) -> Any:
        """Return a vector; a number is repeated."""
        if isinstance(kind, Vector):
            return value
        undefined = ir.Constant(ir.VectorType(LLVM[vector.element], WIDTH), ir.Undefined)
        number = context.cast(builder, value, kind, vector.element)
        first = builder.insert_element(undefined, number, ir.Constant(_index, 0))
        return builder.shuffle_vector(first, undefined, _lanes(_index, [0] * WIDTH))

    def _all_spread(context: Any, builder: Any, sig: Any, arguments: Any) -> list[Any]:
        vector = next(kind for kind in sig.args if isinstance(kind, Vector))
        pairs = zip(arguments, sig.args, strict=True)
        return [_spread(context, builder, value, kind, vector) for value, kind in pairs]

    def _cell(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        """Return the pointer to array[at]."""
        data = context.make_array(sig.args[0])(context, builder, arguments[0]).data
        at = context.cast(builder, arguments[1], sig.args[1], types.int64)
        return builder.gep(data, [at], inbounds=True)

    def _cells(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        """Return the pointer to array[at : at + 8]."""
        cells = ir.VectorType(LLVM[sig.args[0].dtype], WIDTH).as_pointer()
        return builder.bitcast(_cell(context, builder, sig, arguments), cells)

    def _take(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        value = builder.load(_cells(context, builder, sig, arguments))
        value.align = sig.args[0].dtype.bitwidth // 8
        return value

    def _put(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        stored = builder.store(arguments[2], _cells(context, builder, sig, arguments))
        stored.align = sig.args[0].dtype.bitwidth // 8
        return context.get_dummy_value()

    def _get(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        return builder.load(_cell(context, builder, sig, arguments))

    def _get_alone(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        cell = _cell(context, builder, sig, arguments)
        return builder.load_atomic(cell, "monotonic", sig.args[0].dtype.bitwidth // 8)  # an ordinary load

    def _assign(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        x = context.cast(builder, arguments[2], sig.args[2], sig.args[0].dtype)
        builder.store(x, _cell(context, builder, sig, arguments))
        return context.get_dummy_value()

    def _increase(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        cell = _cell(context, builder, sig, arguments)
        x = context.cast(builder, arguments[2], sig.args[2], sig.args[0].dtype)
        builder.store(builder.fadd(builder.load(cell), x), cell)
        return context.get_dummy_value()

    def _slot(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        if sig.args[0] == types.int8:
            return builder.zext(arguments[0], ir.IntType(64))
        return context.cast(builder, arguments[0], sig.args[0], types.int64)

    def _splat(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        return _spread(context, builder, arguments[0], sig.args[0], doubles)

    def _wide(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        if sig.args[0] == doubles:
            return arguments[0]
        return builder.fpext(arguments[0], ir.VectorType(LLVM[types.float64], WIDTH))

    def _like(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        if not isinstance(sig.args[1], Vector):
            return context.cast(builder, arguments[1], sig.args[1], sig.return_type)
        if sig.return_type == doubles:
            return arguments[1]
        return builder.fptrunc(arguments[1], ir.VectorType(LLVM[types.float32], WIDTH))

    def _squarable(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        array, value = arguments
        if sig.return_type in (floats, types.float32):
            for sign, largest in (("<", SQUARABLE), (">", -SQUARABLE)):
                bound = _Bits(builder, value).number_of(largest)
                value = builder.select(builder.fcmp_ordered(sign, value, bound), value, bound)
        return _like(context, builder, sig, (array, value))

    def _maximum(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        x, y = _all_spread(context, builder, sig, arguments)
        return builder.select(builder.fcmp_ordered(">", x, y), x, y)

    def _where_above(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        a, b, x, y = _all_spread(context, builder, sig, arguments)
        return builder.select(builder.fcmp_ordered(">", a, b), x, y)

    def _reduced(builder: Any, value: Any, combine: Any) -> Any:
        """Combine the upper half of a vector with the lower one, until one number is left."""
        for half in (4, 2, 1):
            undefined = ir.Constant(value.type, ir.Undefined)
            low = builder.shuffle_vector(value, undefined, _lanes(_index, list(range(half))))
            high = builder.shuffle_vector(value, undefined, _lanes(_index, list(range(half, 2 * half))))
            value = combine(low, high)
        return builder.extract_element(value, ir.Constant(_index, 0))

    def _total(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        return _reduced(builder, arguments[0], builder.fadd)

    def _largest(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        def larger(a: Any, b: Any) -> Any:
            return builder.select(builder.fcmp_ordered(">", a, b), a, b)

        return _reduced(builder, arguments[0], larger)

    class _Bits:
        """The bits of a number or of a vector, and words to combine them with."""

        def __init__(self, builder: Any, value: Any) -> None:
            self.vector = isinstance(value.type, ir.VectorType)
            self.number = value.type.element if self.vector else value.type
            self.word = ir.IntType(64 if self.number == LLVM[types.float64] else 32)
            words = ir.VectorType(self.word, WIDTH) if self.vector else self.word
            self.bits = builder.bitcast(value, words)

        def of(self, word: int) -> Any:
            return _lanes(self.word, [word] * WIDTH) if self.vector else ir.Constant(self.word, word)

        def number_of(self, x: float) -> Any:
            return _lanes(self.number, [x] * WIDTH) if self.vector else ir.Constant(self.number, x)

    def _power_of_two(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        word = _Bits(builder, arguments[0])
        bits = builder.shl(builder.add(word.bits, word.of(1023)), word.of(52))
        return builder.bitcast(bits, arguments[0].type)

    def _exponents(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        word = _Bits(builder, arguments[0])
        bits = builder.or_(builder.lshr(word.bits, word.of(52)), word.of(0x4330000000000000))
        whole = builder.bitcast(bits, arguments[0].type)  # 2^52 + the exponent + 1023
        return builder.fsub(whole, word.number_of(4503599627370496.0 + 1023.0))

    def _mantissas(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        word = _Bits(builder, arguments[0])
        bits = builder.or_(builder.and_(word.bits, word.of(0x000FFFFFFFFFFFFF)), word.of(0x3FF0000000000000))
        return builder.bitcast(bits, arguments[0].type)

    def _over_root(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        z, x = arguments
        if sig.return_type in (doubles, types.float64):
            kind = ir.FunctionType(x.type, [x.type])
            name = ROOT if sig.return_type == doubles else ROOT_OF_ONE
            return builder.fdiv(z, builder.call(get_or_insert_function(builder.module, kind, name), [x]))  # type: ignore[no-untyped-call]
        word = _Bits(builder, x)
        bits = builder.sub(word.of(ROOT_GUESS), builder.lshr(word.bits, word.of(1)))
        y = builder.bitcast(bits, x.type)
        e = builder.fsub(word.number_of(1.0), builder.fmul(builder.fmul(x, y), y))
        slope = builder.fadd(builder.fmul(e, word.number_of(0.375)), word.number_of(0.5))
        return builder.fmul(z, builder.fadd(y, builder.fmul(builder.fmul(y, e), slope)))

    def _compile_as(python: Any, typer: Any, lower: Any) -> None:
        """Let kernels generate `lower(context, builder, sig, arguments)` for calls of `python`."""
        type_callable(python)(lambda context: typer)
        lower_builtin(python, types.VarArg(types.Any))(lower)  # type: ignore[no-untyped-call]

    def _arithmetic(name: str) -> Any:
        def lower(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
            return getattr(builder, name)(*_all_spread(context, builder, sig, arguments))

        return lower

    def _type_arithmetic(context: Any) -> Any:
        def typer(a: Any, b: Any) -> Any:
            vectors = [kind for kind in (a, b) if isinstance(kind, Vector)]
            others = [kind for kind in (a, b) if not isinstance(kind, Vector | types.Number)]
            return vectors[0] if vectors and vectors[0] == vectors[-1] and not others else None

        return typer

    def _same(a: Any) -> Any:
        return a if isinstance(a, Vector) else types.float64

    def _dtype_of(kind: Any) -> Any:
        return kind.dtype if isinstance(kind, types.Array) else kind[kind.fields.index("cells")].dtype

    def _type_like(array: Any, a: Any) -> Any:
        dtype = _dtype_of(array)
        return Vector(dtype) if isinstance(a, Vector) else dtype

    _compile_as(take, lambda array, at: doubles if array.dtype == types.float64 else floats, _take)
    _compile_as(put, lambda array, at, vector: types.none, _put)
    _compile_as(get, lambda array, at: array.dtype, _get)
    _compile_as(get_alone, lambda array, at: array.dtype, _get_alone)
    _compile_as(assign, lambda array, at, x: types.none, _assign)
    _compile_as(increase, lambda array, at, x: types.none, _increase)
    _compile_as(slot, lambda code: types.uint64 if code == types.int8 else types.int64, _slot)
    _compile_as(splat, lambda x: doubles, _splat)
    _compile_as(wide, lambda a: doubles, _wide)
    _compile_as(like, _type_like, _like)
    _compile_as(squarable, _type_like, _squarable)
    _compile_as(over_root, lambda z, x: z, _over_root)
    _compile_as(maximum, lambda a, b: a, _maximum)
    _compile_as(where_above, lambda a, b, x, y: a, _where_above)
    _compile_as(total, lambda a: a.element, _total)
    _compile_as(largest, lambda a: a.element, _largest)
    for _python, _lower in (
        (power_of_two, _power_of_two),
        (exponents, _exponents),
        (mantissas, _mantissas),
    ):
        _compile_as(_python, _same, _lower)
    for _operator, _name in (
        (operator.add, "fadd"),
        (operator.sub, "fsub"),
        (operator.mul, "fmul"),
        (operator.truediv, "fdiv"),
    ):
        type_callable(_operator)(_type_arithmetic)
        for _types in ((Vector, Vector), (Vector, types.Number), (types.Number, Vector)):
            lower_builtin(_operator, *_types)(_arithmetic(_name))  # type: ignore[no-untyped-call]
