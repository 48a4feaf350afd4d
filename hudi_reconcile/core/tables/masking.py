"""Which columns' values are shown to nobody: those that the config names, and those named like personal data.

A name is taken apart at underscores, blanks, digits and changes of case; whole words count, so that `emails_sent_by` is none
and `customerEmail` is one. Pure; how a value is hidden is decided elsewhere.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from hudi_reconcile.core.tables.agreement import Agreement

SHOW: Final = "show"

_PERSONAL: Final = """
    address addr apikey bic birth birthdate birthday birthplace cvc cvv dob email ethnicity fax firstname fname forename
    fullname gender iban income lastname lname maiden mail mobile msisdn nationality nickname passphrase passport passwd
    password phone phoneno phonenumber postalcode postcode religion salary secret sex ssn street surname tel telefon
    telephone username zip zipcode
"""
# The same in German, French, Italian, Spanish, Polish, Romanian, Dutch, Greek, Hungarian, Portuguese, Czech and Swedish, without
# accents; German also with its digraphs. Words that mean something else in English or in catalogues as well are left out.
_ELSEWHERE: Final = """
    adresse anschrift ausweisnummer einkommen familienname gebdatum geburtsdatum geburtsname geburtsort geburtstag
    gehalt geschlecht handynummer hausnummer kennwort kontonummer mobilnummer mobiltelefon nachname nationalitat nationalitaet
    passnummer passwort personalausweis plz postleitzahl sozialversicherungsnummer staatsangehorigkeit
    staatsangehoerigkeit steuerid steuernummer strasse telefonnummer vorname
    ansprechpartner ansprechpartnerin ausweisnr bankverbindung ehepartner emailadresse familienstand geburtsjahr geburtsland
    handy handynr hausnr kontoinhaber kontonr mailadresse mobilnr passnr rufname steuernr telefonnr telnr wohnadresse wohnort
    faxnummer faxnr festnetz festnetznummer fuhrerschein fuehrerschein gebdat kreditkarte kreditkartennummer
    rentenversicherungsnummer reisepass sozialversicherungsnr svnr
    codepostal passeport conjoint courriel domicile motdepasse naissance nationalite nomfamille numtel prenom rue salaire sexe
    cellulare codicefiscale passaporto cognome coniuge domicilio indirizzo nascita nazionalita reddito residenza sesso
    stipendio telefono
    apellido apellidos calle celular codigopostal contrasena conyuge correo direccion dni genero ingresos movil nacimiento
    pasaporte
    nacionalidad salario sexo
    adres adresu paszport paszportu dochod haslo imie imiona narodowosc nazwisko obywatelstwo pesel plec telefonu ulica
    urodzenia urodzenie
    wynagrodzenie zamieszkania zamieszkanie
    adresa cetatenie cnp domiciliu nastere nasterii nationalitate parola pasaport pasaportului prenume salariu strada venit
    bankrekening huisnr meisjesnaam paspoort paspoortnummer rijbewijs telefoonnr
    achternaam bsn burgerservicenummer emailadres geboorte geboortedatum geboorteland geboorteplaats geslacht huisnummer
    inkomen mobiel nationaliteit rekeningnummer roepnaam salaris straat straatnaam telefoon telefoonnummer
    tussenvoegsel voornaam wachtwoord woonadres woonplaats
    afm amka diefthynsi dieythynsi eponymo fylo gennisis ithageneia kinito odos onoma tilefono
    diavatirio onomateponymo patronymo tautotita
    adoszam allampolgarsag bankszamla bankszamlaszam utlevel utlevelszam csaladnev fizetes iranyitoszam jelszo keresztnev
    lakcim lakohely mobilszam
    szuletes szuletesi tajszam telefonszam utca utonev vezeteknev
    apelido cep cpf endereco morada nacionalidade nascimento nif rua senha sobrenome telefone telemovel
    bydliste heslo jmeno krestni mobil narodnost narozeni obcanstvi pohlavi prijmeni psc rodnecislo ulice
    korkort postadress postnr telefonnr
    adress bankkonto bostadsadress efternamn epostadress fodelsedag fodelsedatum fodelseort fornamn gata gatuadress
    hemadress losenord mobilnummer nationalitet personnummer postnummer
"""
_GREEK: Final = """
    αμκα αφμ γεννησης γεννηση διαβατηριο διευθυνση εθνικοτητα επωνυμο κινητο μισθος οδος ονομα ονοματεπωνυμο πατρωνυμο
    ταυτοτητα τηλεφωνο φυλο
"""
# Words that only together name what belongs to a person.
_TOGETHER: Final = """
    access_token account_number api_key auth_token card_number credit_card driver_licence driver_license drivers_licence
    drivers_license national_id postal_code private_key refresh_token social_security tax_id code_postal codice_fiscale
    codice_postale cod_postal codigo_postal de_passe kod_pocztowy mot_passe nom_famille numero_secu anyja_neve
    carta_identita cartao_cidadao carte_identitate carte_identite cislo_op cislo_pasu cislo_uctu compte_bancaire
    cont_bancar conto_corrente cuenta_bancaria dowod_osobisty fecha_nac geb_datum numer_konta numero_conta numero_cuenta
    numero_portable patente_guida rodne_cislo szemelyi_szam
"""
# Words that together name no person's.
_ELSE: Final = "address_space birth_rate email_template fax_machine mobile_app phone_model street_light zip_file"
# What is written as one word, in catalogues of capitals above all.
_RUN_TOGETHER: Final = ("email", "birthdate", "dateofbirth", "phonenumber", "surname", "firstname", "lastname")
_ADDRESSES: Final = ("emailaddr", "mailaddr")
# `name` alone may be anybody's; beside one of these it is the name of a thing.
_NAME: Final = "name"
_NAMES: Final = frozenset(("name", "naam", "namn", "nev", "nom", "nombre", "nome", "nume"))
_NAMED_THINGS: Final = """
    app application bank brand branch bucket category channel city class cluster column country currency database db department
    device domain event feature field file folder group host item job key language location method metric model module object
    package partition path plan process product program project property queue region role rule schema server service shop site
    source state status store system table tag target task team topic type unit version warehouse
    archivo articolo articulo artikel artigo banca banco banque categoria categorie champ colonna colonne columna coluna empresa
    entreprise fichier firma kategorie kategoria konto land magasin magazin marca marque pais pays paese prodotto producto produit
    produkt produs produto projekt projet proyecto projeto rubrique societe spalte stad stadt tabel tabela tabelle tabella tabla
    termek tienda ville ciudad cidade citta winkel negozio loja azienda bedrijf foretag spolecnost
"""
# Before `name` these say that it is a person's, whatever thing the person belongs to.
_PEOPLE: Final = ("applicant", "contact", "first", "given", "holder", "last", "middle", "owner", "patient", "recipient")
PERSONAL_WORDS: Final = frozenset((*_PERSONAL.split(), *_ELSEWHERE.split()))
_KNOWN: Final = PERSONAL_WORDS | frozenset(_GREEK.split())
_THINGS: Final = frozenset(_NAMED_THINGS.split())
_PARTS_OF_THINGS: Final = frozenset(tuple(pair.split("_")) for pair in _ELSE.split())
_PAIRS: Final = frozenset(tuple(pair.split("_")) for pair in _TOGETHER.split())
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_LETTERS = re.compile(r"[^\W\d_]+")
_WITHOUT_ACCENT: Final = str.maketrans(
    {"ß": "ss", "ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "đ": "d", "æ": "ae", "œ": "oe"}
)


def is_personal(column: str) -> bool:
    """True where the name looks like one of personal data.

    >>> [is_personal(name) for name in ("customerEmail", "phone_2", "name", "product_name", "renamed", "IBANText")]
    [True, True, True, False, False, True]
    >>> [is_personal(name) for name in ("Geburtsdatum", "prénomClient", "nom_produit", "Τηλέφωνο", "data_urodzenia")]
    [True, True, False, True, True]
    """
    words = list(split_words(strip_accents(column)))
    pairs = set(pairwise(words))
    of_things = {word for pair in pairs & _PARTS_OF_THINGS for word in pair}
    words = [word for word in words if word not in of_things]
    # Several of them at the end of a name: `customer_emails`, and not `emails_sent_by`.
    known = {*words, *(word.removesuffix(plural) for word in words[-1:] for plural in ("s", "es"))}
    if not known.isdisjoint(_KNOWN) or not pairs.isdisjoint(_PAIRS):
        return True
    if any(word.endswith(_RUN_TOGETHER) or word.startswith(_ADDRESSES) for word in words):
        return True
    persons = any((who, name) in pairs for who in _PEOPLE for name in (_NAME, "names"))
    return persons or (not _NAMES.isdisjoint(words) and _THINGS.isdisjoint(words))


def strip_accents(text: str) -> str:
    """The text in its letters alone.

    >>> strip_accents("Straße"), strip_accents("imię"), strip_accents("Ñame")
    ('Strasse', 'imie', 'Name')
    """
    return "".join(
        char
        for char in unicodedata.normalize("NFKD", text.translate(_WITHOUT_ACCENT))
        if not unicodedata.combining(char)
    )


def split_words(name: str) -> Iterator[str]:
    """The words of a name in snake, camel or any other case, in lower case.

    >>> list(split_words("e_mail2HTTPServer-Ñame"))
    ['e', 'mail', 'http', 'server', 'ñame']
    """
    for letters in _LETTERS.findall(name):
        yield from (word.lower() for word in (_WORD.findall(letters) if letters.isascii() else [letters]))


@dataclass(frozen=True, slots=True)
class Masking:
    """What the config says of one table: how columns are masked by name, and what becomes of those named like personal data.

    `named` is in lower case and may hold `show`; case does not count, for a mask that missed its column would show it.
    """

    named: Mapping[str, str] = field(default_factory=dict)
    personal: str = "redact"

    @staticmethod
    def of(named: Mapping[str, str], personal: str) -> Masking:
        """The masking of a config's table."""
        return Masking({name.lower(): how for name, how in named.items()}, personal)

    def find_mask(self, column: str, lake_name: str = "") -> str | None:
        """`hmac` or `redact`; None where the column is shown. The config names source columns; either name may look personal."""
        said = self.named.get(column.lower())
        if said is None and self.is_left_to_name(column, lake_name):
            said = self.personal
        return None if said == SHOW else said

    def is_left_to_name(self, column: str, lake_name: str = "") -> bool:
        """True where the config leaves the column to its name, and that looks like one of personal data."""
        return column.lower() not in self.named and (is_personal(column) or is_personal(lake_name))

    def select_masked(self, columns: Mapping[str, str], shown: Collection[str] = ()) -> dict[str, str]:
        """The masked columns among these, and how. `columns`: lake name by source name.

        Columns that have to be `shown` are masked by the word of the config alone.
        """
        masks = (
            (name, self.find_mask(name, lake_name))
            for name, lake_name in columns.items()
            if name not in shown or not self.is_left_to_name(name, lake_name)
        )
        return {name: how for name, how in masks if how is not None}

    def named_among(self, columns: Iterable[str]) -> frozenset[str]:
        """The columns among these that the config itself says are masked."""
        return frozenset(name for name in columns if self.named.get(name.lower(), SHOW) != SHOW)

    def name_absent(self, columns: Iterable[str]) -> str:
        """What the config names and these columns are not, joined by commas."""
        known = {name.lower() for name in columns}
        return ", ".join(sorted(name for name in self.named if name not in known))


AS_NAMED = Masking()


def list_shown_columns(agreement: Agreement, in_paths: Collection[str]) -> dict[str, str]:
    """The columns of a comparison of which values are shown whatever their names, each with the reason."""
    moving = agreement.watermark if agreement.incrementing is None else (*agreement.watermark, agreement.incrementing)
    compared = (*agreement.columns, *moving, *agreement.key)
    return list_shown_names(
        {item.column.name: item.column.lake_name for item in compared},
        key=[item.column.name for item in agreement.key],
        moving=[item.column.name for item in moving],
        in_paths=in_paths,
    )


def list_shown_names(
    columns: Mapping[str, str], *, key: Collection[str], moving: Collection[str], in_paths: Collection[str]
) -> dict[str, str]:
    """The columns of which values are shown whatever their names, each with the reason. `columns`: lake name by source name.

    `key` and `moving` (what pulls go by) are source names; `in_paths` are columns, by either name, whose values stand in
    the lake's partition paths. Case does not count.
    """
    reasons = (
        (key, "it is part of the key, by which findings name a row"),
        (moving, "pulls go by it, and findings and checkpoints show it"),
        (in_paths, "the lake's partition paths hold it, and findings show those"),
    )
    reasons_by_name: dict[str, str] = {}
    for names, why in reasons:
        known = {name.lower() for name in names}
        for name, lake_name in columns.items():
            if name.lower() in known or (names is in_paths and lake_name.lower() in known):
                reasons_by_name.setdefault(name, why)
    return reasons_by_name


def note_masking(masking: Masking, columns: Mapping[str, str], shown: Mapping[str, str]) -> tuple[str, ...]:
    """What was masked for its name alone, and what could not be; one line each. `columns`: lake name by source name."""
    by_name = [name for name, lake_name in columns.items() if masking.is_left_to_name(name, lake_name)]
    hidden = ", ".join(name for name in by_name if name not in shown)
    notes = []
    if hidden and masking.personal != SHOW:
        notes.append(
            f"masked, being named like personal data ({masking.personal}): {hidden}; "
            "to see one: mask: {COLUMN: show}, to see all: personal: show"
        )
    if masking.personal != SHOW:
        notes += [
            f"named like personal data and NOT masked: {name}: {shown[name]}" for name in by_name if name in shown
        ]
    return tuple(notes)
