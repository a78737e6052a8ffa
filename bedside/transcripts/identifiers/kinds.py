"""What is looked for: the kinds of identifiers, and the languages in which they can be seen."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

#: What each kind is, in the order that tables have them.
KINDS: Mapping[str, str] = MappingProxyType(
    {
        "name": "names and nicknames of people",
        "date": "dates with a day, or with a month and a year; no lone year, and not last Tuesday",
        "age": "ages over 89",
        "phone": "phone and fax numbers, also told digit by digit",
        "email": "e-mail addresses, also as they are spoken",
        "link": "web addresses and handles of social networks",
        "ip": "addresses of computers",
        "record_number": "numbers of records, patients, insurances and identity papers",
        "account": "numbers of bank accounts and cards",
        "address": "streets with a house number, and post boxes",
        "postal_code": "postal codes",
        "place": "towns, regions and countries, clinics and schools",
    }
)

#: How far each language can be looked at, by its BCP 47 tag.
LANGUAGES: Mapping[str, str] = MappingProxyType(
    {"en": "by patterns, and by a model of names", "de": "by patterns", "zh": "by patterns"}
)

NO_PROMISE = (
    "This is no promise of anonymity: what isn't listed may still say who somebody is, and no program sees all of it. "
    "Have a person read what is to leave this machine."
)
