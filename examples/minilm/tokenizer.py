"""Sentences to tokens, as BERT's uncased models want them: lower case without accents, words apart
from punctuation, and of each word the longest pieces that the vocabulary has."""
import unicodedata

LONGEST_WORD = 100  # letters; a longer one is unknown
# Ranges of Chinese characters, each of which is a word.
CHINESE = [(0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F),
           (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)]


def is_control(c):
    return c not in "\t\n\r" and unicodedata.category(c)[0] == "C"


def is_punctuation(c):
    ascii_symbol = c.isascii() and c.isprintable() and not c.isalnum() and c != " "
    return ascii_symbol or unicodedata.category(c)[0] == "P"


def is_chinese(c):
    return any(first <= ord(c) <= last for first, last in CHINESE)


def words(text):
    """The words and the single marks of punctuation of a text, in order."""
    kept = "".join(f" {c} " if is_chinese(c) else c for c in text
                   if c not in "\0\ufffd" and not is_control(c))
    plain = "".join(c for c in unicodedata.normalize("NFD", kept)
                    if unicodedata.category(c) != "Mn").lower()
    return "".join(f" {c} " if is_punctuation(c) else c for c in plain).split()


class Tokenizer:
    def __init__(self, vocabulary):
        """`vocabulary`: a file with a piece in each line; those within a word begin with ##."""
        with open(vocabulary, encoding="utf-8") as file:
            self.ids = {line.rstrip("\n"): i for i, line in enumerate(file)}

    def pieces(self, word):
        """The ids of a word's pieces: the longest that it begins with, and so on."""
        found, start = [], 0
        while start < len(word):
            end = len(word)
            prefix = "##" if start else ""
            while end > start and prefix + word[start:end] not in self.ids:
                end -= 1
            if end == start or len(word) > LONGEST_WORD:
                return [self.ids["[UNK]"]]
            found.append(self.ids[prefix + word[start:end]])
            start = end
        return found

    def __call__(self, text, longest=256):
        """The ids of a text's tokens, with [CLS] before and [SEP] behind, `longest` at most."""
        found = [piece for word in words(text) for piece in self.pieces(word)]
        return [self.ids["[CLS]"], *found[:longest - 2], self.ids["[SEP]"]]
