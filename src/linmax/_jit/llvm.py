"""LLVM code of the functions of `linmax._jit.vectors` and `linmax._jit.memory` that kernels call.

This file imports numba, and is itself imported when something is compiled: see `numba_internals.load`.
"""

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.cgutils import get_or_insert_function
from numba.extending import intrinsic, lower_builtin, models, register_model, type_callable

from linmax._jit import memory as _memory
from linmax._jit import vectors as _vectors
from linmax._jit.vectors import ROOT_GUESS, SQUARABLE, WIDTH

# --- the arguments of stages, and integers by their address


class Bound(types.Type):
    """The type of the arguments that a stage finds in memory: a part of its signature, without a value.

    Parameters
    ----------
    arguments : numba.types.Tuple
        Their types.
    """

    def __init__(self, arguments: Any) -> None:
        self.arguments = arguments
        super().__init__(f"Bound({arguments})")

    @property
    def key(self) -> Any:
        """What makes two of these equal."""
        return self.arguments


register_model(Bound)(models.OpaqueModel)


def _integer(context: Any, builder: Any, sig: Any, arguments: Any, kind: Any) -> Any:
    return builder.inttoptr(arguments[0], context.get_value_type(kind).as_pointer())


def _read(kind: Any) -> Any:
    def lower(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        number = builder.load(_integer(context, builder, sig, arguments, kind))
        return context.cast(builder, number, kind, types.int64)

    return lower


def _write_int32(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
    number = context.cast(builder, arguments[1], sig.args[1], types.int32)
    builder.store(number, _integer(context, builder, sig, arguments, types.int32))
    return context.get_dummy_value()


@intrinsic
def _arguments_at(typingctx: Any, memory: Any, bound: Any) -> Any:
    """Read the arguments of a stage."""

    def codegen(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        pointer = context.get_value_type(bound.arguments).as_pointer()
        return builder.load(builder.inttoptr(arguments[0], pointer))

    return bound.arguments(memory, bound), codegen


def stage_of(kernel: Any) -> Any:
    """Return the function that runs a kernel on the arguments at an address."""

    def stage(memory: Any, begin: Any, end: Any, bound: Any) -> None:
        kernel(*_arguments_at(memory, bound), begin, end)  # type: ignore[call-arg]

    return stage


for _python, _kind in ((_memory.int64_at, types.int64), (_memory.int32_at, types.int32)):
    type_callable(_python)(lambda context: lambda address: types.int64)
    lower_builtin(_python, types.Integer)(_read(_kind))  # type: ignore[no-untyped-call]
type_callable(_memory.set_int32)(lambda context: lambda address, x: types.none)
lower_builtin(_memory.set_int32, types.Integer, types.Integer)(_write_int32)  # type: ignore[no-untyped-call]


# --- vectors of eight numbers

_index = ir.IntType(32)
ROOT, ROOT_OF_ONE = "llvm.sqrt.v8f64", "llvm.sqrt.f64"
PREFETCH = "llvm.prefetch.p0i8"
LOCALITY = 3  # into all caches


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


def _prefetch(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
    word, byte = ir.IntType(32), ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
    function = get_or_insert_function(builder.module, kind, PREFETCH)  # type: ignore[no-untyped-call]
    cell = builder.bitcast(_cell(context, builder, sig, arguments), byte)
    builder.call(function, [cell, word(0), word(LOCALITY), word(1)])  # to read; data
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


_compile_as(_vectors.take, lambda array, at: doubles if array.dtype == types.float64 else floats, _take)
_compile_as(_vectors.put, lambda array, at, vector: types.none, _put)
_compile_as(_vectors.get, lambda array, at: array.dtype, _get)
_compile_as(_vectors.get_alone, lambda array, at: array.dtype, _get_alone)
_compile_as(_vectors.assign, lambda array, at, x: types.none, _assign)
_compile_as(_vectors.increase, lambda array, at, x: types.none, _increase)
_compile_as(_vectors.prefetch, lambda array, at: types.none, _prefetch)
_compile_as(_vectors.slot, lambda code: types.uint64 if code == types.int8 else types.int64, _slot)
_compile_as(_vectors.splat, lambda x: doubles, _splat)
_compile_as(_vectors.wide, lambda a: doubles, _wide)
_compile_as(_vectors.like, _type_like, _like)
_compile_as(_vectors.squarable, _type_like, _squarable)
_compile_as(_vectors.over_root, lambda z, x: z, _over_root)
_compile_as(_vectors.maximum, lambda a, b: a, _maximum)
_compile_as(_vectors.where_above, lambda a, b, x, y: a, _where_above)
_compile_as(_vectors.total, lambda a: a.element, _total)
_compile_as(_vectors.largest, lambda a: a.element, _largest)
_compile_as(_vectors.power_of_two, _same, _power_of_two)
_compile_as(_vectors.exponents, _same, _exponents)
_compile_as(_vectors.mantissas, _same, _mantissas)
for _operator, _name in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    type_callable(_operator)(_type_arithmetic)
    for _types in ((Vector, Vector), (Vector, types.Number), (types.Number, Vector)):
        lower_builtin(_operator, *_types)(_arithmetic(_name))  # type: ignore[no-untyped-call]
