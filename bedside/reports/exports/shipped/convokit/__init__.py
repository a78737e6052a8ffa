"""A ConvoKit corpus, whose conversations and utterances say in their meta how they were rated."""

from __future__ import annotations

from pathlib import Path

from bedside.core.files import sync, write_text
from bedside.reports.exports.contract import ExportForm, WrittenTable
from bedside.reports.exports.exported_study import ExportedStudy
from bedside.reports.exports.study_card import CARD, study_card
from bedside.reports.exports.study_tables import add_ratings
from bedside.transcripts.convokit_corpus import RATINGS_KEY, REASONS_KEY, to_convokit

_READING = f"""\
```python
from convokit import Corpus

corpus = Corpus(filename="FOLDER")
conversation = next(corpus.iter_conversations())
conversation.meta["{RATINGS_KEY}"]
```

FOLDER is this folder. A conversation is a transcript, an utterance a turn, with the id `transcript#index`. The meta of
both has `{RATINGS_KEY}`, which is `{{metric: {{rater: value or label}}}}` with None where a rating is missing, and
`{REASONS_KEY}`, which says in the same way what raters wrote, or why a rating is missing. A rater who rated several
times says after the name which time it is."""


def _write(study: ExportedStudy, folder: Path) -> tuple[WrittenTable, ...]:
    corpus = to_convokit(study.transcripts())
    ratings = study.ratings()
    add_ratings(corpus, ratings)
    corpus.dump("corpus", base_path=str(folder))
    for file in sorted((folder / "corpus").iterdir()):
        file.chmod(0o600)
        sync(file.rename(folder / file.name))
    (folder / "corpus").rmdir()
    write_text(folder / CARD, study_card(study, _READING, ()))
    counts = {
        "conversations": len(corpus.get_conversation_ids()),
        "utterances": len(corpus.get_utterance_ids()),
        "ratings": ratings.height,
    }
    return tuple(WrittenTable(name, rows) for name, rows in counts.items())


FORM = ExportForm(
    name="convokit",
    title="ConvoKit corpus, with the ratings as meta of conversations and utterances",
    write=_write,
    needs_text=True,
    holds_judgements=False,
)
