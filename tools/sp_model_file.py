"""SentencePiece .model files by hand: enough of the protobuf wire format to write small models and to change trained ones.

Field numbers are the published ones (src/format/sentencepiece_model.proto says which of them decide results).
"""
import struct

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
UNIGRAM, BPE, WORD, CHAR = 1, 2, 3, 4

# ModelProto's fields, and those of its parts.
PIECES, TRAINER, NORMALIZER, DENORMALIZER = 1, 2, 3, 5
PIECE_TEXT, PIECE_SCORE, PIECE_TYPE = 1, 2, 3
MODEL_TYPE, WHITESPACE_AS_SUFFIX, BYTE_FALLBACK, UNK_SURFACE = 3, 24, 35, 44
CHARSMAP, DUMMY_PREFIX, REMOVE_EXTRA, ESCAPE = 2, 3, 4, 5


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, value):
    """bool and int as varint, float as fixed32, bytes with their length."""
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    return varint(number << 3) + varint(int(value))


def message(fields):
    return b"".join(field(number, value) for number, value in fields)


def piece(text, score=0.0, kind=NORMAL):
    text = text if isinstance(text, bytes) else text.encode()
    return message([(PIECE_TEXT, text), (PIECE_SCORE, float(score)), (PIECE_TYPE, kind)])


def model(pieces, trainer=(), normalizer=()):
    """`pieces`: serialized ones; the others: (field number, value) of their parts."""
    return message([(PIECES, p) for p in pieces] + [(TRAINER, message(trainer)), (NORMALIZER, message(normalizer))])


def parse(data):
    """[(field number, value)] in order; fixed32 comes back as float, length-delimited as bytes."""
    fields, at = [], 0

    def number():
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = number()
        wire = tag & 7
        if wire == 0:
            fields.append((tag >> 3, number()))
        elif wire == 2:
            size = number()
            fields.append((tag >> 3, data[at:at + size]))
            at += size
        elif wire == 5:
            fields.append((tag >> 3, struct.unpack_from("<f", data, at)[0]))
            at += 4
        else:
            raise ValueError(f"wire type {wire} is not expected in a model file")
    return fields


def with_part(data, part, changes):
    """The model with fields of its trainer, normalizer or denormalizer part set."""
    fields = parse(data)
    old = [f for number, value in fields if number == part for f in parse(value)]
    changed = dict(changes)
    new = [f for f in old if f[0] not in changed] + list(changed.items())
    return message([f for f in fields if f[0] != part] + [(part, message(new))])


def with_pieces(data, change):
    """The model with every piece (text, score, type) replaced by change(index, text, score, type)."""
    out, index = [], 0
    for number, value in parse(data):
        if number == PIECES:
            parts = dict(parse(value))
            value = piece(*change(index, parts[PIECE_TEXT], parts.get(PIECE_SCORE, 0.0), parts.get(PIECE_TYPE, NORMAL)))
            index += 1
        out.append((number, value))
    return message(out)


def part(data, number):
    """One part's fields as a dictionary."""
    return dict(f for n, value in parse(data) if n == number for f in parse(value))


def pieces(data):
    """[(text, score, type)]"""
    out = []
    for number, value in parse(data):
        if number == PIECES:
            parts = dict(parse(value))
            out.append((parts[PIECE_TEXT], parts.get(PIECE_SCORE, 0.0), parts.get(PIECE_TYPE, NORMAL)))
    return out
