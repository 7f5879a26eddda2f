#!/usr/bin/env python3
"""Writes every object of a Stet store as a line of JSON, as `stet dump` does, with neither Stet nor
LMDB: docs/FileFormat.md as a program. Verifies the journal's hashes, but no checksum (XXH64)."""
import base64, datetime, decimal, hashlib, json, math, struct, sys, urllib.parse, uuid
from collections import namedtuple

BOOL, DOUBLE, DATE, STRING, DATA, UUID, REFERENCE = 1, 3, 4, 5, 6, 7, 8
FLOAT, DECIMAL, URL, LIST, DICTIONARY = 16, 17, 18, 19, 20
INLINE = {BOOL: "<?7x", DOUBLE: "<d", DATE: "<d", FLOAT: "<f4x"}
INLINE.update({**dict.fromkeys((2, 9, 10, 11), "<q"), **dict.fromkeys((12, 13, 14, 15), "<Q")})
ELEMENT_SIZES = {BOOL: 1, FLOAT: 4, 2: 8, 12: 8, DOUBLE: 8, DATE: 8, UUID: 16}
Entity = namedtuple("Entity", "name names types links")

def check(condition, problem):
    if not condition: sys.exit(f"{sys.argv[1]}: {problem}")

class Bytes:
    """Bytes that are read from the front."""
    def __init__(self, data): self.data, self.at = bytes(data), 0
    def take(self, count):
        check(self.at + count <= len(self.data), "a value ends too early")
        self.at += count
        return self.data[self.at - count:self.at]
    def number(self, count): return int.from_bytes(self.take(count), "little")
    def text(self): return self.take(self.number(2)).decode()
    def block(self): return Bytes(self.take(self.number(4)))

class File:
    """The pages and tables of LMDB."""
    def __init__(self, data):
        self.data, self.page_size = data, struct.unpack_from("<I", data, 40)[0]
        metas = [data[at + 16:at + 152] for at in (0, self.page_size)]
        check(all(meta[:8] == struct.pack("<II", 0xBEEFC0DE, 1) for meta in metas), "not LMDB")
        newest = max(metas, key=lambda meta: struct.unpack_from("<Q", meta, 128))
        self.unnamed = dict(self.table(newest[72:120]))
    def named(self, name): return self.table(self.unnamed.get(name, b"\xff" * 48))
    def table(self, record):
        root = struct.unpack_from("<Q", record, 40)[0]
        return self.page(root * self.page_size) if root != 2**64 - 1 else ()
    def page(self, base):
        flags, lower = struct.unpack_from("<HH", self.data, base + 10)
        for (at,) in struct.iter_unpack("<H", self.data[base + 16:base + lower]):
            low, high, kind, key_size = struct.unpack_from("<4H", self.data, base + at)
            start, size = base + at + 8 + key_size, low | high << 16
            if flags & 1:
                yield from self.page((size | kind << 32) * self.page_size)
                continue
            key = self.data[start - key_size:start]
            if kind & 1: start = struct.unpack_from("<Q", self.data, start)[0] * self.page_size + 16
            yield key, self.data[start:start + size]

def read_property(data):
    name, kind = data.text(), data.number(1)
    data.take({LIST: 2, DICTIONARY: 3}.get(kind, 1)), data.text(), data.take(1)
    data.take(data.number(1))  # normalisers
    for rule in (data.number(1) for _ in range(data.number(1))):
        if rule == 5: data.text()
        for _ in range(data.number(1) if rule == 6 else 2 if rule in (3, 4) else 0):
            bound = data.number(1)
            if bound == STRING: data.text()
            elif bound: data.take(data.number(1) if bound == DECIMAL else 8)
    data.take(3 if kind == REFERENCE else 1)
    return name, kind

def read_entity(data):
    name, properties, links = data.text(), [read_property(data) for _ in range(data.number(2))], []
    for _ in range(data.number(1)): data.take(1), data.take(data.number(1) * 3 + 2)  # indexes
    for _ in range(data.number(2) & 0x7FFF):
        relationship, _, members, place = data.text(), data.text(), data.number(1), data.text()
        if members == 1: links.append((relationship, place))
        data.take(18)
    return Entity(name, *([pair[part] for pair in properties] for part in (0, 1)), links)

def read_schema(data):
    check(data.number(1) == 1, "unknown format of a schema")
    revision, ends = data.number(4), {}
    entities = [read_entity(data) for _ in range(data.number(2))]
    for _ in range(data.number(2)):
        name, _, _, is_ordered = data.text(), data.text(), data.text(), data.number(1)
        if name: ends[name], _ = (data.number(2), is_ordered), data.number(2)
    return revision, entities, ends

def read_migration(data):
    check(data.number(1) == 1, "unknown format of a migration")
    (revision, old, _), (_, new, _) = read_schema(data.block()), read_schema(data.block())
    def read_upcast(before, after):
        slots = [data.number(2) for _ in after.types]
        return before, after, slots, cells(after, data.block().data)
    pairs = enumerate(zip(old, new), 1)
    return revision, {number: read_upcast(*pair) for number, pair in pairs
                      if pair[0].name and pair[1].name}

def cells(entity, body):
    """Returns the bytes of each value of a record; None for nil."""
    start, found = (len(entity.types) + 63) // 64 * 8, []
    for slot, kind in enumerate(entity.types):
        cell = body[start + slot * 8:start + slot * 8 + 8]
        offset, size = struct.unpack("<II", cell)
        if kind not in INLINE: cell = body[offset:offset + (size & 0x7FFFFFFF)]
        found.append(None if body[slot // 8] >> slot % 8 & 1 else cell)
    return found

def number(kind, cell): return struct.unpack(INLINE[kind], cell.ljust(8, b"\0"))[0]

def upcast(old, before, after, slots, defaults):
    """Returns the cells in the next schema."""
    def cell(slot, source, kind):
        if source == 0xFFFF or old[source] is None: return defaults[slot]
        if kind == before.types[source]: return old[source]
        return struct.pack(INLINE[kind], number(before.types[source], old[source]))
    return list(map(cell, range(len(slots)), slots, after.types))

def value(kind, cell):
    """Returns a value as `stet dump` shows it."""
    if cell is None: return None
    if kind in (FLOAT, DOUBLE): return real(kind, number(kind, cell))
    if kind in INLINE: return (time if kind == DATE else lambda exact: exact)(number(kind, cell))
    if kind == DATA: return base64.b64encode(cell).decode()
    if kind in (UUID, REFERENCE): return str(uuid.UUID(bytes=cell[:16]))
    if kind == DECIMAL and cell[0] == 2: return "NaN"
    if kind == DECIMAL:
        digits = tuple(map(int, str(int.from_bytes(cell[2:], "little"))))
        exponent = struct.unpack("b", cell[1:2])[0]
        return format(decimal.Decimal((cell[0], digits, exponent)), "f")
    if kind == URL: return urllib.parse.urljoin(*(cell.decode() + "\0").split("\0")[1::-1])
    if kind not in (LIST, DICTIONARY): return cell.decode()
    data, kinds = Bytes(cell), cell[:1 if kind == LIST else 2]
    data.take(len(kinds) if cell else 0)
    found = [[value(kind, data.take(ELEMENT_SIZES.get(kind) or data.number(4))) for kind in kinds]
             for _ in range(data.number(4) if cell else 0)]
    if kind == LIST: return [element for element, in found]
    return {key if isinstance(key, str) else json.dumps(key): element for key, element in found}

def real(kind, exact):
    """Returns the shortest number with the same bits; a text for one that is not finite."""
    if not math.isfinite(exact): return str(exact).replace("inf", "Infinity").replace("nan", "NaN")
    if kind == DOUBLE: return exact
    shorter = (float(f"{exact:.{digits}g}") for digits in range(1, 10))
    return next(found for found in shorter if struct.pack("<f", found) == struct.pack("<f", exact))

def time(seconds):
    if not -63113904000 <= seconds < 252423993600: return f"{seconds!r} s since 2001"
    past = datetime.timedelta(milliseconds=math.floor(seconds * 1000))
    return (datetime.datetime(2001, 1, 1) + past).isoformat(timespec="milliseconds") + "Z"

def read_journal(file):
    """Verifies all hashes; returns the migrations by the revision of the schema before them."""
    entries, last = {}, file.unnamed.get(b"floor", bytes(48))[16:48]
    found = [Bytes(value) for key, value in file.unnamed.items() if key.startswith(b"migration.")]
    for key, chunk in file.named(b"journal"):
        body = entries.setdefault(key[:8], (chunk[:176], bytearray()))[1]
        body.extend(chunk[8 if body else 184:])
    for envelope, body in entries.values():
        data, blocks = Bytes(body), []
        while data.at < len(body):
            blocks.append(data.take(int.from_bytes(body[data.at:data.at + 4], "little")))
        digests = [block[48:80] if number and block[21] & 1 else hashlib.sha256(block[4:]).digest()
                   for number, block in enumerate(blocks)]
        check(len(blocks) == 1 + struct.unpack_from("<I", envelope, 4)[0], "changes are missing")
        check(envelope[64:96] == last, "the chain of hashes breaks")
        digest = hashlib.sha256(b"".join(digests)).digest()
        check(envelope[96:128] == digest, "a change differs from its hash")
        last, attributes = hashlib.sha256(envelope[:128]).digest(), Bytes(blocks[0][20:])
        check(envelope[128:160] == last, "an entry differs from its hash")
        flags = attributes.number(1)
        for flag in (1, 2, 4): flags & flag and attributes.text()
        if flags & 8: found.append(attributes.block())
    check(file.unnamed[b"head"][8:40] == last, "the head is not the last entry")
    return dict(map(read_migration, found))

def read_members(file, ends):
    """Returns the ids of the targets of links by member end and source."""
    members, ordered = {}, dict(ends.values())
    for key, chunk in file.named(b"members"):
        data, end = Bytes(chunk[8:]), int.from_bytes(key[:2], "big")
        while end in ordered and data.at < len(data.data):
            member, state = value(UUID, data.take(16)), data.number(8)
            if ordered[end]: data.take(data.number(1))
            if not state & 1: members.setdefault((end, key[2:18]), []).append(member)
    return members

def dump(file):
    """Yields each object of the last revision."""
    check(file.unnamed.get(b"stet", b"")[:6] == b"STET\1\0", "not a Stet store of format 1")
    present, entities, ends = read_schema(Bytes(file.unnamed[b"schema"]))
    migrations, members = read_journal(file), read_members(file, ends)
    for number, entity in enumerate(entities, 1):
        for key, record in file.named(b"records.%d" % number):
            form, flags, schema, _, revision = struct.unpack_from("<BBHIQ", record)
            check(form == 1, "unknown format of a record")
            if flags & 1: continue
            steps = [migrations[step][number] for step in range(schema, present)]
            found = cells(steps[0][0] if steps else entity, record[16:])
            for step in steps: found = upcast(found, *step)
            values = dict(zip(entity.names, map(value, entity.types, found)))
            for name, link in entity.links: values[name] = members.get((ends[link][0], key), [])
            yield {"entity": entity.name, "id": value(UUID, key), "revision": revision,
                   "values": values}

if __name__ == "__main__":
    with open(sys.argv[1], "rb") as opened:
        for found in dump(File(opened.read())):
            print(json.dumps(found, ensure_ascii=False, sort_keys=True, separators=(",", ":")))
