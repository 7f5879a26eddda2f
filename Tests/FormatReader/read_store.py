#!/usr/bin/env python3
"""Writes every object of a Stet store as a line of JSON, as `stet dump` does, with neither Stet nor
LMDB: docs/FileFormat.md as a program. Verifies the journal's hashes, but no checksum (XXH64)."""
import base64, datetime, decimal, hashlib, json, math, struct, sys, urllib.parse, uuid
from collections import namedtuple

BOOL, DOUBLE, DATE, STRING, DATA, UUID, REFERENCE = 1, 3, 4, 5, 6, 7, 8
FLOAT, DECIMAL, URL, LIST, DICTIONARY = 16, 17, 18, 19, 20
SIGNED, UNSIGNED = (2, 9, 10, 11), (12, 13, 14, 15)
INLINE = (BOOL, DOUBLE, DATE, FLOAT) + SIGNED + UNSIGNED
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
            if bound: data.take(data.number({STRING: 2, DECIMAL: 1}[bound]) if bound in (5, 17) else 8)
    data.take(3 if kind == REFERENCE else 1)
    return name, kind

def read_entity(data):
    name, properties, links = data.text(), [read_property(data) for _ in range(data.number(2))], []
    for _ in range(data.number(1)): data.take(1), data.take(data.number(1) * 3 + 2)  # indexes
    for _ in range(data.number(2) & 0x7FFF):
        relationship, _, members, place = data.text(), data.text(), data.number(1), data.text()
        if members == 1: links.append((relationship, place))
        data.take(18)
    return Entity(name, [name for name, _ in properties], [kind for _, kind in properties], links)

def read_schema(data):
    check(data.number(1) == 1, "unknown format of a schema")
    revision, entities, ends = data.number(4), [read_entity(data) for _ in range(data.number(2))], {}
    for _ in range(data.number(2)):
        name, _, _, is_ordered = data.text(), data.text(), data.text(), data.number(1)
        if name: ends[name], _ = (data.number(2), is_ordered), data.number(2)
    return revision, entities, ends

def read_migration(data):
    check(data.number(1) == 1, "unknown format of a migration")
    (revision, old, _), (_, new, _), upcasts = read_schema(data.block()), read_schema(data.block()), {}
    for number, (before, after) in enumerate(zip(old, new), 1):
        if before.name and after.name:
            slots = [data.number(2) for _ in after.types]
            upcasts[number] = before, after, slots, cells(after, data.block().data)
    return revision, upcasts

def cells(entity, body):
    """Returns the bytes of each value of a record; None for nil."""
    start, found = (len(entity.types) + 63) // 64 * 8, []
    for slot, kind in enumerate(entity.types):
        cell = body[start + slot * 8:start + slot * 8 + 8]
        offset, size = struct.unpack("<II", cell)
        if kind not in INLINE: cell = body[offset:offset + (size & 0x7FFFFFFF)]
        found.append(None if body[slot // 8] >> slot % 8 & 1 else cell)
    return found

def number(kind, word):
    if kind == FLOAT: return struct.unpack("<f", word[:4])[0]
    if kind in (DOUBLE, DATE): return struct.unpack("<d", word)[0]
    return int.from_bytes(word, "little", signed=kind in SIGNED)

def upcast(old, before, after, slots, defaults):
    """Returns the cells in the next schema."""
    new = list(defaults)
    for slot, source in enumerate(slots):
        if source == 0xFFFF or old[source] is None: continue
        kind, new[slot] = before.types[source], old[source]
        if kind != after.types[slot] and after.types[slot] in (FLOAT, DOUBLE):
            form = "<f4x" if after.types[slot] == FLOAT else "<d"
            new[slot] = struct.pack(form, number(kind, old[source]))
    return new

def value(kind, cell):
    """Returns a value as `stet dump` shows it."""
    if cell is None: return None
    if kind == BOOL: return cell[0] == 1
    if kind in (FLOAT, DOUBLE): return real(kind, number(kind, cell))
    if kind == DATE: return time(number(kind, cell))
    if kind in INLINE: return number(kind, cell)
    if kind == DATA: return base64.b64encode(cell).decode()
    if kind in (UUID, REFERENCE): return str(uuid.UUID(bytes=cell[:16]))
    if kind == DECIMAL and cell[0] == 2: return "NaN"
    if kind == DECIMAL:
        exponent = int.from_bytes(cell[1:2], "little", signed=True)
        digits = tuple(map(int, str(int.from_bytes(cell[2:], "little"))))
        return format(decimal.Decimal((cell[0], digits, exponent)), "f")
    if kind == URL: return urllib.parse.urljoin(*(cell.decode() + "\0").split("\0")[1::-1])
    if kind not in (LIST, DICTIONARY): return cell.decode()
    data, kinds = Bytes(cell), cell[:1 if kind == LIST else 2]
    data.take(len(kinds) if cell else 0)
    found = [[value(kind, data.take(ELEMENT_SIZES.get(kind) or data.number(4))) for kind in kinds]
             for _ in range(data.number(4) if cell else 0)]
    if kind == LIST: return [element for element, in found]
    return {key if isinstance(key, str) else json.dumps(key): element for key, element in found}

def real(kind, float64):
    if not math.isfinite(float64): return str(float64).replace("inf", "Infinity").replace("n", "N", 1) 
    texts = (f"{float64:.{digits}g}" for digits in range(1, 18))
    form = "<f" if kind == FLOAT else "<d"
    return float(next(text for text in texts if struct.pack(form, float(text)) == struct.pack(form, float64)))

def time(seconds):
    if not -63113904000 <= seconds < 252423993600: return f"{seconds!r} s since 2001"
    past = datetime.timedelta(milliseconds=math.floor(seconds * 1000))
    return (datetime.datetime(2001, 1, 1) + past).isoformat(timespec="milliseconds") + "Z"

def read_journal(file):
    """Verifies all hashes; returns the migrations by the revision of the schema before them."""
    entries, floor = {}, file.unnamed.get(b"floor")
    found = [Bytes(value) for key, value in file.unnamed.items() if key.startswith(b"migration.")]
    for key, chunk in file.named(b"journal"):
        envelope, body = entries.setdefault(key[:8], (chunk[:176], bytearray()))
        body.extend(chunk[8 if body else 184:])
    last = floor[16:48] if floor else bytes(32)
    for envelope, body in entries.values():
        data, digests = Bytes(body), b""
        while data.at < len(body):
            size, is_change = struct.unpack_from("<I", body, data.at)[0], data.at > 0
            block = data.take(size)
            if not is_change: attributes = Bytes(block[20:])
            is_redacted = is_change and block[21] & 1
            digests += block[48:80] if is_redacted else hashlib.sha256(block[4:]).digest()
        check(len(digests) == 32 + 32 * struct.unpack_from("<I", envelope, 4)[0], "changes are missing")
        check(envelope[64:96] == last, "the chain of hashes breaks")
        check(envelope[96:128] == hashlib.sha256(digests).digest(), "a change differs from its hash")
        last, flags = hashlib.sha256(envelope[:128]).digest(), attributes.number(1)
        check(envelope[128:160] == last, "an entry differs from its hash")
        for flag in (1, 2, 4): flags & flag and attributes.text()
        if flags & 8: found.append(attributes.block())
    check(file.unnamed[b"head"][8:40] == last, "the head is not the last entry")
    return dict(map(read_migration, found))

def dump(file):
    """Yields each object of the last revision."""
    check(file.unnamed.get(b"stet", b"")[:6] == b"STET\1\0", "not a Stet store of format 1")
    migrations, members = read_journal(file), {}
    present, entities, ends = read_schema(Bytes(file.unnamed[b"schema"]))
    for key, chunk in file.named(b"members"):
        data, end = Bytes(chunk[8:]), int.from_bytes(key[:2], "big")
        is_ordered = dict(ends.values()).get(end)
        while is_ordered is not None and data.at < len(data.data):
            member, state = value(UUID, data.take(16)), data.number(8)
            if is_ordered: data.take(data.number(1))
            if not state & 1: members.setdefault((end, key[2:18]), []).append(member)
    for number, entity in enumerate(entities, 1):
        for key, record in file.named(b"records.%d" % number):
            form, flags, schema, _, revision = struct.unpack_from("<BBHIQ", record)
            check(form == 1, "unknown format of a record")
            if flags & 1: continue
            written_with = entity if schema == present else migrations[schema][number][0]
            found = cells(written_with, record[16:])
            for step in range(schema, present): found = upcast(found, *migrations[step][number])
            values = dict(zip(entity.names, map(value, entity.types, found)))
            values.update((name, members.get((ends[link][0], key), [])) for name, link in entity.links)
            yield {"entity": entity.name, "id": value(UUID, key), "revision": revision, "values": values}

if __name__ == "__main__":
    with open(sys.argv[1], "rb") as opened:
        for found in dump(File(opened.read())):
            print(json.dumps(found, ensure_ascii=False, sort_keys=True, separators=(",", ":")))
