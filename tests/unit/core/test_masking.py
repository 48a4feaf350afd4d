"""Which columns are hidden: by the config's word, by their names, and never those that name a row or a path."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.core.tables.agreement import Agreement, ComparedColumn
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.core.tables.masking import (
    PERSONAL_WORDS,
    Masking,
    is_personal,
    list_shown_columns,
    note_masking,
    split_words,
)

CASES: dict[str, Callable[[list[str]], str]] = {
    "snake": "_".join,
    "SCREAMING": lambda words: "_".join(words).upper(),
    "camel": lambda words: words[0] + "".join(word.title() for word in words[1:]),
    "Pascal": lambda words: "".join(word.title() for word in words),
    "blanks": " ".join,
    "numbered": lambda words: "1".join(words) + "2",
}


@pytest.mark.parametrize(
    "name",
    [
        *(
            "email",
            "E_MAIL",
            "e-mail",
            "customer_email",
            "userPhoneNumber",
            "Name",
            "firstName",
            "customer_name",
            "IBAN",
        ),
        *(
            "emails",
            "customerAddresses",
            "EMAILADDRESS",
            "contactemail",
            "DATEOFBIRTH",
            "postal_code",
            "PostalCode",
            "tel",
        ),
        *("credit_card_no", "social_security_number", "TAX_ID", "password_hash", "bank_account_holder_name"),
        *("shopOwnerFirstName", "host_last_name", "job_applicant_name", "given_names", "lname", "drivers_license"),
        *("client_secret", "apiKey", "API_KEY_2", "access_token", "refreshToken", "private_key", "passphrase"),
        *("ibanNo", "ssn", "date_of_birth", "birthDate", "dob", "street", "homeAddress1", "Zip", "contact name"),
    ],
)
def test_column_named_like_personal_data_is_known(name: str) -> None:
    assert is_personal(name)


LANGUAGES = {
    "de": "vorname Nachname GEBURTSDATUM straße PLZ Telefonnummer E-Mail-Adresse Staatsangehörigkeit "
    "passwort wohnort hausnr Handy Ansprechpartner "
    "gebdat Geb_Datum Reisepass Sozialversicherungsnr Festnetz Kreditkarte FAXNR",
    "fr": "nom prénom PRENOM adresse_client date_naissance code_postal téléphone courriel mot_de_passe sexe domicile "
    "carte_identité passeport compte_bancaire",
    "it": "nome cognome indirizzo data_di_nascita codice_fiscale cellulare nazionalità sesso domicilio "
    "carta_identità passaporto conto_corrente",
    "es": "nombre apellidos dirección calle fecha_nacimiento teléfono correo contraseña dni domicilio código_postal "
    "fecha_nac pasaporte cuenta_bancaria",
    "pl": "imię nazwisko adres ulica data_urodzenia kod_pocztowy pesel płeć hasło nr_telefonu miejsce_zamieszkania "
    "dowód_osobisty paszport numer_konta",
    "ro": "nume prenume adresă strada data_nașterii cnp parolă cod_postal domiciliu "
    "carte_identitate pașaport cont_bancar",
    "nl": "naam voornaam achternaam geboortedatum straat telefoonnummer bsn wachtwoord geslacht woonplaats rekeningnummer "
    "paspoort rijbewijs bankrekening huisnr meisjesnaam",
    "el": "όνομα επώνυμο ΔΙΕΎΘΥΝΣΗ οδός τηλέφωνο ημερομηνία_γέννησης αφμ onoma tilefono "
    "ονοματεπώνυμο ταυτότητα διαβατήριο onomateponymo patronymo tautotita diavatirio",
    "hu": "név vezetéknév keresztnév lakcím utca irányítószám születési_dátum telefonszám jelszó bankszámlaszám lakóhely "
    "anyja_neve személyi_szám útlevél bankszámla",
    "pt": "nome sobrenome endereço rua data_nascimento telemóvel senha nif cartão_cidadão numero_conta",
    "cs": "jméno příjmení adresa ulice psč datum_narození rodné_číslo heslo bydliště číslo_účtu číslo_op číslo_pasu",
    "sv": "namn förnamn efternamn gatuadress postnummer födelsedatum personnummer lösenord födelseort e_post_adress "
    "postadress postnr körkort",
}


@pytest.mark.parametrize(
    ("language", "name"), [(code, name) for code, names in LANGUAGES.items() for name in names.split()]
)
def test_column_named_like_personal_data_in_another_language_is_known(language: str, name: str) -> None:
    assert is_personal(name), language


THINGS = (
    "nom_produit NOME_PRODOTTO nombre_empresa naam_winkel nume_produs produktname preis prix prezzo precio cena cantidad menge "
    "stato estado standort lieferort hausmarke handel partner ansprechzeit "
    "kundennummer numero_commande fecha_pedido datum données τιμή ár pris antal"
)


@pytest.mark.parametrize("name", THINGS.split())
def test_column_of_a_thing_in_another_language_is_not(name: str) -> None:
    assert not is_personal(name)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "product_name",
            "fileName",
            "TABLE_NAME",
            "renamed",
            "mailbox",
            "emailed",
            "phones_sold",
            "emails_sent_by",
            "order_id",
        ),
        *(
            "card_id",
            "number",
            "code",
            "hotel",
            "discard_number_",
            "product_names",
            "business",
            "process",
            "last_order",
        ),
        *("address_space", "birth_rate", "MobileAppVersion", "phone_model", "street_light_id", "zip_file"),
        *("amount", "note", "status", "signature", "country", "namespace", "addressable", ""),
    ],
)
def test_column_of_which_only_a_part_of_a_word_looks_like_it_is_not(name: str) -> None:
    assert not is_personal(name)


@given(
    st.sampled_from(sorted(CASES)), st.sampled_from(sorted(PERSONAL_WORDS)), st.sampled_from(["", "x", "old", "order"])
)
def test_whole_word_is_found_in_every_way_to_write_names(case: str, word: str, other: str) -> None:
    words = [one for one in (other, word) if one]

    assert is_personal(CASES[case](words))
    assert list(split_words(CASES[case](words))) == words


@given(st.text(max_size=30))
def test_any_text_is_a_name_that_can_be_judged(name: str) -> None:
    assert is_personal(name) in (True, False)


def alike(*names: str) -> dict[str, str]:
    """Columns that are called the same on both sides."""
    return {name: name for name in names}


@given(st.sampled_from(["c17", "email"]), st.sampled_from(["c18", "phone"]), st.sampled_from(["hmac", "redact"]))
def test_column_with_two_names_is_masked_for_either_and_shown_by_its_name_at_the_source(
    name: str, lake_name: str, personal: str
) -> None:
    looks = (name, lake_name) != ("c17", "c18")

    assert Masking.of({}, personal).find_mask(name, lake_name) == (personal if looks else None)
    assert len(note_masking(Masking.of({}, personal), {name: lake_name}, {})) == looks
    assert Masking.of({name: "show"}, personal).find_mask(name, lake_name) is None
    assert Masking.of({lake_name: "show"}, personal).find_mask(name, lake_name) == (personal if looks else None)


def test_word_of_the_config_goes_before_the_name_and_case_does_not_count() -> None:
    masking = Masking.of({"EMAIL": "show", "Note": "hmac"}, "redact")

    assert [masking.find_mask(name) for name in ("email", "note", "NOTE", "phone", "amount")] == [
        None, "hmac", "hmac", "redact", None,
    ]  # fmt: skip
    assert Masking.of({}, "show").find_mask("email") is None
    assert Masking.of({}, "hmac").select_masked(alike("email", "phone", "x"), {"phone"}) == {"email": "hmac"}
    assert Masking.of({"Phone": "hmac"}, "show").select_masked(alike("phone"), {"phone"}) == {"phone": "hmac"}
    assert masking.named_among(("email", "note", "phone")) == {"note"}
    assert masking.name_absent(("email", "Phone")) == "note"


def compared(name: str) -> ComparedColumn:
    return ComparedColumn(0, Column(name, Kind.TEXT, "text"), "string")


AGREED = Agreement(
    tuple(compared(name) for name in ("email", "phone_day", "birth", "name", "mail_seq", "note")),
    key=(compared("email"),),
    watermark=(compared("birth"),),
    unverified=(),
    incrementing=compared("mail_seq"),
)


def test_what_names_a_row_or_a_path_is_shown_and_said_with_the_reason() -> None:
    shown = list_shown_columns(AGREED, ("Phone_Day",))
    names = alike(*(one.column.name for one in AGREED.columns))

    notes = note_masking(Masking(), names, shown)

    assert set(shown) == {"email", "birth", "phone_day", "mail_seq"}
    assert Masking().select_masked(names, shown) == {"name": "redact"}
    assert notes[0].startswith("masked, being named like personal data (redact): name; ")
    assert [note.split(": ")[1:] for note in notes[1:]] == [[name, shown[name]] for name in names if name in shown]
    assert "key" in shown["email"]
    assert "paths" in shown["phone_day"]


def test_switched_off_by_column_or_as_a_whole_it_says_nothing() -> None:
    names = alike("email", "note")

    assert note_masking(Masking.of({"Email": "show"}, "redact"), names, {}) == ()
    assert note_masking(Masking.of({"email": "hmac"}, "redact"), names, {}) == ()
    assert note_masking(Masking.of({}, "show"), names, {"email": "key"}) == ()
