"""Nearly valid input: a good example with something wrong in it.

Everything is drawn from a :class:`random.Random`, so that hypothesis can draw (and shrink), and a seed can.
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Callable, Sequence
from copy import deepcopy
from random import Random
from typing import Any


class Raw(str):
    """Text that stands in JSON as it is, where a value would."""


#: Values that a parser or what comes after it may not expect, as JSON or nearly so.
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 7, 0.5, -0.0, 2**31, 2**63, 2**64, -(2**63) - 1, "", " ", "\n", "x", "0", "-1", "²",
    "٣", "1e5", "NaN", "=1+1", "a,b;c\td", 'a"b', "\x00", "\u2028", "\x1b[31m", "💩" * 3, "e\u0301", "x" * 300,
    "医生",
    "turn:0", "turn:-1", "turn:x", "human:", "judge:x", [], {}, [[]], [{}], [None], {"": None}, {"a": {"b": [1]}},
    ["a", 1, None], [0] * 50,
    Raw("NaN"), Raw("Infinity"), Raw("-Infinity"), Raw("1e400"), Raw("-1e400"), Raw("1e-400"), Raw("1" + "0" * 400),
    Raw("9" * 5000), Raw("-" + "9" * 30), Raw("0x1"), Raw("01"), Raw("1."), Raw("1_0"), Raw("'x'"), Raw("nul"),
    Raw('"\\ud800"'), Raw('"\\udc00\\ud800"'), Raw('"\\u0000"'), Raw('"\\x"'), Raw('"a\nb"'), Raw('"'), Raw("{"),
    Raw("["), Raw("}"), Raw(","), Raw(""), Raw('{"a": 1, "a": 2}'), Raw('{"\\ud800": 1}'), Raw("/* */ 1"),
    Raw("[" * 60 + "]" * 60), Raw("[" * 300 + "]" * 300), Raw("[" * 2000 + "]" * 2000), Raw("[" * 3000),
    Raw('{"a":' * 60 + "1" + "}" * 60), Raw('{"a":' * 300 + "1" + "}" * 300), Raw('{"a":' * 2000 + "1" + "}" * 2000),
)  # fmt: skip

#: The same for a YAML file.
SCALARS = (
    "", "~", "yes", "no", "1", "-1", "0.5", ".nan", ".inf", "-.inf", "0x", "0b", "0o9", "1_000", "1:99:99",
    "9" * 5000,
    "1e400", "1.0e+400", "2001-01-01", "2001-99-99", "2001-01-01T99:00:00Z", "=", "<<", "<<: {a: b}", "*x", "&a x",
    "&a [*a]", "!!bool x", "!!bool ''", "!!int ''", "!!int x", "!!float ''", "!!float x", "!!null x", "!!binary x",
    "!!binary '=='", "!!timestamp x", "!!set {a}", "!!omap [a: 1]", "!!omap x", "!!pairs [a: 1]", "!!str [a]",
    "!!map [a]", "!!seq {a: 1}", "!!python/object/apply:os.system [x]", "!!python/name:os.system", "!x y", "!",
    "!<x> y", "!!merge x", "!!value x", '"\\ud800"', '"\\x00"', '"\\uD83D"', "'a''", '"a', "[", "{", "[" * 300,
    "[" * 2000,
    "[" * 500 + "]" * 500, "{a: " * 500 + "1" + "}" * 500, "? [a]", "? {a: 1}\n: x", "- - - x", "|", ">", "|9",
    "%TAG x", "--- x", "...", "@", "`", "\t", "a: b: c", "{a: 1, a: 2}", "[a, b]", "{a: b}", "x #", "\x07",
    "\x85", "\ufeff",
    "医生", "{{}}", "{goal}", "{unknown}", "[1, 2]", "\x1b[31m",
)  # fmt: skip

#: The same for a cell of a table.
CELLS = (
    "", " ", "x", "0", "1", "-1", "1.0", "1.5", "1e5", "1e308", "1e400", "nan", "NaN", "inf", "-inf", "²", "٣", "½",
    "9" * 30, "9" * 5000, "1,5", "1;2", "NA", "n/a", "None", "'x", "''", '"', '"x', '""', 'a"b', "a\nb", "a\r\nb",
    "a\tb", "=1+1", "@x", "\x00", "\ufeff", "\u2028", "\x1b[31m", "Doctor:", "Doctor: a Patient: b", "[", "]",
    "[doctor]",
    "医生：", "x" * 300, "turn:0", "human:", "a:b", "True", "false", "open", "1_0", "0x1", "　",
)  # fmt: skip


def dumps(value: Any, *, spaced: bool = False) -> str:
    """JSON with what is :class:`Raw` in it, and with every other character as itself where that can be written."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{dumps(key)}: {dumps(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + (",\n" if spaced else ", ").join(map(dumps, value)) + "]"
    return json.dumps(value, ensure_ascii=isinstance(value, str) and not _writable(value))


def _writable(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _places(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        found.append((value, key))
        _places(part, found)
    return found


def _odd(random: Random) -> Any:
    """One of :data:`VALUES`, as a copy: what is put into another is changed there."""
    return deepcopy(random.choice(VALUES))


def json_value(random: Random, value: Any, edits: int | None = None) -> Any:
    """A copy of a JSON value with one to four things changed."""
    value = json.loads(json.dumps(value))
    for _ in range(random.choice((1, 1, 1, 2, 4)) if edits is None else edits):
        places = _places(value, [])
        if not places:
            return _odd(random)
        inside, key = random.choice(places)
        other = random.choice(places)
        match random.randrange(9):
            case 0 | 1 | 2:
                inside[key] = _odd(random)
            case 3:
                del inside[key]
            case 4:
                inside[key] = random.choice(([inside[key]], {"a": inside[key]}, str(inside[key]), [inside[key]] * 3))
            case 5 if isinstance(inside, dict):
                inside[random.choice(("x", "", "id", "text", "turns", str(other[1])))] = inside.pop(key)
            case 5:
                inside.insert(key, _odd(random))
            case 6:
                # Copies, so that nothing holds itself.
                inside[key] = json.loads(json.dumps(other[0][other[1]]))
            case 7 if isinstance(inside, dict):
                # One key twice, with the same value or another.
                again = dumps(inside[key]) if random.random() < 0.5 else dumps(_odd(random))
                name = json.dumps(key)
                text = ", ".join(f"{dumps(k)}: {dumps(v)}" for k, v in inside.items())
                rest = f"{{{text}, {name}: {again}}}"
                outer = next((o for o in places if o[0][o[1]] is inside), None)
                if outer is None:
                    return Raw(rest)
                outer[0][outer[1]] = Raw(rest)
            case 8 if isinstance(inside, dict):
                inside[random.choice(("x", "\x00", "²", "meta", "\u2028", "1", "-1", "999999999999"))] = _odd(random)
            case _:
                inside[key] = _odd(random)
        if "Raw" in {type(part).__name__ for holder, k in _places(value, []) for part in (holder[k],)}:
            break
    return value


ENDS = (b"", b"\n", b"\n\n", b"\r\n", b"\x00", b",", b"}", b"]", b'"', b"\xff", b" " * 50)


def text(random: Random, content: bytes) -> bytes:
    """Sometimes: another encoding, cut off, put twice, with something between."""
    match random.randrange(24):
        case 0:
            return content[: random.randrange(len(content) + 1)]
        case 1:
            return content + random.choice(ENDS) + content
        case 2:
            return b"\xef\xbb\xbf" + content
        case 3:
            code = random.choice(("utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-8-sig", "utf-7"))
            return content.decode("utf-8", "replace").encode(code, "replace")
        case 4:
            at = random.randrange(len(content) + 1)
            odd = random.choice((b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"\xc3", b"\x80", b"\xe9", b"\xf0\x9f", b"\r"))
            return content[:at] + odd + content[at:]
        case 5:
            return random.choice(ENDS) + content
        case 6:
            return content.replace(b"\n", random.choice((b"\r\n", b"\r", b"", b"\n\n", b"\x85", b"\x0b")))
        case 7:
            return content + random.choice(ENDS)
        case 8:
            return octets(random, content)
    return content


def octets(random: Random, content: bytes) -> bytes:
    """Some bytes changed, removed, doubled or moved."""
    data = bytearray(content)
    for _ in range(random.randint(1, 6)):
        at = random.randrange(len(data) + 1)
        length = random.choice((1, 1, 2, 8, 40))
        match random.randrange(6):
            case 0:
                data[at : at + 1] = bytes([random.randrange(256)])
            case 1:
                del data[at : at + length]
            case 2:
                data[at:at] = data[at : at + length]
            case 3:
                marks = (
                    b'"',
                    b"{",
                    b"}",
                    b"[",
                    b"]",
                    b",",
                    b":",
                    b"\n",
                    b"\r",
                    b"\x00",
                    b"null",
                    b"1e9",
                    b"\xff",
                    b"\\",
                )
                data[at:at] = random.choice(marks)
            case 4:
                piece = data[at : at + length]
                del data[at : at + length]
                to = random.randrange(len(data) + 1)
                data[to:to] = piece
            case 5:
                data = data[:at]
    return bytes(data)


def flips(random: Random, content: bytes) -> bytes:
    """Some bytes changed, all others in their places; or what :func:`octets` makes."""
    if not content or random.random() < 0.3:
        return octets(random, content)
    data = bytearray(content)
    for _ in range(random.choice((1, 1, 2, 5))):
        data[random.randrange(len(data))] = random.randrange(256)
    return bytes(data)


def json_text(random: Random, value: Any) -> bytes:
    """JSON text of a value in which something is wrong."""
    made = dumps(json_value(random, value), spaced=random.random() < 0.3)
    return text(random, made.encode("utf-8", "surrogatepass"))


def json_lines(random: Random, values: Sequence[Any]) -> bytes:
    """JSON lines of values, one of them (or none) with something wrong in it."""
    bad = random.randrange(len(values) + 1)
    lines = [
        dumps(json_value(random, value)) if position == bad else json.dumps(value, ensure_ascii=False)
        for position, value in enumerate(values)
    ]
    if random.random() < 0.2:
        random.shuffle(lines)
    content = "\n".join(lines) + "\n"
    return text(random, content.encode("utf-8", "surrogatepass"))


def yaml_text(random: Random, source: str) -> bytes:
    """A YAML file with some of its lines changed."""
    lines = source.split("\n")
    for _ in range(random.choice((1, 1, 2, 3))):
        at = random.randrange(len(lines))
        line = lines[at]
        lead = line[: len(line) - len(line.lstrip())]
        scalar = random.choice(SCALARS)
        match random.randrange(8):
            case 0 | 1 | 2 if ":" in line:
                lines[at] = f"{line.partition(':')[0]}: {scalar}"
            case 3:
                del lines[at]
                lines = lines or [""]
            case 4:
                lines.insert(at, line)
            case 5:
                lines[at] = random.choice((" ", "  ", "\t", "- ", "? ", "# ", "!!set ", "&a ")) + line
            case 6:
                lines.insert(at, lead + random.choice((f"x: {scalar}", f"- {scalar}", f"{scalar}: x", scalar)))
            case _:
                lines[at] = lead + scalar
    return text(random, "\n".join(lines).encode("utf-8", "surrogatepass"))


def rows(random: Random, source: Sequence[Sequence[str]], cells: Sequence[str] = CELLS) -> list[list[str]]:
    """A table with some of its cells, rows or columns changed; the first row is the header."""
    table = [list(row) for row in source]
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        at = random.randrange(len(table))
        row = table[at]
        column = random.randrange(len(row)) if row else 0
        match random.randrange(9):
            case 0 | 1 | 2 | 3 if row:
                row[column] = random.choice(cells)
            case 4 if row:
                del row[column]
            case 5:
                row.insert(column, random.choice(cells))
            case 6:
                table.insert(random.randrange(len(table) + 1), list(row))
            case 7 if len(table) > 1:
                del table[at]
            case 8:
                for each in table:
                    if column < len(each) > 1:
                        del each[column]
            case _:
                table.append([random.choice(cells) for _ in range(random.randrange(5))])
    return table


def csv_text(random: Random, source: Sequence[Sequence[str]], cells: Sequence[str] = CELLS) -> bytes:
    """A CSV or TSV file with something wrong in it."""
    out = io.StringIO()
    delimiter = random.choice((",", ",", ",", "\t", ";"))
    table = rows(random, source, cells)
    if random.random() < 0.25:
        out.writelines(delimiter.join(row) + "\n" for row in table)  # nothing quoted
    else:
        quoting: Any = random.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
        csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator="\n").writerows(table)
    return text(random, out.getvalue().encode("utf-8", "surrogatepass"))


def lines(random: Random, source: bytes, odd: Sequence[bytes]) -> bytes:
    """A text of which some lines are gone, doubled, moved or cut, or odd ones are put in."""
    made = source.split(b"\n")
    for _ in range(random.choice((1, 1, 2, 4))):
        at = random.randrange(len(made) + 1)
        match random.randrange(6):
            case 0:
                del made[at : at + random.choice((1, 1, 3))]
            case 1:
                made[at:at] = made[at : at + random.choice((1, 4))]
            case 2 if at < len(made):
                made.insert(random.randrange(len(made)), made.pop(at))
            case 3 if at < len(made):
                made[at] = made[at][: random.randrange(len(made[at]) + 1)]
            case 4 if at < len(made):
                cut = random.randrange(len(made[at]) + 1)
                made[at] = made[at][:cut] + random.choice(odd) + made[at][cut:]
            case _:
                made.insert(at, random.choice(odd))
    return text(random, b"\n".join(made))


Parts = dict[str, bytes]


def parts_of(archive: bytes) -> Parts:
    """Name and content of a ZIP archive's files."""
    with zipfile.ZipFile(io.BytesIO(archive)) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def archive(random: Random, parts: Parts, change: Callable[[Random, str, bytes], bytes]) -> bytes:
    """A ZIP archive in which ``change`` changed a file, or a file is missing, doubled or called otherwise."""
    made = list(parts.items())
    at = random.randrange(len(made))
    name, content = made[at]
    match random.randrange(12):
        case 0:
            del made[at]
        case 1:
            made[at] = (random.choice(("x", "../x", "/x", "a\\b", name.upper(), name + "/", made[-1][0])), content)
        case 2:
            made.append(made[at])
        case 3:
            made[at] = (name, b"")
        case _:
            made[at] = (name, change(random, name, content))
    file = io.BytesIO()
    method = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    import warnings

    with warnings.catch_warnings(), zipfile.ZipFile(file, "w", method) as packed:
        warnings.simplefilter("ignore")  # a name twice
        for part, data in made:
            packed.writestr(part, data)
    data = file.getvalue()
    return octets(random, data) if random.random() < 0.15 else data


#: What may stand in a worksheet's XML.
XML = (
    b'<c r="ZZZZ1"><v>1</v></c>', b'<c r="A99999999999"><v>1</v></c>', b'<c r="x"><v>1</v></c>', b"<c/>", b"<row/>",
    b'<row r="99999999"/>', b'<row r="-1"/>', b'<row r="x"/>', b'<c t="s"><v>99999999</v></c>',
    b'<c t="s"><v>-1</v></c>', b'<c t="s"><v>x</v></c>', b'<c t="d"><v>2001-99-99</v></c>',
    b'<c t="n"><v>1e400</v></c>', b'<c t="b"><v>7</v></c>',
    b'<c t="e"><v>#N/A</v></c>', b'<c t="inlineStr"/>', b'<c t="zz"><v>1</v></c>', b'<c s="99999"><v>1</v></c>',
    b"<c><f>1</f><v>", b"<!DOCTYPE a>", b"&x;", b"<!--", b"]]>", b"\x00", b"\xff",
    b'<dimension ref="A1:XFD1048576"/>',
    b"<c><v>" + b"9" * 5000 + b"</v></c>", b'<mergeCell ref="A1"/>', b"<?x?>",
)  # fmt: skip


def xml_part(random: Random, name: str, content: bytes, odd: Sequence[bytes] = XML) -> bytes:
    """An XML file with something put in or bytes changed."""
    if random.random() < 0.4:
        return octets(random, content)
    ends = [position + 1 for position, byte in enumerate(content) if byte == 0x3E]
    at = random.choice(ends) if ends else 0
    return content[:at] + random.choice(odd) + content[at:]
