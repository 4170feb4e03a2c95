"""Our own hard texts for tools/make_golden: what each group is after is its name. Expected values are the reference's."""

BLANKS = "\t\n\v\f\r\x1c\x1d\x1e\x1f \u0085\u00a0\u1680\u2000\u2003\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
NEARLY_BLANK = "\u180e\u200b\u200c\u200d\u200e\u200f\u2060\u00ad\u061c\ufeff\u2581\ufffd"

HARD = {
    "plain": [
        "", " ", "   ", "\n", "a", "Hello, world!", "The quick brown fox jumps over the lazy dog.",
        "3.14159 1,000,000 42% $9.99 #1 @home", "don't can't won't it's", "http://example.org/a?b=c&d=%20e#f",
        "a,b;c:d.e!f?g", "a , b ; c : d . e", "(((nested) brackets) [and] {more})", "x = y + z * (1 - w) / 2;",
        "UPPER lower MiXeD cAsE", "e-mail co-operate re-enter -- --- —", "  leading and trailing  ", "tab\tseparated\tvalues",
        "line one\nline two\r\nline three\rline four", "a  b   c    d     e",
    ],
    "special": [
        "<s>", "</s>", "<pad>", "<unk>", "<mask>", "a<mask>b", "a <mask> b", "a   <mask>   b", "a\u00a0\u3000\n<mask>b",
        "<mask><mask>", " <mask> <mask> ", "<s>hello</s>", "one</s></s>two", "x<s>y</s>z<pad>w<unk>v", "< s >", "<S>", "<s", "s>",
        "<<s>>", "<</s>", "<mask", "mask>", "<ma<mask>sk>", "<unk><unk> <unk>", "word<unk>word", "\t<mask>\t", "a\u200b<mask>",
        "a\u2581<mask>", "a\u0085<mask>", "a\u001c<mask>", "<mask>\u0301", "<s>\u0301",
    ],
    "special-from-normalizer": [
        "\uff1cs\uff1e", "\uff1cmask\uff1e", "\uff1c/s\uff1e", "a \uff1cs\uff1e b", "<\u0001s>", "<s\u0002>", "\ufe64s\ufe65",
        "<\uff4d\uff41\uff53\uff4b>", "\uff1c\uff0f\uff53\uff1e\uff1c\uff53\uff1e", "<pa\u0008d>", "<un\u000bk>", "<\u00adm\u00adask>",
        "\uff1cunk\uff1e\uff1cpad\uff1e",
    ],
    "control": [
        "\u0000", "a\u0000b", "\u0001\u0002\u0003", "\u0001a\u0002b\u0003", "a\u0001\u0002\u0003 b", "\u0010\u0010start", "end\u0010\u0010",
        "\u007fdel\u007f", "a\u0080b\u0081c", "a\u0085b", "\u0085", "a \u0085 b", "\u000b\u000c\u000e\u000f", "\u001b[31mred\u001b[0m",
        "\ufeffbom at start", "bom\ufeffinside", "\u0001\u0301", "\u0001e\u0301", "a\u0001\u0301", "\u000b\u0345",
        "T\u0010ea \u0010 \u0010\u0010 for\u0010", "\ue000private\uf8ff", "\ufff9anchor\ufffb", "\U000e0041tag\U000e007f",
    ],
    "deleted-at-start": [
        "\u0001hello", " \u0001hello", "\u0001 hello", "\u0001\u0002\u0003x", "\u0001\u0001", "\u000bword", "x \u0001y \u0002z",
        "\u2026\u0001", "a\u2026\u0001b", "\u2026\u0001\u2026", "\u0001\u2026", "\ufb03\u0002n", "\u337f\u0003", "\u0001\u337f a",
    ],
    "blank": [f"a{c}b" for c in BLANKS] + [f"{c}a{c}" for c in "\u0085\u00a0\u2003\u3000"] + [BLANKS, f"x{BLANKS}y"],
    "nearly-blank": [f"a{c}b" for c in NEARLY_BLANK] + [f"{c}a" for c in NEARLY_BLANK] + [f"a{c} {c}b" for c in NEARLY_BLANK],
    "metaspace": ["\u2581", "\u2581a", "a\u2581", "a \u2581 b", "\u2581\u2581\u2581", "\u2581 \u2581", "Hello\u2581world"],
    "combining": [
        "e\u0301", "e\u0302\u0301", "E\u0323\u0302", "Ti\u00ea\u0301ng Vie\u0323\u0302t", "Tie\u0302\u0301ng Vi\u1ec7t",
        "a\u0300\u0301\u0302\u0303", "\u0301", "\u0301\u0302\u0303", " \u0301", "a \u0301b", "q\u0323\u0307", "o\u0308\u0304 o\u0304\u0308",
        "A\u030a \u00c5 \u212b", "s\u0323\u0307 s\u0307\u0323", "\u0344 \u0340 \u0341 \u0343", "\u1e9b\u0323", "B\u0331", "\u0345", "\u03b1\u0345",
        "\u03b1\u0301\u0345", "\u1fb3\u0301", "Z\u0351\u036b\u0343\u036a\u0302\u0361\u0335a\u0334\u0309", "x\u20dd 1\u20e3", "n\u0303o\u0303 \u00f1",
    ],
    "hangul": [
        "\uac00\ub098\ub2e4 \ud55c\uad6d\uc5b4", "\u1112\u1161\u11ab\u1100\u116e\u11a8\u110b\u1165", "\u1100", "\u1161", "\u11a8", "\u1100\u1161",
        "\uac00\u11a8", "\u1100\u1100\u1161\u1161", "\u3131\u314f", "\uffa1\uffc2", "\u1112\u119e\u11ab", "\ud7b0\ud7cb", "\ua960\u1161",
    ],
    "kana": [
        "\u30ab\u3099 \u304b\u3099", "\uff76\uff9e\uff70\uff84\uff9e", "\uff8a\uff9f\uff8b\uff9f\uff8c\uff9f", "\uff76 \uff9e", "\u309b\u309c", "\u3042\u3099",
        "\uff71\uff72\uff73\uff74\uff75", "\u30fb\uff65", "\u3300\u3301 \u3371 \u33a5", "\u32ff \u337b \u337f",
    ],
    "width": [
        "\uff28\uff45\uff4c\uff4c\uff4f\uff0c \uff37\uff4f\uff52\uff4c\uff44\uff01", "\uff11\uff12\uff13", "\u2460\u2461\u2462 \u2474 \u249c \u24d0", "\u2126 \u212a \u00b5",
        "\ufb00\ufb01\ufb02\ufb03\ufb04\ufb05", "x\u00b2 y\u00b3 \u2074\u2075 H\u2082O", "\u00bd \u00bc \u2153", "\u2026", "\u2026\u2026\u2026\u2026\u2026\u2026.fin",
        "\u2025 \u2024 \u22ef", "\u2100 \u2116 \u2121 \u2122", "\ufdfa", "\ufdfb \ufdf2", "\ufe30 \ufe50 \ufe52", "\u00af\u00af \u00a8 \u00b4 \u00b8", "\u02d8 \u02da \u037a",
        "\U0001d400\U0001d401 \U0001d7d8", "\U0001f100 \U0001f1e6\ufe0f", "\u2329\u232a", "\uf900\ufa30 \U0002f800",
    ],
    "emoji": [
        "\U0001f600", "a\U0001f600b", "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466", "\U0001f44d\U0001f3fd", "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7",
        "\U0001f1e9", "1\ufe0f\u20e3 #\ufe0f\u20e3", "\u2764\ufe0f \u2764", "\U0001f3f4\U000e0067\U000e0062\U000e007f", "\U0001f600\U0001f600\U0001f600", "\u263a\ufe0e",
        "\U0001f9d1\u200d\U0001f4bb!", "\u00a9\ufe0f\u00ae\ufe0f",
    ],
    "ties": [
        "annnnn", "ppp0", "-ccccc0", ".??????", "?????????", "aaaaaaaa", "!!!!!!!!!!!!", "ooooooo", "hahahahahaha", "0000000", "1111111111", "lllllll",
        "nnnnnnnnn annnnnnnn", "-----------", "..........", "=======", "*****", "xxxxxxxxx", "mmmmmmm", "abababab", "\u306a\u306a\u306a\u306a\u306a\u306a\u306a",
        "\u0438\u0438\u0438\u0438\u0438\u0438", "\u7684\u7684\u7684\u7684\u7684", "wwwww ppppp ttttt", "eeeeee iiiiii uuuuuu", "sumik ppp0 sumik",
    ],
    "long": [
        "a" * 300, "pneumonoultramicroscopicsilicovolcanoconiosis" * 4, "\u4e2d\u6587" * 80, "0123456789" * 30, "\u0e01" * 100, "ab" * 150,
        "Donaudampfschifffahrtselektrizit\u00e4tenhauptbetriebswerkbauunterbeamtengesellschaft", "x" * 63 + "\u00e9" + "y" * 63, "\U00012000" * 60,
        "e\u0301" * 60, "a" + "\u0301" * 80, "\u2026" * 40, "\u0001" * 100 + "z",
    ],
    "unknown": [
        "x\U00013000\U00013001y", "\U00013000", "\U00012000 \U00012001", "\u16a0\u16a2\u16a6", "\u1400\u1401\u1402", "\ua000\ua001\ua002", "\U00010400\U00010428",
        "\u2c00\u2c30", "\U0001d11e\U0001d15f", "\u2800\u28ff", "\u13a0\u13a1", "a\u16a0b\u16a2c", "\u16a0 \u16a2", "\u16a0\u0001\u16a2", "\u16a0\u200b\u16a2", "\U0010ffff",
        "\ufdd0\uffff", "\u0378\u0379",
    ],
    "prepend": ["\u0600123", "\u06dd12 \u070fa", "\u08e2x", "\U000110bd1", "\u0d4e\u0d15", "\U000111c2\U00011191", "a\u0600b"],
    "scripts": [
        "\u0643\u0640\u0640\u0640\u062a\u0627\u0628", "\u0627\u0644\u0633\u0651\u064e\u0644\u0627\u0645\u064f \u0639\u0644\u064a\u0643\u0645", "\ufee3\ufeae\ufea3\ufe92\ufe8e", "\u0633\u0644\u0627\u0645 \u061c\u0639\u0627\u0644\u0645", "\u0661\u0662\u0663 \u06f1\u06f2\u06f3",
        "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd", "\ufb2a\ufb4b", "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e", "\u0915\u093c\u0940 \u0958", "\u0995\u09cb \u0995\u09c7\u09be", "\u0b95\u0bca \u0b95\u0bc6\u0bbe",
        "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01", "\u0e17\u0e33 \u0e17\u0e4d\u0e32", "\u0ea5\u0eb3", "\u1781\u17d2\u1798\u17c2\u179a", "\u1019\u103c\u1014\u103a\u1019\u102c", "\u0f56\u0f7c\u0f51\u0f0b\u0f61\u0f72\u0f42", "\u0f73\u0f75\u0f81",
        "\u0dc1\u0dca\u200d\u0dbb\u0dd3", "\u10e5\u10d0\u10e0\u10d7\u10e3\u10da\u10d8", "\u0540\u0561\u0575\u0565\u0580\u0565\u0576 \u0587", "\u12a0\u121b\u122d\u129b", "\u1820\u180b\u1821\u180e\u1822", "\u6f22\u5b57\u4eee\u540d\u4ea4\u3058\u308a\u6587",
        "\u4eca\u65e5\u306f\u3044\u3044\u5929\u6c17\u3067\u3059\u306d\u3002", "\u6211\u4eec\u5728\u5317\u4eac\u3002\u4f60\u5462\uff1f", "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440! \u0401\u0436\u0438\u043a", "\u039a\u03b1\u03bb\u03b7\u03bc\u03ad\u03c1\u03b1 \u03ba\u03cc\u03c3\u03bc\u03b5 \u03c2", "\u0130stanbul \u0131\u015f\u0131k",
        "Stra\u00dfe \u1e9e \u00e6\u00f8\u00e5", "English \u0440\u0443\u0441\u0441\u043a\u0438\u0439 \u4e2d\u6587 \u0627\u0644\u0639\u0631\u0628\u064a\u0629 mixed", "\u0b95\u0bcd\u0bb7 \u0b9c", "\u0c15\u0c4d\u0c37 \u0cb6\u0ccd\u0cb0\u0cc0",
    ],
}

# (first text, second text) for pairs and truncation.
PAIRS = [
    ("green tea", "hot water"), ("", ""), ("", "only the second"), ("only the first", ""), ("a<mask>", " <mask>b"), ("x</s>y", "<s>z"),
    ("seven grey herons stood along the quiet river bank", "nobody spoke until dawn"),
    ("rain fell all night", "seven grey herons stood along the quiet river bank"),
    ("\u4eca\u65e5\u306f\u3044\u3044\u5929\u6c17", "Ti\u1ebfng Vi\u1ec7t"), ("\u0001a", "\u2026\u0001b"),
]
# From the number of template tokens (2 for one text, 4 for two: less is our error, and the reference's wrap-around) up.
MAX_LENGTHS = [2, 3, 4, 5, 6, 7, 8, 9, 11, 14, 17, 40]

DECODE = [
    [], [0], [2], [3], [6], [6, 6, 6], [0, 6, 5, 4, 2], [3, 3, 3], [35378, 4, 8999, 38], [0, 35378, 2, 2, 8999, 2], [250001, 35378, 250001], [1, 1, 2],
    [8999, 35378], [38, 8999], [6, 38], [0, 0, 8999], [2, 6, 8999], [999999, 35378], [35378, 999999, 8999], [250002], [4, 5, 6, 7, 8, 9, 10],
    [250000], [249999, 10, 100, 1000, 10000, 100000], [3, 6, 3, 8999], [250001, 6, 250001],
]

# Bytes that are not UTF-8. Each maximal ill-formed part counts as one U+FFFD (Unicode, chapter 3, "U+FFFD substitution of
# maximal subparts"); the reference sees the replaced text, offsets are mapped back to these bytes.
MALFORMED = [
    b"\xff", b"a\xffb", b"a\xff\xfeb", b"\xc3(", b"x\xe2\x96y", b"\xed\xa0\x80z", b"ok\xf0\x9f\x98", b"\xf0\x9f\x98\x80 \xf0\x9f\x98 \xf0\x9f \xf0", b"\xc0\xaf", b"\xe0\x80\xaf",
    b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80", b"\x80\x80\x80", b"word\xc3", b"<ma\xffsk>", b"a\xff<mask>", b"e\xcc\x81\xcc", b"\xe4\xb8\xad\xe6\x96\x87\xe6", b"a \xff b", b"<s>\xff</s>",
]
