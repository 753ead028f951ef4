"""What a later version of numba may do, and what linmax then says of itself."""

ONE_BY_ONE, RECACHED, SLOWER, SLOWLY, UNCOMPILED = (
    "runs its kernels one by one",
    "compiles again in each process",
    "compiles slower machine code",
    "compiles more slowly",
    "runs uncompiled",
)
MOVED = """
from numba.core import ccallback, sigutils
CFunc = ccallback.CFunc
def cfunc(signature, **options):
    def make(function):
        made = CFunc(function, sigutils.normalize_signature(signature), {}, options)
        made.compile()
        return made
    return make
numba.cfunc = cfunc
"""
CHANGES = {
    "FunctionCache is gone": (RECACHED, "from numba.core import caching; del caching.FunctionCache"),
    "caching has moved": (RECACHED, "import sys; sys.modules['numba.core.caching'] = None"),
    "_source_stamp is renamed": (
        RECACHED,
        """
        from numba.core import caching
        make = caching.IndexDataCacheFile.__init__
        def renamed(self, *arguments, **options):
            make(self, *arguments, **options)
            self._stamp = self.__dict__.pop("_source_stamp")
        caching.IndexDataCacheFile.__init__ = renamed
        """,
    ),
    "_load_index is renamed": (
        RECACHED,
        "from numba.core import caching; del caching.IndexDataCacheFile._load_index",
    ),
    "_cache_file is renamed": (
        RECACHED,
        """
        from numba.core import caching
        make = caching.Cache.__init__
        def renamed(self, *arguments, **options):
            make(self, *arguments, **options)
            self._file = self.__dict__.pop("_cache_file")
        caching.Cache.__init__ = renamed
        """,
    ),
    "_load_overload is renamed": (
        RECACHED,
        "from numba.core import caching; del caching.Cache._load_overload",
    ),
    "_load_overload takes other arguments": (
        RECACHED,
        """
        from numba.core import caching
        caching.Cache._load_overload = lambda self, sig: None
        """,
    ),
    "_save_overload is renamed": (
        RECACHED,
        "from numba.core import caching; del caching.Cache._save_overload",
    ),
    "CFunc has moved": ("compiles rules again", MOVED + "del ccallback.CFunc"),
    "CFunc takes other arguments": (
        "compiles rules again",
        MOVED + "ccallback.CFunc = lambda pyfunc, sig: None",
    ),
    "the option _nrt is gone": (
        SLOWER,
        """
        from numba.core.options import TargetOptions
        parse = TargetOptions.parse_as_flags.__func__
        def strict(cls, flags, options):
            if "_nrt" in options:
                raise KeyError("Unrecognized options: {'_nrt'}")
            return parse(cls, flags, options)
        TargetOptions.parse_as_flags = classmethod(strict)
        """,
    ),
    "the fields of a function are renamed": (
        UNCOMPILED,
        """
        from numba.core import types
        from numba.core.datamodel import models
        from numba.experimental import function_type
        def renamed(self, dmm, fe_type):
            names = ("c_address", "py_address", "jit_address")
            models.StructModel.__init__(self, dmm, fe_type, [(name, types.voidptr) for name in names])
        function_type.FunctionModel.__init__ = renamed
        """,
    ),
    "create_struct_proxy is gone": (
        UNCOMPILED,
        """
        from numba.core import cgutils
        make = cgutils.create_struct_proxy
        def refuse(fe_type, *arguments, **options):
            if type(fe_type).__name__ == "FunctionType":
                raise AttributeError("module 'numba.core.cgutils' has no attribute 'create_struct_proxy'")
            return make(fe_type, *arguments, **options)
        cgutils.create_struct_proxy = refuse
        """,
    ),
    "JITCodeLibrary has moved": (SLOWLY, "from numba.core import codegen; del codegen.JITCodeLibrary"),
    "Compiler has moved": (
        SLOWLY,
        # numba itself uses it in `compile_internal`
        """
        import types
        from numba.core import compiler
        own = compiler.compile_internal
        compiler.compile_internal = types.FunctionType(
            own.__code__, dict(vars(compiler)), own.__name__, own.__defaults__
        )
        del compiler.Compiler
        """,
    ),
    "the option pipeline_class is gone": (SLOWLY, "numba.jit = lambda *arguments, **options: None"),
    "_finalize_final_module is renamed": (
        SLOWLY,
        """
        from numba.core import codegen
        finalize = codegen.CPUCodeLibrary._finalize_final_module
        del codegen.CPUCodeLibrary._finalize_final_module
        codegen.CPUCodeLibrary.__getattr__ = lambda self, name: finalize.__get__(self)
        """,
    ),
    "more is asked of the code of a part": (
        SLOWLY,
        """
        from numba.core import cpu
        get = cpu.CPUContext.get_executable
        def ask(self, library, fndesc, env):
            library.codegen.magic_tuple()
            return get(self, library, fndesc, env)
        cpu.CPUContext.get_executable = ask
        """,
    ),
    "a part is not linked": (
        SLOWLY,
        """
        from numba.core import codegen
        add = codegen.CPUCodeLibrary.add_linking_library
        def refuse(self, library):
            if type(library) not in (codegen.JITCodeLibrary, codegen.AOTCodeLibrary):
                raise RuntimeError("unknown library")
            add(self, library)
        codegen.CPUCodeLibrary.add_linking_library = refuse
        """,
    ),
    "overload is gone": (UNCOMPILED, "import numba.extending; del numba.extending.overload"),
    "intrinsic is gone": (UNCOMPILED, "import numba.extending; del numba.extending.intrinsic"),
    "lower_builtin is gone": (UNCOMPILED, "import numba.extending; del numba.extending.lower_builtin"),
    "type_callable is gone": (UNCOMPILED, "import numba.extending; del numba.extending.type_callable"),
    "register_model is gone": (UNCOMPILED, "import numba.extending; del numba.extending.register_model"),
    "get_or_insert_function is gone": (
        UNCOMPILED,
        "from numba.core import cgutils; del cgutils.get_or_insert_function",
    ),
    "arrays are made in another way": (
        UNCOMPILED,
        """
        from numba.core import base
        make = base.BaseContext.make_array
        def refuse(self, kind):
            import sys
            if sys._getframe(1).f_globals["__name__"] == "linmax._jit.llvm":
                raise AttributeError("'CPUContext' object has no attribute 'make_array'")
            return make(self, kind)
        base.BaseContext.make_array = refuse
        """,
    ),
    "llvm_cfunc_wrapper_name is renamed": (
        ONE_BY_ONE,
        """
        from numba.core import funcdesc
        name = funcdesc.FunctionDescriptor.llvm_cfunc_wrapper_name.fget
        def refuse(self):
            import sys
            if sys._getframe(1).f_globals["__name__"] == "linmax._jit.compilation":
                raise AttributeError("no attribute 'llvm_cfunc_wrapper_name'")
            return name(self)
        funcdesc.FunctionDescriptor.llvm_cfunc_wrapper_name = property(refuse)
        """,
    ),
    "get_pointer_to_function is gone": (
        ONE_BY_ONE,
        """
        from numba.core import codegen
        get = codegen.JITCodeLibrary.get_pointer_to_function
        def refuse(self, name):
            import sys
            if sys._getframe(1).f_globals["__name__"] == "linmax._jit.compilation":
                raise AttributeError("no attribute 'get_pointer_to_function'")
            return get(self, name)
        codegen.JITCodeLibrary.get_pointer_to_function = refuse
        """,
    ),
    "a stage has no wrapper": (
        ONE_BY_ONE,
        """
        from numba.core import codegen
        get = codegen.JITCodeLibrary.get_pointer_to_function
        def find_none(self, name):
            import sys
            caller = sys._getframe(1).f_globals["__name__"]
            return 0 if caller == "linmax._jit.compilation" else get(self, name)
        codegen.JITCodeLibrary.get_pointer_to_function = find_none
        """,
    ),
    "cpu_target has moved": ("exp and pow", "from numba.core import registry; del registry.cpu_target"),
    "add_symbol is gone": ("exp and pow", "import llvmlite.binding; del llvmlite.binding.add_symbol"),
}  # fmt: skip

# they end in the same lines of linmax as another change does
ALIKE = (
    "caching has moved",
    "_load_index is renamed",
    "_cache_file is renamed",
    "CFunc takes other arguments",
    "Compiler has moved",
    "create_struct_proxy is gone",
    "lower_builtin is gone",
    "type_callable is gone",
    "register_model is gone",
    "get_or_insert_function is gone",
    "get_pointer_to_function is gone",
    "the option pipeline_class is gone",
    "_finalize_final_module is renamed",
    "a part is not linked",
)
