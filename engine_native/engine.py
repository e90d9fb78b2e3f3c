"""Python face of the C engine; the only importer of ``_ffi``.

Vocabulary, Compiler and Grammar may be shared between threads; a Matcher
belongs to one thread at a time. Calls into C release the GIL.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import orjson

from engine_native._ffi import ffi, lib
from engine_native.errors import (
    EngineError,
    GrammarSyntaxError,
    LimitError,
    SchemaError,
    StructuralTagError,
    UnsupportedSchemaError,
)
from engine_native.tokenizer_json import read_tokens

Whitespace = Literal["bounded", "none", "any"]
PropertyOrder = Literal["declared", "any"]

_WHITESPACE = {
    "bounded": lib.STE_WHITESPACE_BOUNDED,
    "none": lib.STE_WHITESPACE_NONE,
    "any": lib.STE_WHITESPACE_ANY,
}
_ORDER = {"declared": lib.STE_ORDER_DECLARED, "any": lib.STE_ORDER_ANY}


def _spaces(separators: tuple[str, str]) -> list[int]:
    """Spaces before and after the comma, before and after the colon."""
    counts = []
    for separator, mark in zip(separators, ",:", strict=True):
        before, found, after = separator.partition(mark)
        if not found or before.strip(" ") or after.strip(" ") or max(len(before), len(after)) > 15:
            raise ValueError(f"a separator must be {mark!r} with at most 15 spaces on each side, not {separator!r}")
        counts += [len(before), len(after)]
    return counts


def _indented(indent: int, separators: tuple[str, str] | None) -> list[int]:
    """Spaces for each level, none before a comma, those before and after a colon."""
    comma, colon = separators or (",", ": ")
    if comma != ",":
        raise ValueError(f"where lines are indented a comma has no spaces, not {comma!r}")
    if not 0 <= indent <= 15:
        raise ValueError(f"indent must be 0 to 15, not {indent}")
    return [indent, 0, *_spaces((comma, colon))[2:]]


_ERRORS: dict[int, tuple[str, type[EngineError]]] = {
    lib.STE_ERR_SYNTAX: ("syntax", GrammarSyntaxError),
    lib.STE_ERR_SCHEMA: ("schema", SchemaError),
    lib.STE_ERR_UNSUPPORTED: ("unsupported", UnsupportedSchemaError),
    lib.STE_ERR_TAG: ("structural_tag", StructuralTagError),
    lib.STE_ERR_LIMIT: ("limit", LimitError),
    lib.STE_ERR_BUSY: ("busy", EngineError),
}
_FORCED_BYTES = 4096


def _text(chars: Any) -> str:
    return str(ffi.string(chars).decode("utf-8", "replace"))


def _raise(code: int, err: Any = None) -> None:
    """Raise what a negative status means; ``err`` is a filled ``ste_error`` or None."""
    message = _text(err.message) if err is not None else ""
    if code == lib.STE_ERR_NO_MEMORY:
        raise MemoryError(message or "out of memory")
    if code == lib.STE_ERR_ARGUMENT:
        raise ValueError(message or "argument out of range")
    name, kind = _ERRORS[code]
    if code == lib.STE_ERR_BUSY and not message:
        message = "the matcher is in use by another thread"
    raise kind(name, message, _text(err.path) if err is not None else "", err.offset if err is not None else 0)


def _ids(values: Iterable[int], size: int, what: str) -> Any:
    out = [int(v) for v in values]
    for v in out:
        if not 0 <= v < size:
            raise ValueError(f"{what} {v} is outside the vocabulary of {size}")
    return ffi.new("uint32_t[]", out)


@dataclass(frozen=True)
class Limits:
    """What one compile and one matcher may use. A compile that reaches a limit raises LimitError; 0 is an error."""

    input_bytes: int = 4 << 20
    """Length of a grammar text in bytes."""
    depth: int = 256
    """Nesting levels of a grammar text."""
    rules: int = 200_000
    """Rules of one grammar."""
    states: int = 4_000_000
    """Automaton states built for one grammar."""
    compile_bytes: int = 1 << 29
    """Working memory of one compile in bytes."""
    compile_seconds: float = 10.0
    """Wall time of one compile in seconds."""
    set_items: int = 50_000
    """Items of one parser state (ambiguity multiplies them). This and what follows bound one Matcher: one that
    meets a limit is failed, see ``Matcher.error``."""
    match_items: int = 50_000_000
    """Items that one matcher may add to parser states which no matcher made before it, ..."""
    match_items_per_token: int = 500_000
    """... and how many of them each accepted token gives back."""
    matcher_bytes: int = 256 << 20
    """Bytes of parser states kept for rollback."""


class Vocabulary:
    """Token bytes of one tokenizer. Immutable; shared freely.

    Args:
        tokens: Bytes of each token id; an empty one is never allowed.
        special_token_ids: Tokens that never match through their bytes, only
            where a grammar names them.
        stop_token_ids: Tokens that end a sequence.
        vocab_size: Length of a mask row in bits, at least ``len(tokens)``; the
            ids past the tokens are never allowed. Default ``len(tokens)``.

    Raises:
        ValueError: No tokens, or an id outside the vocabulary.
    """

    def __init__(
        self,
        tokens: Sequence[bytes],
        *,
        special_token_ids: Iterable[int] = (),
        stop_token_ids: Iterable[int] = (),
        vocab_size: int | None = None,
    ) -> None:
        size = len(tokens) if vocab_size is None else vocab_size
        if size < len(tokens):
            raise ValueError(f"vocab_size {size} is less than the {len(tokens)} tokens")
        offsets = np.zeros(len(tokens) + 1, dtype=np.uint64)
        np.cumsum(np.fromiter(map(len, tokens), np.uint64, len(tokens)), out=offsets[1:])
        data = b"".join(tokens)
        special = _ids(special_token_ids, size, "special token")
        stop = _ids(stop_token_ids, size, "stop token")
        out, err = ffi.new("ste_vocab **"), ffi.new("ste_error *")
        code = lib.ste_vocab_new(
            ffi.from_buffer("uint8_t[]", data),
            ffi.from_buffer("uint64_t[]", offsets),
            len(tokens),
            size,
            special,
            len(special),
            stop,
            len(stop),
            out,
            err,
        )
        if code:
            _raise(code, err)
        self._ptr = ffi.gc(out[0], lib.ste_vocab_free)
        self.vocab_size: int = size
        """Bits of a mask row."""
        self.stop_token_ids: tuple[int, ...] = tuple(stop)
        self.special_token_ids: frozenset[int] = frozenset(special)

    @classmethod
    def from_tokenizer_json(
        cls, path: str | pathlib.Path, *, vocab_size: int | None = None, stop_token_ids: Iterable[int] = ()
    ) -> Vocabulary:
        """From a Hugging Face fast tokenizer's file.

        ``vocab_size`` larger than the file's vocabulary pads it with ids that
        are never allowed (models often have more logits than tokens).
        """
        document = orjson.loads(pathlib.Path(path).read_bytes())
        return cls._from_document(document, vocab_size, stop_token_ids)

    @classmethod
    def from_tokenizer(
        cls, tokenizer: Any, *, vocab_size: int | None = None, stop_token_ids: Iterable[int] = ()
    ) -> Vocabulary:
        """From a ``transformers`` fast tokenizer object.

        Raises:
            ValueError: The tokenizer has no fast backend.
        """
        backend = getattr(tokenizer, "backend_tokenizer", None) or getattr(tokenizer, "_tokenizer", None)
        if backend is None or not hasattr(backend, "to_str"):
            raise ValueError(f"{type(tokenizer).__name__} has no fast tokenizer behind it")
        return cls._from_document(orjson.loads(backend.to_str()), vocab_size, stop_token_ids)

    @classmethod
    def _from_document(
        cls, document: dict[str, Any], vocab_size: int | None, stop_token_ids: Iterable[int]
    ) -> Vocabulary:
        tokens, special = read_tokens(document, vocab_size)
        return cls(tokens, special_token_ids=special, stop_token_ids=stop_token_ids)


class Grammar:
    """A compiled grammar for one vocabulary; made by a Compiler. Immutable; shared freely."""

    def __init__(self, pointer: Any, vocabulary: Vocabulary) -> None:
        self._ptr = ffi.gc(pointer, lib.ste_grammar_free)
        self.vocabulary = vocabulary

    @property
    def memory_bytes(self) -> int:
        """Bytes of the rules this grammar uses; rules shared with others count in full."""
        return int(lib.ste_grammar_memory(self._ptr))

    @property
    def notes(self) -> tuple[str, ...]:
        """What was read as an annotation although it may have been meant as a constraint."""
        out: list[str] = []
        while (note := lib.ste_grammar_note(self._ptr, len(out))) != ffi.NULL:
            out.append(_text(note))
        return tuple(out)

    def precompute(self, rows: int = 16, *, cancellation: Cancellation | None = None) -> int:
        """Compute ahead the mask rows of up to ``rows`` states that a sequence is likely to meet first.

        Meant for a thread of its own while the prompt is being read: the GIL is
        released, and any matcher may use the grammar meanwhile.

        Returns:
            How many states have their row now; fewer than ``rows`` when there
            are no more, or after ``cancellation``.
        """
        if not 0 <= rows < 1 << 31:
            raise ValueError(f"rows must be from 0 to 2^31 - 1, not {rows}")
        flag = ffi.NULL if cancellation is None else cancellation._flag
        made = int(lib.ste_grammar_precompute(self._ptr, rows, flag))
        if made < 0:
            _raise(made)
        return made


class Cancellation:
    """Stops a computation from another thread."""

    def __init__(self) -> None:
        self._flag = ffi.new("int *")

    def cancel(self) -> None:
        """Stop after the row at hand; for good."""
        self._flag[0] = 1


class Compiler:
    """Compiles grammars for one vocabulary and keeps what they share.

    Args:
        vocabulary: Whose tokens the masks are about.
        cache_bytes: What may be kept beyond what live grammars and matchers need.
        limits: Bounds of one compile.

    Every ``compile_*`` method raises a subclass of EngineError on bad input;
    equal input is compiled once.
    """

    def __init__(self, vocabulary: Vocabulary, *, cache_bytes: int = 128 << 20, limits: Limits = Limits()) -> None:
        if not isinstance(vocabulary, Vocabulary):
            raise TypeError(f"expected a Vocabulary, not {type(vocabulary).__name__}")
        c_limits = ffi.new("ste_limits *")
        for name in Limits.__dataclass_fields__:
            setattr(c_limits, name, getattr(limits, name))
        out, err = ffi.new("ste_compiler **"), ffi.new("ste_error *")
        code = lib.ste_compiler_new(vocabulary._ptr, cache_bytes, c_limits, out, err)
        if code:
            _raise(code, err)
        self._ptr = ffi.gc(out[0], lib.ste_compiler_free)
        self.vocabulary = vocabulary
        self.limits = limits

    def _compile(
        self,
        kind: int,
        data: bytes,
        *,
        whitespace: str = "bounded",
        property_order: str = "declared",
        separators: tuple[str, str] | None = None,
        indent: int | None = None,
        root: str | None = None,
        documents: Mapping[str, Any] | None = None,
        grammars: Mapping[str, Any] | None = None,
    ) -> Grammar:
        if whitespace not in _WHITESPACE:
            raise ValueError(f"whitespace must be one of {sorted(_WHITESPACE)}, not {whitespace!r}")
        if property_order not in _ORDER:
            raise ValueError(f"property_order must be one of {sorted(_ORDER)}, not {property_order!r}")
        options = ffi.new("ste_options *")
        options.whitespace = _WHITESPACE[whitespace]
        options.property_order = _ORDER[property_order]
        if separators is not None:
            options.whitespace = lib.STE_WHITESPACE_EXACT
            options.spaces = _spaces(separators)
        if indent is not None:
            options.whitespace = lib.STE_WHITESPACE_INDENT
            options.spaces = _indented(indent, separators)
        root_chars = ffi.new("char[]", root.encode()) if root is not None else ffi.NULL
        options.root = root_chars
        documents_chars = ffi.new("char[]", _json_text(dict(documents))) if documents else ffi.NULL
        options.documents = documents_chars
        grammars_chars = ffi.new("char[]", _json_text(dict(grammars))) if grammars else ffi.NULL
        options.grammars = grammars_chars
        out, err = ffi.new("ste_grammar **"), ffi.new("ste_error *")
        code = lib.ste_compile(self._ptr, kind, data, len(data), options, out, err)
        if code:
            _raise(code, err)
        return Grammar(out[0], self.vocabulary)

    def compile_json_schema(
        self,
        schema: dict[str, Any] | bool | str,
        *,
        whitespace: Whitespace = "bounded",
        property_order: PropertyOrder = "declared",
        separators: tuple[str, str] | None = None,
        indent: int | None = None,
        documents: Mapping[str, dict[str, Any]] | None = None,
    ) -> Grammar:
        """JSON documents that satisfy the schema (a value, or its JSON text).

        Args:
            schema: Drafts 4 to 2020-12 by ``$schema``, default 2020-12.
            whitespace: Between JSON tokens: ``"bounded"`` (one space, or one
                line break and its indentation), ``"none"`` or ``"any"``.
            property_order: ``"declared"``: keys come in the order of ``properties``,
                undeclared ones last. ``"any"``: in any order, for objects with
                up to 4,096 named keys (fewer where members are counted).
            separators: Between items and after keys, exactly, as for
                ``json.dumps``: a comma and a colon with spaces around them.
                There is no other white space then.
            indent: Each item and member on a line of its own, indented by so many
                spaces for each level, exactly as ``json.dumps`` does it. Values
                are nested at most 40 levels deep then.
            documents: By URI, other schemas that references may lead to; nothing
                is fetched. The metaschemas of the drafts are built in.

        Raises:
            SchemaError: Malformed, or nothing satisfies it.
            UnsupportedSchemaError: A keyword that cannot be enforced exactly, by name and path.
        """
        return self._compile(
            lib.STE_KIND_JSON_SCHEMA,
            _json_text(schema),
            whitespace=whitespace,
            property_order=property_order,
            separators=separators,
            indent=indent,
            documents=documents,
        )

    def compile_json_object(self, *, whitespace: Whitespace = "bounded") -> Grammar:
        """Any JSON object."""
        return self._compile(lib.STE_KIND_JSON_SCHEMA, b'{"type":"object"}', whitespace=whitespace)

    def compile_structural_tag(self, tag: dict[str, Any] | str, *, whitespace: Whitespace = "bounded") -> Grammar:
        """Text as a structural tag describes it (a value, or its JSON text)."""
        return self._compile(lib.STE_KIND_STRUCTURAL_TAG, _json_text(tag), whitespace=whitespace)

    def compile_regex(self, pattern: str) -> Grammar:
        """Texts that the whole pattern matches."""
        return self._compile(lib.STE_KIND_REGEX, _utf8(pattern))

    def compile_ebnf(self, text: str, root: str = "root") -> Grammar:
        """Texts of the rule ``root`` of an EBNF (GBNF) grammar."""
        return self._compile(lib.STE_KIND_EBNF, _utf8(text), root=root)

    def compile_lark(
        self,
        text: str,
        start: str | None = None,
        *,
        grammars: Mapping[str, str | dict[str, Any] | bool] | None = None,
    ) -> Grammar:
        """Texts of a rule or terminal of a Lark grammar.

        Args:
            text: Lark; or llguidance's list of grammars as JSON text,
                ``{"grammars": [{"name": ..., "lark_grammar": ...}, ...]}``, the first of which counts.
            start: Whose texts; default ``"start"``.
            grammars: What ``@name`` means: Lark texts, with a rule ``start``, and JSON schemas.
        """
        return self._compile(lib.STE_KIND_LARK, _utf8(text), root=start, grammars=grammars)

    def compile_choice(self, choices: Sequence[str]) -> Grammar:
        """One of the strings, exactly."""
        return self._compile(lib.STE_KIND_CHOICE, _json_text(list(choices)))

    def stats(self) -> dict[str, Any]:
        """Counters since the start and sizes now.

        Returns:
            ``levels``: per cache level ("grammar", "text", "rule", "row", "local") a
            dict of ``hits`` and ``misses``; ``bytes`` held; ``evictions``
            (collections that freed something); ``compile_seconds`` in total;
            ``grammars``, ``rules``, ``sets`` and ``rows`` alive.
        """
        s = ffi.new("ste_stats *")
        lib.ste_compiler_stats(self._ptr, s)
        levels = {
            level: {"hits": int(getattr(s, f"{level}_hits")), "misses": int(getattr(s, f"{level}_misses"))}
            for level in ("grammar", "text", "rule", "row", "local")
        }
        sizes = {name: int(getattr(s, name)) for name in ("grammars", "rules", "sets", "rows", "bytes", "evictions")}
        return {"levels": levels, "compile_seconds": float(s.compile_seconds), **sizes}

    def clear_cache(self) -> None:
        """Forget everything that no live grammar or matcher needs."""
        lib.ste_compiler_clear(self._ptr)


_ONLY_JSON = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS


def _json_text(value: Any) -> bytes:
    """JSON text as given, or of a value; keys keep their order."""
    if isinstance(value, str):
        return _utf8(value)
    try:
        text = orjson.dumps(value, option=_ONLY_JSON)
        if not _has_null(text):  # it may have been NaN, which is no JSON
            return text
    except TypeError:  # large integers, deep nesting, keys that are no strings: the slow encoder knows
        pass
    try:
        return json.dumps(value, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise GrammarSyntaxError("syntax", f"not a JSON value: {error}") from error


def _has_null(text: bytes) -> bool:
    """Whether compact JSON may hold a null that is no default (an annotation, it does not matter)."""
    at = text.find(b"null")
    while at >= 0:
        if text[at - 1 : at] in b"[,:" and text[at + 4 : at + 5] in b"],}" and not text.endswith(b'"default":', 0, at):
            return True
        at = text.find(b"null", at + 4)
    return False


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise GrammarSyntaxError("syntax", "the text contains a lone surrogate", offset=error.start) from error


_WORDS = ffi.typeof("uint32_t[]")
_matcher_fill = lib.ste_matcher_fill  # looked up once: these two run per token
_matcher_accept = lib.ste_matcher_accept_token


def _row(row: Any, words: int) -> Any:
    """One writable mask row as C sees it; checks length and layout."""
    try:
        view = memoryview(row)
    except TypeError:  # a torch tensor, or nothing of use
        pointer, size = _writable(row)
    else:
        if view.itemsize == 4 and view.nbytes == words * 4:
            return ffi.from_buffer(_WORDS, view, True)
        pointer, size = _writable(row)
    if size != words * 4:
        raise ValueError(f"a mask row has {words} 32-bit words, not {size} bytes")
    return pointer


def _writable(array: Any) -> tuple[Any, int]:
    """Address of a contiguous, writable array of 32-bit words, and its size in bytes."""
    if hasattr(array, "data_ptr"):  # a torch tensor
        if array.device.type != "cpu" or not array.is_contiguous():
            raise ValueError("expected a contiguous tensor on the CPU")
        if array.element_size() != 4:
            raise ValueError(f"expected 32-bit words, not {array.dtype}")
        return ffi.cast("uint32_t *", array.data_ptr()), array.numel() * 4
    view = memoryview(array)
    if view.itemsize != 4:
        raise ValueError(f"expected 32-bit words, not elements of {view.itemsize} bytes")
    return ffi.cast("uint32_t *", ffi.from_buffer(_WORDS, array, True)), view.nbytes


def _shape(array: Any) -> tuple[int, ...]:
    shape = getattr(array, "shape", None)
    if shape is None:
        raise TypeError("expected an array with a shape (numpy, torch)")
    return tuple(shape)


class Matcher:
    """The position of one sequence in a grammar. One thread at a time.

    Args:
        grammar: What the sequence must follow.
        stop_token_ids: Tokens that end it; default the vocabulary's.
    """

    __slots__ = ("_keep", "_ptr", "_words", "vocab_size")

    def __init__(self, grammar: Grammar, *, stop_token_ids: Iterable[int] | None = None) -> None:
        if not isinstance(grammar, Grammar):
            raise TypeError(f"expected a Grammar, not {type(grammar).__name__}")
        out, err = ffi.new("ste_matcher **"), ffi.new("ste_error *")
        size = grammar.vocabulary.vocab_size
        stop = ffi.NULL if stop_token_ids is None else _ids(stop_token_ids, size, "stop token")
        code = lib.ste_matcher_new(grammar._ptr, stop, 0 if stop_token_ids is None else len(stop), out, err)
        if code:
            _raise(code, err)
        self._adopt(out[0], size, grammar)

    def _adopt(self, pointer: Any, size: int, grammar: Grammar) -> None:
        self._ptr = ffi.gc(pointer, lib.ste_matcher_free)
        self._keep = grammar
        self.vocab_size = size
        self._words = (size + 31) // 32

    def fill_bitmask(self, row: Any) -> bool:
        """Write which tokens may come next.

        Args:
            row: Writable, contiguous, exactly ``ceil(vocab_size / 32)`` 32-bit
                words. Bit ``t % 32`` of word ``t // 32`` is set if token ``t``
                is allowed; bits past the vocabulary are 0. After a stop token
                only stop tokens are set.

        Returns:
            False if nothing is forbidden (the row is all ones), else True.

        Raises:
            ValueError: The row has the wrong length. Nothing was written.

        Cost: one copy if the state has been seen, else a walk of the trie.
        """
        code: int = _matcher_fill(self._ptr, _row(row, self._words), self._words)
        if code < 0:
            _raise(code)
        return code == 1

    def accept_token(self, token: int) -> bool:
        """Advance by one token. False, and nothing changed, if it is forbidden or no token at all."""
        try:
            code: int = _matcher_accept(self._ptr, token)
        except OverflowError:  # no 32-bit number
            return False
        if code < 0:
            _raise(code)
        return code == 1

    def accept_bytes(self, data: bytes) -> bool:
        """Advance by text, all or nothing; one step for rollback. Special tokens have no text."""
        code = lib.ste_matcher_accept_bytes(self._ptr, data, len(data))
        if code < 0:
            _raise(code)
        return bool(code)

    def accept_tokens(self, tokens: Iterable[int]) -> int:
        """Advance token by token until one is forbidden; returns how many were accepted."""
        count = 0
        for token in tokens:
            if not self.accept_token(token):
                break
            count += 1
        return count

    def validate_tokens(self, tokens: Iterable[int]) -> int:
        """How many leading tokens would be accepted; the matcher does not move."""
        leading = []
        for token in tokens:
            if not 0 <= token < self.vocab_size:
                break
            leading.append(token)
        code = lib.ste_matcher_validate(self._ptr, ffi.new("uint32_t[]", leading), len(leading))
        if code < 0:
            _raise(code)
        return int(code)

    def set_token_budget(self, n: int | None) -> None:
        """Finish within ``n`` more tokens.

        From now on at most ``n`` tokens are accepted, stop tokens not counted,
        and masks allow exactly the tokens after which the text is known to be
        completable with what is left. Such a token exists as long as the text
        is not complete, so whatever is sampled, the output ends whole.

        What is known is ``least_tokens``: the true minimum where a short search
        finds it, else a count that uses no token across the border of two
        grammar rules. That may be more than the true minimum, never less, so
        towards the end of a budget a token may be refused from which only such
        tokens would be short enough; one that fits is always left. With every
        single byte in the vocabulary each text can be completed within some
        budget; otherwise no token may spell what a grammar needs.

        Rolled-back tokens come back to the budget, a fork inherits it, and
        undoing (``rollback``, ``reset``) the position where it was set removes
        it. ``accept_bytes`` counts as one token.

        Args:
            n: Tokens that may still come; None removes the budget.

        Raises:
            ValueError: ``n`` is less than ``least_tokens()``, or that is None,
                or ``n`` is negative. Nothing changed.
            LimitError: The grammar is too large to be measured. Nothing changed.

        Cost: the first budget for a grammar measures its rules; a state met for
        the first time costs a walk of the trie, as its mask does.
        """
        if n is not None and n < 0:
            raise ValueError(f"a budget of {n} tokens")
        err = ffi.new("ste_error *")
        count = lib.STE_NO_BUDGET if n is None else min(n, lib.STE_NO_BUDGET - 1)
        code = lib.ste_matcher_set_token_budget(self._ptr, count, err)
        if code:
            _raise(code, err)

    def least_tokens(self) -> int | None:
        """The smallest budget ``set_token_budget`` takes here; None if no tokens spell what is missing."""
        least, err = ffi.new("uint64_t *"), ffi.new("ste_error *")
        code = lib.ste_matcher_least_tokens(self._ptr, least, err)
        if code:
            _raise(code, err)
        return None if least[0] == lib.STE_NO_BUDGET else int(least[0])

    def can_terminate(self) -> bool:
        """Whether the text so far is complete."""
        return self._flag(lib.ste_matcher_can_terminate(self._ptr))

    def is_terminated(self) -> bool:
        """Whether a stop token has been accepted."""
        return self._flag(lib.ste_matcher_is_terminated(self._ptr))

    @property
    def error(self) -> LimitError | MemoryError | None:
        """Why the matcher is failed, or None: a limit of matching was met, or memory ran out in a batch.

        A failed matcher accepts nothing and its rows allow stop tokens only, so
        that a step loop goes on for everyone else; rollback and reset revive it.
        """
        err = ffi.new("ste_error *")
        code = lib.ste_matcher_error(self._ptr, err)
        if code == lib.STE_OK:
            return None
        if code == lib.STE_ERR_BUSY:
            _raise(code)
        message = _text(err.message)
        return LimitError("limit", message) if code == lib.STE_ERR_LIMIT else MemoryError(message)

    @staticmethod
    def _flag(code: int) -> bool:
        if code < 0:
            _raise(code)
        return bool(code)

    def rollback(self, n: int) -> None:
        """Undo the last ``n`` steps, past a stop token too.

        Raises:
            ValueError: There are fewer steps, or ``n`` is negative. Nothing changed.
        """
        if n < 0:
            raise ValueError(f"cannot roll back {n} steps")
        code = lib.ste_matcher_rollback(self._ptr, min(n, 0xFFFFFFFF))
        if code == lib.STE_ERR_ARGUMENT:
            raise ValueError(f"cannot roll back {n} steps: there are fewer")
        if code:
            _raise(code)

    def fork(self) -> Matcher:
        """An independent matcher at the same position."""
        out, err = ffi.new("ste_matcher **"), ffi.new("ste_error *")
        code = lib.ste_matcher_fork(self._ptr, out, err)
        if code:
            _raise(code, err)
        copy = object.__new__(Matcher)
        copy._adopt(out[0], self.vocab_size, self._keep)
        return copy

    def reset(self) -> None:
        """Back to the start."""
        code = lib.ste_matcher_reset(self._ptr)
        if code:
            _raise(code)

    def forced_bytes(self) -> bytes:
        """The bytes that every continuation starts with, at most 4,096; b"" where there is a choice."""
        out = ffi.new("uint8_t[]", _FORCED_BYTES)
        n = lib.ste_matcher_forced_bytes(self._ptr, out, _FORCED_BYTES)
        if n < 0:
            _raise(n)
        return bytes(ffi.buffer(out, n))

    def forced_tokens(self) -> list[int]:
        """Tokens that spell the forced bytes, longest first, as many as no continuation can change."""
        out = ffi.new("uint32_t[]", _FORCED_BYTES)
        n = lib.ste_matcher_forced_tokens(self._ptr, out, _FORCED_BYTES)
        if n < 0:
            _raise(n)
        return list(out[0:n])

    def captures(self) -> list[tuple[str, bytes]]:
        """The captures of the text so far, in order of where they begin, outer ones before inner ones.

        A format of a structural tag with the field ``"capture": "name"`` gives one
        entry, the name and the text, for each span that it has matched: finished
        ones, and those still open with the text they have so far. Special tokens
        are part of the text, a stop token that ends a complete text is not.

        A text that can be read in several ways is given one reading, always the
        same, and while it may go on one that captures least: the beginning of a
        marker that may end a captured text is not part of it until it turns out to
        be text. Empty repetitions of a long counted repeat have no entries.

        Raises:
            LimitError: The text has too many readings. The matcher itself goes on.

        Cost: the text accepted since the last call, and what is returned. A fork
        reads its text once more.
        """
        err = ffi.new("ste_error *")
        capacity, count = 0, 16
        while count > capacity:
            capacity = count
            found = ffi.new("ste_capture[]", capacity)
            count = lib.ste_matcher_captures(self._ptr, found, capacity, err)
            if count < 0:
                _raise(count, err)
        if count == 0:
            return []
        spans = found[0:count]
        begin, end = spans[0].begin, max(span.end for span in spans)
        text = ffi.new("uint8_t[]", end - begin)
        code = lib.ste_matcher_copy_text(self._ptr, begin, end, text)
        if code:
            _raise(code)
        view = ffi.buffer(text)
        return [
            (
                bytes(ffi.buffer(span.name, span.name_length)).decode("utf-8"),
                view[span.begin - begin : span.end - begin],
            )
            for span in spans
        ]

    def fill_draft_tree(
        self, tokens: Sequence[int], first_child: Sequence[int], next_sibling: Sequence[int], bitmask: Any
    ) -> int:
        """Masks along a tree of draft tokens (speculative decoding).

        Args:
            tokens: Draft token of each node; node 0 is the root, whose token
                has been accepted already.
            first_child: Node number of the first child, or -1.
            next_sibling: Node number of the next sibling, or -1.
            bitmask: ``[nodes, ceil(vocab_size / 32)]`` int32. Row ``i`` becomes
                the mask after node ``i``; rows of refused nodes become 0.

        Returns:
            How many nodes the grammar allows, the root included.

        Raises:
            ValueError: Lengths differ, or the links are no tree.
        """
        n = len(tokens)
        if n == 0 or len(first_child) != n or len(next_sibling) != n:
            raise ValueError("tokens, first_child and next_sibling must have the same length, at least 1")
        if _shape(bitmask) != (n, self._words):
            raise ValueError(f"bitmask must have the shape ({n}, {self._words})")
        arrays = [ffi.new("int64_t[]", [int(v) for v in a]) for a in (tokens, first_child, next_sibling)]
        code = lib.ste_matcher_fill_draft_tree(self._ptr, *arrays, n, _writable(bitmask)[0], self._words)
        if code == lib.STE_ERR_ARGUMENT:
            raise ValueError("first_child and next_sibling do not describe a tree")
        if code < 0:
            _raise(code)
        return int(code)


def allocate_bitmask(batch: int, vocab_size: int) -> Any:
    """A numpy int32 array ``[batch, ceil(vocab_size / 32)]`` of ones: nothing is forbidden."""
    return np.full((batch, (vocab_size + 31) // 32), -1, dtype=np.int32)


def fill_bitmask_batch(
    matchers: Sequence[Matcher], bitmask: Any, indices: Sequence[int] | None = None, *, threads: int | None = None
) -> None:
    """Write the rows of many sequences in one call.

    Args:
        matchers: Distinct matchers over vocabularies of one size.
        bitmask: Contiguous int32 ``[rows, ceil(vocab_size / 32)]``.
        indices: Row of each matcher; default 0, 1, 2, ...
        threads: Share the rows among this many threads. Worth it where
            many rows are met for the first time; known ones are only copied.
            Default: the calling thread writes all.

    Raises:
        ValueError: A wrong shape or a row that does not exist. Nothing was written.
        EngineError: A matcher is in use by another thread.
    """
    n = len(matchers)
    rows, words = _shape(bitmask)
    if indices is None and n > rows:
        raise ValueError(f"{n} matchers for {rows} rows")
    if indices is not None and len(indices) != n:
        raise ValueError(f"{n} matchers but {len(indices)} indices")
    c_rows = _row_numbers(indices, rows)
    pointers = ffi.new("ste_matcher *[]", [m._ptr for m in matchers])
    data = _writable(bitmask)[0]
    share = n if threads is None or threads < 2 else -(-n // threads)
    if share >= n:
        _fill(pointers, 0, n, data, words, c_rows)
        return
    if c_rows == ffi.NULL:
        c_rows = ffi.new("int64_t[]", list(range(n)))
    with ThreadPoolExecutor(threads) as pool:
        jobs = [pool.submit(_fill, pointers, at, min(share, n - at), data, words, c_rows) for at in range(0, n, share)]
    for job in jobs:
        job.result()


def _fill(pointers: Any, at: int, n: int, data: Any, words: int, rows: Any) -> None:
    """Write the rows of matchers ``at .. at + n``."""
    err = ffi.new("ste_error *")
    code = lib.ste_fill_batch(pointers + at, n, data, words, rows + at if rows != ffi.NULL else rows, err)
    if code:
        _raise(code, err)


def accept_token_batch(matchers: Sequence[Matcher], tokens: Sequence[int]) -> list[bool]:
    """``accept_token`` for each pair; one result per matcher.

    Raises:
        ValueError: The lengths differ. Nothing was accepted.
    """
    if len(matchers) != len(tokens):
        raise ValueError(f"{len(matchers)} matchers but {len(tokens)} tokens")
    return [m.accept_token(t) for m, t in zip(matchers, tokens, strict=True)]


_DTYPES = {"float32": lib.STE_FLOAT32, "float16": lib.STE_FLOAT16, "bfloat16": lib.STE_BFLOAT16}


def _row_numbers(values: Sequence[int] | None, rows: int) -> Any:
    if values is None:
        return ffi.NULL
    out = ffi.new("int64_t[]", [int(i) for i in values])
    for i in out:
        if not 0 <= i < rows:
            raise ValueError(f"row {i} of {rows}")
    return out


def apply_bitmask(
    logits: Any, bitmask: Any, indices: Sequence[int] | None = None, *, mask_indices: Sequence[int] | None = None
) -> None:
    """Set the logits of forbidden tokens to minus infinity, in place, on the CPU.

    Args:
        logits: ``[rows, vocabulary]`` or ``[vocabulary]``, float32, float16 or
            bfloat16 (numpy or torch); the last axis is contiguous.
        bitmask: int32 ``[masks, words]`` (or ``[words]``) with at least
            ``ceil(vocabulary / 32)`` words.
        indices: Rows of ``logits`` to mask, each with the row of ``bitmask`` of
            the same number; default all.
        mask_indices: Rows of ``bitmask`` to use for ``indices`` instead.

    Raises:
        ValueError: Shapes that do not fit. Nothing was written.
        TypeError: Another element type.
    """
    shape, mask_shape = _shape(logits), _shape(bitmask)
    if len(shape) not in (1, 2) or len(mask_shape) != len(shape):
        raise ValueError(f"logits {shape} and bitmask {mask_shape} must both have one or both two axes")
    rows, size = (1, shape[0]) if len(shape) == 1 else shape
    masks, words = (1, mask_shape[0]) if len(shape) == 1 else mask_shape
    if words * 32 < size:
        raise ValueError(f"a mask of {words} words is too short for {size} logits")
    dtype = str(logits.dtype).removeprefix("torch.")
    if dtype not in _DTYPES:
        raise TypeError(f"logits must be float32, float16 or bfloat16, not {dtype}")
    if str(bitmask.dtype).removeprefix("torch.") not in ("int32", "uint32"):
        raise TypeError(f"a bitmask must be int32, not {bitmask.dtype}")
    pointer, stride = _strided(logits, writable=True)
    mask_pointer, mask_stride = _strided(bitmask, writable=False)
    if indices is None and masks > rows:
        raise ValueError(f"{masks} masks for {rows} rows of logits")
    if mask_indices is None:
        mask_indices = indices
    count = masks if mask_indices is None else len(mask_indices)
    if count != (masks if indices is None else len(indices)):
        raise ValueError(f"{count} mask rows for another number of rows of logits")
    code = lib.ste_apply_bitmask(
        _DTYPES[dtype],
        pointer,
        stride,
        size,
        ffi.cast("uint32_t *", mask_pointer),
        mask_stride,
        _row_numbers(indices, rows),
        _row_numbers(mask_indices, masks),
        count,
    )
    if code:
        _raise(code)


def _strided(array: Any, *, writable: bool) -> tuple[Any, int]:
    """Address of the first element and elements between two rows."""
    if hasattr(array, "data_ptr"):
        if array.device.type != "cpu":
            raise ValueError("expected a tensor on the CPU")
        strides, address = array.stride(), array.data_ptr()
    else:
        item = array.dtype.itemsize
        if writable and not array.flags.writeable:
            raise ValueError("the logits are read-only")
        if any(s % item for s in array.strides):
            raise ValueError("rows must be a whole number of elements apart")
        strides, address = tuple(s // item for s in array.strides), array.ctypes.data
    if array.shape[-1] > 1 and strides[-1] != 1:
        raise ValueError("the last axis must be contiguous")
    if len(strides) == 2 and array.shape[0] > 1 and strides[0] < 0:
        raise ValueError("rows must not run backwards")
    return ffi.cast("void *", address), strides[0] if len(strides) == 2 else array.shape[-1]
