"""The role of a column by its name: exact names in tiers, then the words of the name."""

from __future__ import annotations

import re
from collections.abc import Sequence


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PERSONS = _word_set(
    "user customer client subscriber member person reviewer visitor account patient reader viewer listener player student "
    "buyer shopper borrower cardholder patron guest rider driver passenger employee respondent participant citizen author "
    "kunde kunden nutzer benutzer mitglied utilisateur usuario cliente"
)
_THINGS = _word_set(
    "movie item product article place poi venue url page track song artist book film anime game business location merchant "
    "host domain beer recipe show query app course link site station diagnosis tag joke loc spot restaurant hotel video "
    "tweet hashtag podcast episode album drug medication procedure cell tower antenna wine job artikel produkt produit "
    "producto"
)
_GROUPS = _word_set("store shop department brand genre channel playlist subreddit city")
_RATINGS = _word_set(
    "rating ratings stars score overall reviewscore starrating feedback grade vote preference bewertung"
)
_AMOUNTS = _word_set(
    "quantity qty value amount count plays playcount weight visits clicks views listens hours menge anzahl betrag"
)
_PRICES = _word_set("price unitprice spend sales total cost preis umsatz")
_MOMENTS = _word_set(
    "timestamp datetime ts datestamp unixtimestamp unixreviewtime invoicedate orderdate purchasedate transactiondate "
    "ratingdate reviewdate checkindate eventdate ratedat createdat orderedat purchasedat visitedat listenedat watchedat "
    "eventtime checkintime querytime visittime transactiontime ordertime utctimestamp utctime playedat checkedinat"
)
_ID_WORDS = _word_set(
    "id ids key no nr num number code hash hashed uuid guid anon anonymous anonymized pseudonym pseudo encrypted idx"
)
_ROW_WORDS = _word_set(
    "order invoice transaction trans session basket review rating event row line record index batch ticket receipt bill "
    "entry request log unnamed zip postal"
)
_RECEIPTS = _word_set("receipt invoice basket order transaction bill ticket")
_TIME_WORDS = _word_set(
    "time timestamp date datetime ts at dt when moment epoch utc datum zeit day"
)
_NOT_ENTRY = _word_set(
    "birth born dob birthday birthdate release released publish published join joined signup register registered "
    "registration expiry expires expiration since updated modified"
)
_ATTRIBUTES = _word_set(
    "age zip zipcode postal postcode plz lat latitude lon lng long longitude year month hour minute weekday index row rank "
    "version gender sex offset timezone tz avg average mean median birth height income x y unnamed"
)
_IDENTIFIERS = {
    "e-mail address": "email mail",
    "phone number": "phone telephone mobile fax msisdn tel",
    "IP address": "ip ipaddress",
    "card number": "creditcard creditcardnumber pan",
    "bank account": "iban",
    "national identifier": "ssn passport",
    "street address": "street address",
    "date of birth": "birth dob birthday birthdate born",
    "user name": "username login nickname screenname",
    "device identifier": "imei mac",
}
_PERSON_NAMES = _word_set(
    "firstname lastname surname fullname realname familyname givenname vorname nachname prenom nom"
)


def _joined(stems: frozenset[str], endings: str) -> frozenset[str]:
    """Each stem with each ending; an underscore stands for no ending."""
    return frozenset(stem + ending.strip("_") for stem in stems for ending in endings.split())


# Names as `plain` leaves them, in tiers: the first tier with a column of that name wins.
# Identifiers come before bare nouns, because a table may hold CustomerID and the customer's name.
TIERS: dict[str, tuple[frozenset[str], ...]] = {
    "record": (
        _word_set("record recordid uid userhash") | _joined(_PERSONS, "id number nr nummer"),
        _PERSONS | _word_set("users customers username anonid"),
        _joined(
            _word_set("device household cookie card loyalty loyaltycard"), "_ id key no nr number"
        ),
        _word_set("email emailaddress mail phone phonenumber msisdn"),
    ),
    "item": (
        _word_set("stockcode sku asin isbn ean upc gtin iid") | _joined(_THINGS, "id code nummer"),
        _THINGS | _word_set("items clickurl"),
        _joined(_GROUPS, "id code _"),
        _word_set("title description category categoryid name"),
    ),
    "value": (_RATINGS, _AMOUNTS, _PRICES),
    "time": (_MOMENTS, _word_set("date reviewtime datum"), _word_set("time day epoch week")),
}


class FirstLine(tuple[str, ...]):
    """Names from the first line of a file where nothing says that it holds names: they may be cells, and are not printed."""

    __slots__ = ()


def checked_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names, as a `FirstLine` unless two of them, or half of them, are usual names of columns.

    >>> [type(checked_names(x)).__name__ for x in (("user", "film", "mood"), ("Ann Smith", "Heat", "good"))]
    ['tuple', 'FirstLine']
    """
    usual = frozenset().union(*(tier for tiers in TIERS.values() for tier in tiers))
    found = sum(
        plain(n) in usual or is_record_like(n) or is_item_like(n) or is_time_like(n) for n in names
    )
    return names if found > 1 or 2 * found >= len(names) else FirstLine(names)


def plain(name: str) -> str:
    """Name without case, underscores, hyphens, dots and spaces."""
    return re.sub(r"[\s_.\-]+", "", name).lower()


def words(name: str) -> list[str]:
    """Words that a name consists of, in lower case.

    >>> words("hashedUserID"), words("utc_timestamp")
    (['hashed', 'user', 'id'], ['utc', 'timestamp'])
    """
    spaced = re.sub(r"([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])", r"\1\3 \2\4", name)
    return [word.lower() for word in re.split(r"[^A-Za-zÀ-ÿ]+", spaced) if word]


def is_record_like(name: str) -> bool:
    """Whether the name is a word for a person with words for an identifier: `customer_no`, `anonUserId`."""
    return _is_identifier_of(name, _PERSONS)


def is_item_like(name: str) -> bool:
    """Whether the name is a word for a thing with words for an identifier: `item_key`, `venue_hash`."""
    return _is_identifier_of(name, _THINGS)


def _is_identifier_of(name: str, nouns: frozenset[str]) -> bool:
    rest = [word for word in words(name) if word not in _ID_WORDS]
    return len(rest) == 1 and rest[0] in nouns and len(words(name)) > 1


def is_some_identifier(name: str) -> bool:
    """Whether the name ends like an identifier, of something that is neither a person nor a row: `fooId`."""
    found = words(name)
    rest = [word for word in found if word not in _ID_WORDS]
    return (
        len(found) > 1
        and found[-1] in _ID_WORDS - {"num", "number", "no", "nr"}
        and bool(rest)
        and not any(word in _PERSONS or word in _ROW_WORDS for word in rest)
    )


def is_identifier(name: str) -> bool:
    """Whether the name is that of an identifier, so that its numbers are not measurements."""
    found = words(name)
    return bool(found) and (
        found[-1] in _ID_WORDS or plain(name) in TIERS["item"][0] | TIERS["record"][0]
    )


def is_time_like(name: str) -> bool:
    """Whether a word of the name means a time, and none says that it belongs to the person or the item."""
    found = set(words(name))
    return bool(found & _TIME_WORDS) and not found & _NOT_ENTRY


def is_foreign_date(name: str) -> bool:
    """Whether the name is that of a date of the person or of the item: birth, release, registration."""
    return bool(set(words(name)) & _NOT_ENTRY)


def is_value_like(name: str) -> bool:
    """Whether the last word, or the first, means a value: `user_rating`, `playCount`."""
    found = words(name)
    known = _RATINGS | _AMOUNTS | _PRICES
    return (
        bool(found) and (found[-1] in known or found[0] in known) and not set(found) & _ATTRIBUTES
    )


def is_attribute(name: str) -> bool:
    """Whether the name is that of a number that describes the person, the item or the row."""
    return bool(set(words(name)) & _ATTRIBUTES)


def is_latitude(name: str) -> bool:
    """Whether a word of the name means a latitude."""
    return bool(set(words(name)) & {"lat", "latitude"})


def is_longitude(name: str) -> bool:
    """Whether a word of the name means a longitude."""
    return bool(set(words(name)) & {"lon", "lng", "long", "longitude"})


def position(names: Sequence[str]) -> tuple[str, str] | None:
    """The columns of latitude and longitude by their names; None unless there is one of each.

    >>> position(["user", "lat", "lng"]), position(["user", "lat"])
    (('lat', 'lng'), None)
    """
    lats, lons = ([n for n in names if fits(n)] for fits in (is_latitude, is_longitude))
    return (lats[0], lons[0]) if len(lats) == len(lons) == 1 else None


def direct_identifier(name: str) -> str | None:
    """Kind of direct identifier of a person that the name indicates, or None.

    >>> direct_identifier("customer_name"), direct_identifier("movie_name")
    ('person name', None)
    """
    found, joined = words(name), plain(name)
    if joined in _PERSON_NAMES:
        return "person name"
    if "name" in found and any(word in _PERSONS for word in found):
        return "user name" if "user" in found else "person name"
    known = _IDENTIFIERS.items()
    return next((what for what, names in known if {*found, joined} & _word_set(names)), None)


def is_receipt(name: str) -> bool:
    """Whether the name is that of receipts, and not of their lines: `receipt_no`, `InvoiceNo`, `order`.

    >>> is_receipt("receipt_no"), is_receipt("InvoiceNo"), is_receipt("order_line_id"), is_receipt("invoice_date")
    (True, True, False, False)
    """
    rest = [word for word in words(name) if word not in _ID_WORDS]
    return len(rest) == 1 and rest[0] in _RECEIPTS
