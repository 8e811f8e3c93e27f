"""Files with separated values: separators, decimal commas and encodings are recognised and said."""

import gzip
import io

import pandas as pd
import pytest

from bayesvb.data.csv_files import NO_LEVEL, CsvFormat, read_csv
from bayesvb.errors import DataError

ROWS = pd.DataFrame({"x": [0.5, -2.0], "name": ["Müller, A.", "Łódź"], "n": [1, 2]})


def written(separator=",", decimal=".", encoding="utf-8", frame=ROWS):
    text = frame.to_csv(sep=separator, decimal=decimal, index=False)
    return text.encode(encoding)


FILES = {
    "commas": (written(), 0),
    "byte order mark": (written(encoding="utf-8-sig"), 0),
    "compressed": (gzip.compress(written()), 0),
    "semicolons": (written(";"), 1),
    "decimal commas": (written(";", ","), 1),
    "tabs": (written("\t"), 1),
    "bars": (written("|"), 1),
}


@pytest.mark.parametrize("kind", FILES)
def test_a_table_comes_back_and_what_was_recognised_is_said(kind):
    content, n_notes = FILES[kind]
    frame, notes = read_csv(content, "a.csv")
    pd.testing.assert_frame_equal(frame, ROWS)
    assert len(notes) == n_notes


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_what_is_not_utf_8_is_read_as_latin_1(encoding):
    rows = ROWS.replace("Łódź", "“é”" if encoding == "cp1252" else "é")
    frame, (note,) = read_csv(written(encoding=encoding, frame=rows), "a.csv")
    pd.testing.assert_frame_equal(frame, rows)
    assert "not UTF-8" in note


def test_dates_of_iso_8601_are_dates_and_said_to_be():
    content = b"when,day,y\n2020-01-31,31.1.,1\n,1.2.,2\n"
    frame, notes = read_csv(content, "a.csv")
    assert frame["when"].tolist() == [pd.Timestamp("2020-01-31"), pd.NaT]
    assert notes == ["a.csv: `when` read as dates"] and frame["day"].tolist() == ["31.1.", "1.2."]


def test_codes_that_differ_by_leading_zeros_are_text():
    content = b"id,month,x\n7,01,0.5\n007,12,00.5\n,03,1\n"
    frame, notes = read_csv(content, "a.csv")
    assert frame["id"].dropna().tolist() == ["7", "007"]
    assert frame["month"].tolist() == [1, 12, 3] and frame["x"].tolist() == [0.5, 0.5, 1.0]
    assert notes == ["a.csv: `id` read as text: leading zeros distinguish values"]


def test_what_is_given_is_not_recognised():
    frame, notes = read_csv(b"a;b,c\n1;2,3\n", "a.csv", CsvFormat(","))
    assert list(frame) == ["a;b", "c"] and notes == []
    frame, notes = read_csv(written(encoding="utf-16"), "a.csv")
    pd.testing.assert_frame_equal(frame, ROWS)
    assert notes == ["a.csv: not UTF-8, read as utf-16; --sep and --encoding say otherwise"]
    frame, notes = read_csv(written(encoding="utf-16"), "a.csv", CsvFormat(encoding="utf-16"))
    pd.testing.assert_frame_equal(frame, ROWS)
    assert notes == []


def test_separators_between_quotes_do_not_count_and_texts_with_commas_stay_texts():
    frame, notes = read_csv(b'"a;b;c;d",x\n1,2\n', "a.csv")
    assert list(frame) == ["a;b;c;d", "x"] and notes == []
    frame, _ = read_csv(b"k;x\n1,5;2\na,b;3\n", "a.csv")
    assert frame["k"].tolist() == ["1,5", "a,b"]


WRONG = {
    "UTF-16 without its mark": (written(encoding="utf-16-le"), CsvFormat(), "utf-16"),
    "a broken gzip": (b"\x1f\x8b\x08" + b"broken" * 9, CsvFormat(), "cannot be read as CSV"),
    "another encoding": (written(), CsvFormat(encoding="ascii"), "another encoding"),
    "no encoding": (written(), CsvFormat(encoding="nothing"), "encoding='nothing'"),
    "cut off": (gzip.compress(written())[:30], CsvFormat(), "cannot be read as CSV"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_cannot_be_read_is_named(kind):
    content, form, message = WRONG[kind]
    with pytest.raises(DataError, match=message):
        read_csv(content, "a.csv", form)


def test_commands_read_the_standard_input_and_say_what_they_recognised(command, tmp_path):
    rows = "times;accel\n" + "\n".join(f"{i};{i % 7},5" for i in range(40))
    saved = str(tmp_path / "a.nc")
    words = ["accel ~ times", "-", "--components", "1", "--restarts", "1", "--seed", "1"]
    fitted = command("fit", *words, "--save", saved, input=rows.encode())
    assert fitted.exit_code == 0, fitted.output
    assert "note: standard input: values are separated by semicolons" in fitted.stderr
    predicted = command("predict", saved, "-", "--sep", "tab", input="times\tz\n1\t2\n")
    assert predicted.exit_code == 0 and predicted.stderr == ""
    assert len(pd.read_csv(io.StringIO(predicted.stdout))) == 1
    refused = command("predict", saved, "-", "--sep", "ab", input="times\n1\n")
    assert refused.exit_code == 2 and "one character" in refused.stderr


def test_values_none_of_text_may_be_a_level():
    frame, notes = read_csv(b"bags,n\nDriver,1\nNone,None\n,3\nNone,4\n", "a.csv")
    assert frame["bags"].isna().sum() == 3
    assert notes == ["a.csv: `bags`: 2 values None read as missing; " + NO_LEVEL]
