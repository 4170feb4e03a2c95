"""Texts that are hard on a tokenizer, from a seed. The same seed, count and pieces give the same texts everywhere."""
import random

BLANKS = ["\t", "\n", "\v", "\f", "\r", "\r\n", "\x1c", "\x1d", "\x1e", "\x1f", " ", "  ", "\x85", "\xa0", "\u1680", "\u180e", "\u2000",
          "\u2004", "\u200a", "\u200b", "\u200c", "\u200d", "\u200e", "\u2028", "\u2029", "\u202f", "\u205f", "\u2060", "\u3000", "\ufeff",
          "\u2581", "\ufffd", "\xad", "\u061c"]
SPECIALS = ["<s>", "</s>", "<pad>", "<unk>", "<mask>"]
# First and last code point of what a script's words are made of.
SCRIPTS = [(0x61, 0x7A), (0x41, 0x5A), (0x30, 0x39), (0xC0, 0x17F), (0x180, 0x24F), (0x250, 0x2AF), (0x370, 0x3FF), (0x400, 0x4FF),
           (0x530, 0x58F), (0x590, 0x5F4), (0x600, 0x6FF), (0x700, 0x74F), (0x750, 0x77F), (0x780, 0x7B1), (0x900, 0x97F), (0x980, 0x9FE),
           (0xA01, 0xA76), (0xA81, 0xAFF), (0xB01, 0xB77), (0xB82, 0xBFA), (0xC00, 0xC7F), (0xC80, 0xCF2), (0xD00, 0xD7F), (0xD81, 0xDF4),
           (0xE01, 0xE5B), (0xE81, 0xEDF), (0xF00, 0xFDA), (0x1000, 0x109F), (0x10A0, 0x10FF), (0x1100, 0x11FF), (0x1200, 0x139F),
           (0x13A0, 0x13FD), (0x1400, 0x167F), (0x1780, 0x17F9), (0x1800, 0x18AA), (0x1E00, 0x1EFF), (0x1F00, 0x1FFE), (0x2070, 0x209C),
           (0x2100, 0x218B), (0x2460, 0x24FF), (0x2E80, 0x2FDF), (0x3041, 0x30FF), (0x3105, 0x312F), (0x3131, 0x318E), (0x3200, 0x33FF),
           (0x4E00, 0x9FFF), (0xA000, 0xA4C6), (0xA960, 0xA97C), (0xAC00, 0xD7A3), (0xD7B0, 0xD7FB), (0xF900, 0xFAD9), (0xFB00, 0xFDFF),
           (0xFE30, 0xFE6B), (0xFE70, 0xFEFC), (0xFF01, 0xFFEE), (0x10400, 0x1044F), (0x1D400, 0x1D7FF), (0x1F100, 0x1F2FF), (0x20000, 0x2A6DF),
           (0x2F800, 0x2FA1D)]
MARKS = [(0x300, 0x36F), (0x483, 0x489), (0x591, 0x5BD), (0x610, 0x61A), (0x64B, 0x65F), (0x93A, 0x94F), (0x9BC, 0x9CD), (0xBBE, 0xBCD),
         (0xE31, 0xE4E), (0xF71, 0xF84), (0x102B, 0x103E), (0x17B4, 0x17D3), (0x1AB0, 0x1ACE), (0x1DC0, 0x1DFF), (0x20D0, 0x20F0),
         (0x302A, 0x302F), (0x3099, 0x309A), (0xFE00, 0xFE0F), (0xFE20, 0xFE2F), (0xFF9E, 0xFF9F), (0x1D165, 0x1D172)]
PREPEND = [0x600, 0x601, 0x605, 0x6DD, 0x70F, 0x8E2, 0xD4E, 0x110BD, 0x110CD, 0x111C2]
EMOJI = [(0x1F300, 0x1F5FF), (0x1F600, 0x1F64F), (0x1F680, 0x1F6FF), (0x1F900, 0x1F9FF), (0x2600, 0x27BF), (0x1FA70, 0x1FAFF)]
PUNCTUATION = list(".,;:!?-_'\"()[]{}<>/\\|@#$%^&*+=~`") + ["\u2026", "\u2014", "\u2018", "\u201c", "\xab", "\u3002", "\uff0c", "\u061f", "\u0964", "\xb7", "\xaf", "\xa8"]


class TextGenerator:
    def __init__(self, seed, pieces=()):
        self.random = random.Random(seed)
        # A piece with its blank: what the decoder would print.
        self.pieces = [piece.replace("\u2581", " ") for piece in pieces]
        self.kinds = [(6, self.words), (2, self.stack), (2, self.emoji), (2, self.blanks), (1, self.special),
                      (1, self.disguised_special), (2, self.controls), (2, self.jamo_and_kana), (2, self.tie),
                      (1, self.any_code_points), (2, self.punctuation), (1, self.long_run)]
        if self.pieces:
            self.kinds += [(4, self.glued_pieces), (3, self.common_pieces)]
        self.weights = [weight for weight, _ in self.kinds]

    def add_pipeline_kinds(self, added, strings):
        """Also texts that are hard on one pipeline: `added` are its added tokens, `strings` what its stages look for."""
        self.added = added or ["<unk>"]
        self.strings = strings + [" ", "  "]
        self.kinds += [(5, self.added_tokens), (3, self.stage_strings), (3, self.cases), (3, self.composed), (2, self.numbers),
                       (2, self.ideographs)]
        self.weights = [weight for weight, _ in self.kinds]

    def added_tokens(self):
        around = ["", "", "", " ", "  ", "a", "Z", "_", "5", ".", "\u00e9", "\u0301", "\u6771", "\t", "\u3000", "\n"]
        out = []
        for _ in self.some(1, 5):
            token = self.one_of(self.added)
            change = self.random.random()
            if change < 0.1:
                token = token.upper() if change < 0.05 else token.lower()
            elif change < 0.2:
                token = token[:self.random.randrange(len(token)) + 1]
            out += [self.one_of(around), token, self.one_of(around)]
        return "".join(out)

    def stage_strings(self):
        return "".join(self.one_of((self.one_of(self.strings), self.one_of("ab 0.T"))) for _ in self.some(1, 8))

    def cases(self):
        odd = ["\u0130", "\u0131", "\u1e9e", "\xdf", "\u03a3", "\u03c2", "\u01c5", "\u1f88", "\u2126", "\u212a", "\u017f", "\u0149",
               "\ufb01", "\u0345", "\u10a0", "\u13a0", "\uab70", "\u24b6", "\u2160", "\ua64a", "\u1c80", "the", "The", "THE"]
        return "".join(self.one_of((self.one_of(odd), self.in_range([(0x41, 0x5A), (0xC0, 0x24F), (0x370, 0x52F), (0x10400, 0x1044F)])))
                       for _ in self.some(1, 8))

    def composed(self):
        ranges = [(0xC0, 0x17F), (0x1E00, 0x1FFF), (0x1D15E, 0x1D164), (0x958, 0x95F), (0xFB1D, 0xFB4E), (0x2F800, 0x2FA1D), (0xF900, 0xFAFF),
                  (0x340, 0x345), (0xF73, 0xF81), (0x2100, 0x214F), (0x1D400, 0x1D7FF), (0x3300, 0x33FF), (0x11099, 0x110AB), (0x11935, 0x11938)]
        return "".join(self.in_range(ranges) + "".join(self.in_range(MARKS) for _ in self.some(0, 4)) for _ in self.some(1, 5))

    def numbers(self):
        ranges = [(0x30, 0x39), (0x660, 0x669), (0x966, 0x96F), (0xB2, 0xB9), (0xBC, 0xBE), (0x2150, 0x2189), (0x2460, 0x249B), (0x3007, 0x3007),
                  (0x3021, 0x3029), (0x4E00, 0x4E09), (0xFF10, 0xFF19), (0x1D7CE, 0x1D7FF), (0x1FBF0, 0x1FBF9), (0x10107, 0x10133)]
        return "".join(self.one_of((self.in_range(ranges), self.in_range(ranges), self.one_of(PUNCTUATION), "a")) for _ in self.some(1, 9))

    def ideographs(self):
        ranges = [(0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x3041, 0x30FF), (0xAC00, 0xD7A3), (0x20000, 0x2A6DF), (0x2B740, 0x2CEAF), (0xF900, 0xFAFF),
                  (0x61, 0x7A), (0x30FC, 0x30FC), (0x3000, 0x3003)]
        return "".join(self.one_of((self.in_range(ranges), self.one_of(("", " ", "\u3000")))) for _ in self.some(2, 12))

    def text(self):
        parts = self.random.choices(self.kinds, self.weights, k=self.random.choice((1, 1, 2, 2, 3, 4, 6, 9)))
        joint = self.random.choice(("", "", " ", " ", self.one_of(BLANKS)))
        return joint.join(kind() for _, kind in parts)

    def one_of(self, values):
        return values[int(self.random.random() * len(values))]

    def in_range(self, ranges):
        first, last = self.one_of(ranges)
        return chr(self.random.randint(first, last))

    def some(self, low, high):
        return range(self.random.randint(low, high))

    def words(self):
        out = []
        for _ in self.some(1, 8):
            script = self.one_of(SCRIPTS) if self.random.random() < 0.7 else SCRIPTS[0]
            out.append("".join(self.in_range([script]) for _ in self.some(1, 9)))
        return " ".join(out)

    def stack(self):
        base = self.in_range(SCRIPTS) if self.random.random() < 0.9 else chr(self.one_of(PREPEND))
        return "".join(self.one_of(("", base)) + base + "".join(self.in_range(MARKS) for _ in self.some(0, 6)) for _ in self.some(1, 4))

    def emoji(self):
        joints = ["\u200d", "\ufe0f", "\U0001f3fd", "\u20e3", "", "", " "]
        flags = "".join(chr(0x1F1E6 + self.random.randrange(26)) for _ in self.some(0, 5))
        return "".join(self.in_range(EMOJI) + self.one_of(joints) for _ in self.some(1, 6)) + flags

    def blanks(self):
        return "".join(self.one_of(BLANKS) for _ in self.some(1, 6))

    def special(self):
        return "".join(self.one_of(("", " ", "  ", "a", self.one_of(BLANKS))) + self.one_of(SPECIALS) for _ in self.some(1, 4))

    def disguised_special(self):
        out = []
        for character in self.one_of(SPECIALS):
            if self.random.random() < 0.4:
                character = chr(ord(character) + 0xFEE0)  # full width
            if self.random.random() < 0.15:
                character += self.one_of(["\x01", "\x08", "\xad", "\u0301", "\u200b"])
            out.append(character)
        return "".join(out)

    def controls(self):
        return "".join(self.one_of((chr(self.random.randrange(32)), chr(self.random.randrange(0x7F, 0xA0)), "a", "b", " "))
                       for _ in self.some(1, 8))

    def jamo_and_kana(self):
        ranges = [(0x1100, 0x115F), (0x1160, 0x11A7), (0x11A8, 0x11FF), (0xAC00, 0xD7A3), (0x3131, 0x3163), (0xFF61, 0xFF9F),
                  (0x304B, 0x307D), (0x3099, 0x309A), (0xFFA0, 0xFFDC)]
        return "".join(self.in_range(ranges) for _ in self.some(1, 10))

    def tie(self):
        letter = self.one_of("abcdefghiklmnopqrstuvwxyz0123456789.?!-=*") if self.random.random() < 0.8 else self.in_range(SCRIPTS)
        run = letter * self.random.randint(2, 14)
        return self.one_of(("", "a", "-", ".", "s")) + run + self.one_of(("", "0", "a", "n", "."))

    def any_code_points(self):
        out = []
        for _ in self.some(1, 8):
            value = self.random.randrange(self.one_of((0x100, 0x3000, 0x10000, 0x20000, 0x110000)))
            out.append("\ufffd" if 0xD800 <= value < 0xE000 else chr(value))
        return "".join(out)

    def punctuation(self):
        return "".join(self.one_of(PUNCTUATION) * self.one_of((1, 1, 1, 2, 3, 5)) for _ in self.some(1, 6))

    def long_run(self):
        unit = self.one_of((self.in_range(SCRIPTS), self.one_of(PUNCTUATION), "ab", self.in_range(SCRIPTS) + self.in_range(MARKS)))
        return unit * self.random.randint(20, 120)

    def glued_pieces(self):
        return "".join(self.one_of(self.pieces) for _ in self.some(1, 10))

    def common_pieces(self):
        common = min(len(self.pieces), 4000)
        return "".join(self.pieces[self.random.randrange(common)] for _ in self.some(3, 30))
