#!/usr/bin/env python3
"""Writes every object of a Stet store as a line of JSON, as `stet dump` does, with neither Stet nor
LMDB: docs/FileFormat.md as a program. Verifies the journal's hashes, but no checksum (XXH64)."""
import base64, ctypes, datetime, decimal, hashlib, json, math, struct, sys, urllib.parse, uuid
from collections import namedtuple

BOOL, DOUBLE, DATE, STRING, DATA, UUID, REFERENCE = 1, 3, 4, 5, 6, 7, 8
FLOAT, DECIMAL, URL, LIST, DICTIONARY, EMBEDDED = 16, 17, 18, 19, 20, 22
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
    def number(self, size): return int.from_bytes(self.take(size), "little")
    def text(self): return self.take(self.number(2)).decode()
    def block(self): return Bytes(self.take(self.number(4)))
    def list(self, size, read): return [read(self) for _ in range(self.number(size))]

class File:
    """The pages and tables of LMDB."""
    def __init__(self, data):
        self.data, self.page_size = data, struct.unpack_from("<I", data, 40)[0]
        metas = [data[at:at + 152] for at in (0, self.page_size)]
        check(all(meta[16:24] == b"\xDE\xC0\xEF\xBE\1\0\0\0" for meta in metas), "not of LMDB")
        self.unnamed = dict(self.table(max(metas, key=lambda meta: meta[:143:-1])[88:136]))
    def named(self, name): return self.table(self.unnamed.get(name, b"\xff" * 48))
    def table(self, record):
        root = int.from_bytes(record[40:48], "little")
        return self.page(root * self.page_size) if root != 2**64 - 1 else ()
    def word(self, at): return struct.unpack_from("<Q", self.data, at)[0]
    def page(self, base):
        flags, lower = struct.unpack_from("<HH", self.data, base + 10)
        for (at,) in struct.iter_unpack("<H", self.data[base + 16:base + lower]):
            low, high, kind, key_size = struct.unpack_from("<4H", self.data, base + at)
            start, size = base + at + 8 + key_size, low | high << 16
            key = self.data[start - key_size:start]
            if flags & 1: yield from self.page((size | kind << 32) * self.page_size)
            elif kind & 1: start = 16 + self.page_size * self.word(start)
            if flags & 2: yield key, self.data[start:start + size]

def read_bound(data):
    kind = data.number(1)
    if kind == STRING: data.text()
    elif kind: data.take(data.number(1) if kind == DECIMAL else 8)

def read_rule(data):
    rule = data.number(1)
    if rule == 5: data.text()
    if rule == 6: data.list(1, read_bound)
    if rule in (3, 4): read_bound(data), read_bound(data)

def read_constant(data):
    kind = data.number(1)
    if kind: data.take(8 if kind in INLINE else data.number(2))

def read_expression(data):
    kind = data.number(1)
    if kind == 1: read_constant(data)
    if kind in (2, 3): [(data.take(2), data.text()) for _ in range(data.number(1))]
    if kind == 2: data.take(2)
    if kind in (4, 6, 7, 11): data.take(1)
    if kind in (8, 9): data.list(1, read_expression)
    for _ in range({4: 2, 5: 1, 6: 2, 7: 1, 10: 1, 11: 2, 12: 2}.get(kind, 0)): read_expression(data)
    if kind == 5: data.list(1, read_constant)

def read_property(data):
    """Returns the name and the type; for a list of embedded values their members, as an entity."""
    name, kind = data.text(), data.number(1)
    element, *_, flags = data.take({LIST: 2, DICTIONARY: 3}.get(kind, 1)).rjust(2, b"\0")
    data.text(), data.take(1)
    data.take(data.number(1)), data.list(1, read_rule), data.take(1)
    if flags & 16: read_expression(data)
    if flags & 32: data.text()
    if kind == REFERENCE: data.take(2)
    if kind != LIST or element != EMBEDDED: return name, kind
    members = tuple(zip(*data.list(2, read_property)))
    data.take(2)  # the member that identifies an element
    return name, Entity("", *members, ())

def read_relationship(data):
    name, _, members, place = data.text(), data.text(), data.number(1), data.text()
    data.take(18)
    return name, place if members == 1 else None

def read_index(data):
    flags = data.number(1)
    data.take(2 if flags & 6 else 0)  # the version of the rules for texts
    for _ in range(data.number(1)):
        data.take(3)
        if flags & 8 and data.text(): data.take(4)  # the version of the stemmer
    if flags & 16: read_expression(data)
    data.take(2)

def read_entity(data):
    name, properties = data.text(), data.list(2, read_property)
    data.list(1, read_index)
    count = data.number(2) & 0x7FFF
    links = [link for link in (read_relationship(data) for _ in range(count)) if link[1]]
    return Entity(name, [name for name, _ in properties], [kind for _, kind in properties], links)

def read_link_type(data):
    name, _, _, is_ordered = data.text(), data.text(), data.text(), data.number(1)
    return name, (data.number(2), is_ordered, data.number(2)) if name else None

def read_schema(data):
    check(data.number(1) == 1, "unknown format of a schema")
    return data.number(4), data.list(2, read_entity), dict(data.list(2, read_link_type))

def read_migration(data):
    check(data.number(1) == 1, "unknown format of a migration")
    revision, old, _ = read_schema(data.block())
    new, upcasts = read_schema(data.block())[1], {}
    for number, (before, after) in enumerate(zip(old, new), 1):
        if not before.name or not after.name: continue
        own = read_upcast(data, before, after)
        elements = {
            slot: read_upcast(data, before.types[source], after.types[slot])
            for slot, source in enumerate(own[2])
            if source != 0xFFFF and isinstance(after.types[slot], Entity)}
        upcasts[number] = *own, elements
    return revision, upcasts

def read_upcast(data, before, after):
    slots = [data.number(2) for _ in after.types]
    return before, after, slots, cells(after, data.block().data)

def cells(entity, body):
    """Returns the bytes of each value of a record; None for nil."""
    start, found = (len(entity.types) + 63) // 64 * 8, []
    for slot, kind in enumerate(entity.types):
        cell = body[start + slot * 8:start + slot * 8 + 8]
        offset, size = struct.unpack("<II", cell)
        if kind not in INLINE: cell = body[offset:offset + (size & 0x7FFFFFFF)]
        found.append(None if body[slot // 8] >> slot % 8 & 1 else cell)
    return found

def upcast(old, before, after, slots, defaults, elements={}):
    """Returns the cells in the next schema; those of an element that has changed are a list."""
    def cell(default, source, kind):
        if source == 0xFFFF or old[source] is None: return default
        if kind == before.types[source]: return old[source]
        if isinstance(kind, Entity):
            return [upcast(one, *elements[after.types.index(kind)])
                    for one in element_cells(before.types[source], old[source])]
        return struct.pack(INLINE[kind], number(before.types[source], old[source]))
    new = list(map(cell, defaults, slots, after.types))
    for slot, name in enumerate(after.names):
        owner = name.rpartition(".")[0]
        if owner in after.names and new[after.names.index(owner)] is None: new[slot] = None
    return new

def element_cells(kind, cell):
    """Returns the cells of each element of a list of embedded values."""
    if isinstance(cell, list) or not cell: return cell or []
    data = Bytes(cell[1:])
    return [cells(kind, body.data) for body in data.list(4, Bytes.block)]

def number(kind, cell): return struct.unpack(INLINE[kind], cell.ljust(8, b"\0"))[0]

def real(kind, exact):
    """Returns the shortest number with the same bits; a text for one that is not finite."""
    if not math.isfinite(exact): return str(exact).replace("inf", "Infinity").replace("nan", "NaN")
    if kind == DOUBLE: return exact
    shorter = (float(f"{exact:.{digits}g}") for digits in range(1, 10))
    return next(found for found in shorter if ctypes.c_float(found).value == exact)

def time(seconds):
    if not -63113904000 <= seconds < 252423993600: return f"{seconds!r} s since 2001"
    past = datetime.timedelta(milliseconds=math.floor(seconds * 1000))
    return (datetime.datetime(2001, 1, 1) + past).isoformat(timespec="milliseconds") + "Z"

def value(kind, cell):
    """Returns a value as `stet dump` shows it."""
    if cell is None: return None
    if isinstance(kind, Entity):
        return [dict(zip(kind.names, map(value, kind.types, element)))
                for element in element_cells(kind, cell)]
    if kind in (FLOAT, DOUBLE): return real(kind, number(kind, cell))
    if kind in INLINE: return (time if kind == DATE else lambda exact: exact)(number(kind, cell))
    if kind == DATA: return base64.b64encode(cell).decode()
    if kind in (UUID, REFERENCE): return str(uuid.UUID(bytes=cell[:16]))
    if kind == DECIMAL:
        digits = tuple(map(int, str(int.from_bytes(cell[2:], "little"))))
        exponent = int.from_bytes(cell[1:2], "little", signed=True)
        return format(decimal.Decimal((cell[0], digits, exponent)), "f") if cell[0] < 2 else "NaN"
    if kind == URL: return urllib.parse.urljoin(*(cell.decode() + "\0").split("\0")[1::-1])
    if kind not in (LIST, DICTIONARY): return cell.decode()
    data, kinds = Bytes(cell or bytes(6)), cell[:1 if kind == LIST else 2]
    data.take(1 if kind == LIST else 2)
    found = data.list(4, lambda data: [
        value(part, data.take(ELEMENT_SIZES.get(part) or data.number(4))) for part in kinds])
    if kind == LIST: return [element for element, in found]
    return {key if isinstance(key, str) else json.dumps(key): element for key, element in found}

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
        expected = last + hashlib.sha256(b"".join(digests)).digest()
        check(envelope[64:128] == expected, "an entry differs from its hash")
        last, attributes = hashlib.sha256(envelope[:128]).digest(), Bytes(blocks[0][20:])
        flags = attributes.number(1)
        for flag in (1, 2, 4): flags & flag and attributes.text()
        if flags & 8: found.append(attributes.block())
    check(file.unnamed[b"head"][8:40] == last, "the head is not the last entry")
    return dict(map(read_migration, found))

def read_members(file, link_types):
    """Returns the ids of the targets of links by member end and source."""
    members, ordered = {}, {link[0]: link[1] for link in link_types.values() if link}
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
    present, entities, link_types = read_schema(Bytes(file.unnamed[b"schema"]))
    migrations, members = read_journal(file), read_members(file, link_types)
    for number, entity in enumerate(entities, 1):
        for key, record in file.named(b"records.%d" % number):
            form, is_deleted, schema, _, revision = struct.unpack_from("<BBHIQ", record)
            check(form == 1, "unknown format of a record")
            if is_deleted: continue
            steps = [migrations[step][number] for step in range(schema, present)]
            found = cells(steps[0][0] if steps else entity, record[16:])
            for step in steps: found = upcast(found, *step)
            values = dict(zip(entity.names, map(value, entity.types, found)))
            for name, link in entity.links:
                values[name] = members.get((link_types[link][0], key), [])
            yield dict(entity=entity.name, id=value(UUID, key), revision=revision, values=values)

if __name__ == "__main__":
    with open(sys.argv[1], "rb") as opened:
        for found in dump(File(opened.read())):
            print(json.dumps(found, ensure_ascii=False, sort_keys=True, separators=(",", ":")))
