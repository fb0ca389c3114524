# /// script
# requires-python = ">=3.10"
# dependencies = ["tokenizers>=0.20", "ftfy>=6.1", "regex"]
# ///
"""Golden ids of texts with unusual characters: `uv run gen_tokens.py` writes tokens.tsv.

Every text is tokenised by three programs with CLIP's vocabulary (`trainer/checkpoints/vocab/clip_bpe_merges.txt`):

- `clip`, `open_clip`: the cleaning of notation 3.4 with ftfy and Python's `html`, the splitting
  pattern with each program's own literal markers;
- `transformers`: the pipeline of its fast CLIP tokenizer, in the library that runs it.

All three merge with the same byte-pair encoder of `tokenizers`, so that what differs is what the
programs do before. Ids are exact.
"""

import html
import json
from pathlib import Path

import ftfy
import regex
from tokenizers import AddedToken, Regex, Tokenizer, normalizers, pre_tokenizers
from tokenizers.models import BPE

HERE = Path(__file__).parent
MERGES = HERE.parent.parent / "trainer/checkpoints/vocab/clip_bpe_merges.txt"
START, END = 49406, 49407
WORDS = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
MARKERS = {
    "clip": ("<|startoftext|>", "<|endoftext|>"),
    "open_clip": ("<start_of_text>", "<end_of_text>"),
}

TEXTS = [
    "a photo of a cat.",
    "Tom &amp; Jerry",
    "Tom &amp;amp; Jerry&#39;s &lt;b&gt; &eacute;",
    "it\u2019s a \u201cdog\u201d",
    "o\ufb03ce \ufb01sh \u0132ssel",
    "\uff26\uff35\uff2c\uff2c width \uff12\uff10",
    "cafe\u0301 caf\u00e9",
    "\u03a3\u039f\u03a6\u039f\u03a3",
    "a<|endoftext|>cat",
    "wow!<|endoftext|>!",
    "<|startoftext|> twice",
    "<|ENDOFTEXT|>x",
    "a <end_of_text> b <start_of_text>c",
    "two\u00a0 \u3000blanks\n and\ttabs",
    "I don't think we've 12 caf\u00e9s!",
    "\u4f60\u597d \U0001f600 \u0928\u092e\u0938\u094d\u0924\u0947",
    "\u2173 \u00bd x\u00b2",
    "",
]


def encoder():
    """The byte-pair encoder with CLIP's ids, and the marker ids beside it."""
    lines = MERGES.read_text(encoding="utf-8").splitlines()
    merges = [tuple(line.split()) for line in lines if line and "#version" not in line]
    shown = [b for b in range(256) if 33 <= b <= 126 or 161 <= b <= 172 or 174 <= b <= 255]
    letters = [chr(b) for b in shown]
    letters += [chr(256 + i) for i in range(256 - len(shown))]
    symbols = letters + [c + "</w>" for c in letters] + ["".join(m) for m in merges]
    symbols += ["<|startoftext|>", "<|endoftext|>"]
    vocab = {symbol: i for i, symbol in enumerate(symbols)}
    assert (vocab["<|startoftext|>"], vocab["<|endoftext|>"]) == (START, END)
    return BPE(vocab, merges, end_of_word_suffix="</w>", unk_token="<|endoftext|>")


def words_only():
    """Splits nothing: each text is one word of bytes."""
    tokenizer = Tokenizer(encoder())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return tokenizer


def transformers_fast():
    """As CLIPTokenizerFast builds it."""
    tokenizer = Tokenizer(encoder())
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(WORDS), behavior="removed", invert=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    markers = ["<|startoftext|>", "<|endoftext|>"]
    tokenizer.add_special_tokens([AddedToken(m, normalized=True, special=True) for m in markers])
    return tokenizer


def clean(text):
    text = html.unescape(html.unescape(ftfy.fix_text(text))).strip()
    return regex.sub(r"\s+", " ", text).strip().lower()


def main():
    words, fast = words_only(), transformers_fast()

    def reference(rules, text):
        start, end = MARKERS[rules]
        pattern = regex.compile(f"{regex.escape(start)}|{regex.escape(end)}|{WORDS}", regex.IGNORECASE)
        ids = []
        for piece in regex.findall(pattern, clean(text)):
            named = {start: [START], end: [END]}.get(piece)
            ids += named or words.encode(piece, add_special_tokens=False).ids
        return ids

    lines = ["# written by gen_tokens.py", "rules\ttext\tids"]
    for text in TEXTS:
        rows = {rules: reference(rules, text) for rules in MARKERS}
        rows["transformers"] = fast.encode(text, add_special_tokens=False).ids
        for rules, ids in rows.items():
            ids = " ".join(map(str, [START, *ids, END]))
            lines.append(f"{rules}\t{json.dumps(text)}\t{ids}")
    (HERE / "tokens.tsv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
