# /// script
# requires-python = ">=3.10"
# dependencies = []
# ///
"""Write imagenet.tsv: `uv run make_imagenet.py WORDNET.tsv`, or `--check WORDNET.tsv` to compare only.

WORDNET.tsv is the part of WordNet 3.0 above ImageNet's 1,000 classes, made like wordnet.tsv (see
README.md): columns synset, names, hypernyms, labelled. imagenet-names.tsv says what changes: the name
that people use comes first, and so does the hypernym that a path should follow. No synset, hypernym
or label is added or removed, and WordNet's own names stay as synonyms.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
COLUMNS = ["synset", "names", "hypernyms", "labelled"]
CURATED = ["synset", "name", "first_hypernym"]


def read(path, columns):
    """The rows of a table, checked against its header."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    if lines[0].split("\t") != columns:
        sys.exit(f"{path}, line 1: expected the columns {columns}, found {lines[0]!r}")
    rows = [line.split("\t") for line in lines[1:]]
    for number, row in enumerate(rows, 2):
        if len(row) != len(columns):
            sys.exit(f"{path}, line {number}: expected {len(columns)} columns, found {len(row)}")
    return rows


def moved_to_front(first, others):
    """`others` with `first` at the front, whether it was among them or not."""
    return [first] + [other for other in others if other != first]


def make(source):
    """The text of imagenet.tsv."""
    curated = {row[0]: row[1:] for row in read(HERE / "imagenet-names.tsv", CURATED)}
    out = ["\t".join(COLUMNS)]
    for synset, names, hypernyms, labelled in read(source, COLUMNS):
        names, hypernyms = names.split("|"), hypernyms.split("|")
        name, first = curated.pop(synset, ["", ""])
        if name:
            names = moved_to_front(name, names)
        if first:
            if first not in hypernyms:
                sys.exit(f"{synset}: {first} is not among its hypernyms {hypernyms}")
            hypernyms = moved_to_front(first, hypernyms)
        out.append("\t".join([synset, "|".join(names), "|".join(hypernyms), labelled]))
    if curated:
        sys.exit(f"imagenet-names.tsv has synsets that {source} lacks: {sorted(curated)}")
    return "\n".join(out) + "\n"


def main(arguments):
    check = "--check" in arguments
    sources = [argument for argument in arguments if argument != "--check"]
    if len(sources) != 1:
        sys.exit(__doc__)
    text, target = make(sources[0]), HERE / "imagenet.tsv"
    if not check:
        target.write_text(text, encoding="utf-8", newline="\n")
    elif target.read_text(encoding="utf-8") != text:
        sys.exit("imagenet.tsv differs from what its tables make")


main(sys.argv[1:])
