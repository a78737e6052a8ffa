"""Office files without the time they were made, so that the same tables are the same bytes."""

from __future__ import annotations

import io
import re
import zipfile

#: When a document was made and last changed, in its properties.
_TIMES = re.compile(rb"<dcterms:(created|modified)\b[^>]*>.*?</dcterms:\1>", re.DOTALL)
#: The earliest time that an archive can hold.
_NO_TIME = (1980, 1, 1, 0, 0, 0)


def without_times(archive: bytes) -> bytes:
    """The archive with no times in it, its parts in the same order."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as source, zipfile.ZipFile(out, "w") as target:
        for part in source.infolist():
            content = source.read(part)
            if part.filename == "docProps/core.xml":
                content = _TIMES.sub(b"", content)
            entry = zipfile.ZipInfo(part.filename, _NO_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            target.writestr(entry, content)
    return out.getvalue()
