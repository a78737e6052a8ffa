"""A folder that the library datasets loads, and that can become a dataset repository as it is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from bedside.core.files import make_folder, write_text
from bedside.ratings.table import write_table
from bedside.reports.exports.contract import ExportForm, WrittenTable
from bedside.reports.exports.exported_study import ExportedStudy
from bedside.reports.exports.study_card import CARD, study_card
from bedside.reports.exports.study_tables import StudyTable, study_tables

#: Folder of the tables.
DATA = "data"
#: The only split: nothing was divided for training.
SPLIT = "test"
#: The table that is loaded unless another is named.
DEFAULT = "ratings"
#: Licences that the Hub has a name for, among those that data can have; any other is told as `other` with its name.
HUB_LICENCES = frozenset(
    "afl-3.0 agpl-3.0 apache-2.0 artistic-2.0 bsd bsd-2-clause bsd-3-clause bsd-3-clause-clear bsl-1.0 c-uda cc "
    "cc-by-2.0 cc-by-2.5 cc-by-3.0 cc-by-4.0 cc-by-nc-2.0 cc-by-nc-3.0 cc-by-nc-4.0 cc-by-nc-nd-3.0 cc-by-nc-nd-4.0 "
    "cc-by-nc-sa-2.0 cc-by-nc-sa-3.0 cc-by-nc-sa-4.0 cc-by-nd-4.0 cc-by-sa-3.0 cc-by-sa-4.0 cc0-1.0 "
    "cdla-permissive-1.0 cdla-permissive-2.0 cdla-sharing-1.0 ecl-2.0 epl-1.0 epl-2.0 etalab-2.0 eupl-1.1 eupl-1.2 "
    "gfdl gpl gpl-2.0 gpl-3.0 isc lgpl lgpl-2.1 lgpl-3.0 lppl-1.3c mit mpl-2.0 ms-pl ncsa odbl odc-by osl-3.0 pddl "
    "unknown unlicense wtfpl zlib".split()
)
_SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B", "1B<n<10B")
_READING = """\
```python
from datasets import load_dataset

ratings = load_dataset("FOLDER", "ratings", split="test")
```

FOLDER is this folder, or the name of the repository that it became. The configurations are {names}. There is one split,
`test`: nothing was set apart for training. Ratings name their transcript by `transcript_id`."""


def _write(study: ExportedStudy, folder: Path) -> tuple[WrittenTable, ...]:
    make_folder(folder / DATA)
    with TemporaryDirectory(prefix=".scratch-", dir=folder) as scratch:
        tables = study_tables(study, Path(scratch))
        for table in tables:
            write_table(folder / DATA / f"{table.name}.parquet", table.rows)
        reading = _READING.format(names=", ".join(f"`{table.name}`" for table in tables))
        card = study_card(study, reading, tables)
        written = tuple(WrittenTable(table.name, table.count()) for table in tables)
        write_text(folder / CARD, f"---\n{_header(study, tables)}---\n\n{card}")
    return written


def _header(study: ExportedStudy, tables: Sequence[StudyTable]) -> str:
    """What the Hub reads of the card."""
    licence = str(study.licence).lower()
    named = {"license": licence} if licence in HUB_LICENCES else {"license": "other", "license_name": study.licence}
    # The Hub knows languages by their first part alone.
    languages = sorted({tag.split("-")[0].lower() for tag in study.run.index["language"].drop_nulls()})
    largest = max(table.count() for table in tables)
    synthetic = ["synthetic"] if set(study.origins["origin"]) == {"simulated"} else []
    header = {
        **named,
        **({"language": languages} if languages else {}),
        "pretty_name": study.title,
        "size_categories": [_size(largest)],
        "task_categories": ["text-classification"],
        "tags": ["bedside", "dialogue", "clinical-conversations", "ratings", *synthetic],
        "configs": [
            {
                "config_name": table.name,
                **({"default": True} if table.name == DEFAULT else {}),
                "data_files": [{"split": SPLIT, "path": f"{DATA}/{table.name}.parquet"}],
            }
            for table in tables
        ],
    }
    return yaml.safe_dump(header, sort_keys=False, allow_unicode=True)


def _size(rows: int) -> str:
    """The Hub's words for so many rows: a power of ten each from a thousand on."""
    return _SIZES[min(len(_SIZES) - 1, max(0, int(math.log10(max(rows, 1))) - 2))]


FORM = ExportForm(
    name="hf-folder",
    title="Hugging Face: Parquet files with a dataset card, which the library datasets loads",
    write=_write,
    for_others=True,
)
