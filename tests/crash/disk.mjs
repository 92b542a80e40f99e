// A disk as POSIX promises it and no better: what was written is certain only after a sync. Fed with a recording of the
// file layer, it tells what could be on the disk had the power gone at that moment.
//
// What may be lost, each piece on its own: written blocks that no sync covers; growth of a file; entries of folders
// (created, renamed, removed) as long as the folder was not synced. A write that spans blocks may be there in part. A
// write through a descriptor with O_DSYNC is there whole when the call has returned.
import fs from 'node:fs';
import path from 'node:path';

const HEAD_BYTES = 48;
const Kind = {
  open: 1, close: 2, write: 3, truncate: 4, allocate: 5, rename: 6, unlink: 7, mkdir: 8, rmdir: 9, syncBegins: 10,
  syncEnds: 11, writableMap: 12, msync: 13, unsupported: 14,
};
const CREATED = 1;
const SYNCED = 2;
const EMPTIED = 4;

/// The records of one or more logs, one after the other; see layer/layer.h for the format. Those with a handle have the
/// path of its file.
export function readRecording(files) {
  const records = [];
  const paths = new Map();
  let sequences = 0;
  let handles = 0;
  for (const file of files) {
    const log = fs.readFileSync(file);
    let [lastSequence, lastHandle] = [0, 0];
    for (let at = 0; at + HEAD_BYTES <= log.length;) {
      const size = log.readUInt32LE(at);
      if (at + size > log.length) break;  // the program was killed while it wrote this record
      const record = {
        kind: log.readUInt16LE(at + 4),
        flags: log.readUInt16LE(at + 6),
        sequence: Number(log.readBigUInt64LE(at + 8)),
        time: log.readBigUInt64LE(at + 16),
        handle: log.readUInt32LE(at + 24),
        offset: Number(log.readBigUInt64LE(at + 32)),
        length: Number(log.readBigUInt64LE(at + 40)),
        payload: log.subarray(at + HEAD_BYTES, at + size),
      };
      if (record.sequence !== lastSequence + 1) throw new Error(`${file}: ${record.sequence} follows ${lastSequence}`);
      lastSequence = record.sequence;
      lastHandle = Math.max(lastHandle, record.handle);
      record.sequence += sequences;
      if (record.handle !== 0) record.handle += handles;
      if (record.kind === Kind.syncEnds) record.offset += sequences;
      if (record.kind === Kind.open) paths.set(record.handle, record.payload.toString());
      record.path = paths.get(record.handle);
      records.push(record);
      at += size;
    }
    sequences += lastSequence;
    handles += lastHandle;
  }
  return records;
}

/// The end of a sync: what it covers is certain from here on.
export const isBoundary = (record) =>
  record.kind === Kind.syncEnds || (record.kind === Kind.write && (record.flags & SYNCED) !== 0);

/// A file or folder comes, goes, or gets another name.
export const isStructural = ({ kind, flags }) =>
  [Kind.rename, Kind.unlink, Kind.mkdir, Kind.rmdir].includes(kind) || (kind === Kind.open && (flags & CREATED) !== 0);

/// A compacted file takes the name of the one before it.
export const isReplacement = ({ kind, payload }) => kind === Kind.rename && payload.toString().endsWith('/data.mdb');

/// The file of a search index that makes its other files count.
const LIST_OF_SEGMENTS = /\/segments_\w+$/;
export const isSearchCommit = ({ kind, path }) => kind === Kind.write && LIST_OF_SEGMENTS.test(path);

class File {
  bytes = Buffer.alloc(0);  ///< certain; capacity beyond `size`
  size = 0;
  pending = [];             ///< in their order: { sequence, certain, offset, data } or { sequence, size }
  mapped = false;           ///< its contents may be anything
  synced = false;           ///< at some time

  static apply(file, change) {
    if (change.data === undefined) {
      if (change.size < file.size) file.bytes.fill(0, change.size, file.size);
      File.reserve(file, change.size);
      file.size = change.size;
      return;
    }
    const end = change.offset + change.data.length;
    File.reserve(file, end);
    change.data.copy(file.bytes, change.offset);
    file.size = Math.max(file.size, end);
  }
  static reserve(file, size) {
    if (size <= file.bytes.length) return;
    const bytes = Buffer.alloc(Math.max(size, 2 * file.bytes.length));
    file.bytes.copy(bytes, 0, 0, file.size);
    file.bytes = bytes;
  }

  change(change) {
    // One that is certain cannot overtake those before it that are not.
    if (change.certain && this.pending.length === 0) File.apply(this, change);
    else this.pending.push(change);
  }
  syncedBefore(sequence) {
    while (this.pending.length > 0 && this.pending[0].sequence < sequence) File.apply(this, this.pending.shift());
  }
}

class Folder {
  entries = new Map();  ///< as the program sees it: name → File or Folder
  certain = new Map();
  pending = [];         ///< { sequence, changes: [[name, File, Folder or undefined]] }

  change(sequence, changes) {
    for (const [name, entry] of changes) Folder.apply(this.entries, name, entry);
    this.pending.push({ sequence, changes });
  }
  static apply(entries, name, entry) {
    if (entry === undefined) entries.delete(name);
    else entries.set(name, entry);
  }
  syncedBefore(sequence) {
    while (this.pending.length > 0 && this.pending[0].sequence < sequence) {
      for (const [name, entry] of this.pending.shift().changes) Folder.apply(this.certain, name, entry);
    }
  }
}

/// Decides what of the pending becomes real in one image.
class Fate {
  static modes = ['nothing', 'everything', 'subset', 'subset', 'prefix'];

  constructor(random, sequence) {
    this.random = random;
    this.mode = random.pick(Fate.modes);
    this.probability = random.pick([0.1, 0.5, 0.9]);
    this.blockBytes = random.pick([4096, 512]);
    // In mode `prefix` all that came before a moment of late is there, in its order.
    this.last = sequence - random.below(60);
  }
  keeps(sequence) {
    switch (this.mode) {
      case 'nothing':
        return false;
      case 'everything':
        return true;
      case 'prefix':
        return sequence <= this.last;
      case 'subset':
        return this.random.chance(this.probability);
    }
  }
}

export class Disk {
  root = new Folder();
  #handles = new Map();
  #ignoreSyncs;
  misorders = [];  ///< what should have been certain before something else was begun

  /// `ignoreSyncs`: a disk that lies, to see that the checks notice it.
  constructor({ ignoreSyncs = false } = {}) {
    this.#ignoreSyncs = ignoreSyncs;
  }

  /// The disk has what is in `folder`, all of it certain.
  load(folder, into = this.root) {
    for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
      const where = path.join(folder, entry.name);
      const made = entry.isDirectory() ? new Folder() : new File();
      if (entry.isDirectory()) this.load(where, made);
      else File.apply(made, { offset: 0, data: fs.readFileSync(where) });
      for (const entries of [into.entries, into.certain]) entries.set(entry.name, made);
    }
  }

  #parent(text) {
    const parts = text.split('/');
    const name = parts.pop();
    let folder = this.root;
    for (const part of parts) folder = folder.entries.get(part);
    return { folder, name };
  }
  #lookUp(text) {
    if (text === '') return this.root;
    const { folder, name } = this.#parent(text);
    return folder.entries.get(name);
  }

  apply(record) {
    const { kind, flags, sequence, handle } = record;
    const file = this.#handles.get(handle);
    switch (kind) {
      case Kind.open: {
        const where = record.payload.toString();
        if (flags & CREATED) {
          const { folder, name } = this.#parent(where);
          if (LIST_OF_SEGMENTS.test(where)) this.#expectNames(folder, where);
          folder.change(sequence, [[name, new File()]]);
        }
        const opened = this.#lookUp(where);
        if (opened === undefined) throw new Error(`record ${sequence} opens ${where}, which is not there`);
        if (flags & EMPTIED) opened.change({ sequence, size: 0 });
        this.#handles.set(handle, opened);
        break;
      }
      case Kind.close:
        this.#handles.delete(handle);
        break;
      case Kind.write:
      case Kind.truncate:
      case Kind.allocate:
        this.#change(record, file ?? this.#lookUp(record.payload.toString()));
        break;
      case Kind.rename: {
        const [from, to] = record.payload.toString().split('\0').map((text) => this.#parent(text));
        const moved = from.folder.entries.get(from.name);
        if (from.folder === to.folder) {
          from.folder.change(sequence, [[from.name, undefined], [to.name, moved]]);
        } else {
          from.folder.change(sequence, [[from.name, undefined]]);
          to.folder.change(sequence, [[to.name, moved]]);
        }
        break;
      }
      case Kind.mkdir:
      case Kind.unlink:
      case Kind.rmdir: {
        const { folder, name } = this.#parent(record.payload.toString());
        folder.change(sequence, [[name, kind === Kind.mkdir ? new Folder() : undefined]]);
        break;
      }
      case Kind.syncEnds:
        if (!this.#ignoreSyncs) file.syncedBefore(record.offset);
        file.synced = true;
        break;
      case Kind.writableMap:
        file.mapped = true;
        break;
      case Kind.unsupported:
        throw new Error(`the recorded program used ${record.payload}, which the layer cannot describe`);
    }
  }

  /// A list may survive that names files of which only the contents are certain. What is not synced it does not name.
  #expectNames(folder, list) {
    const lost = folder.pending.flatMap(({ changes }) => changes).filter(([, entry]) => entry?.synced).map(([name]) => name);
    if (lost.length > 0) this.misorders.push(`${list} is made before the names ${lost.join(', ')} are certain`);
  }

  #change(record, file) {
    const { kind, flags, sequence, offset, length, payload } = record;
    if (kind === Kind.write) {
      file.change({ sequence, offset, data: payload, certain: (flags & SYNCED) !== 0 && !this.#ignoreSyncs });
    } else if (kind === Kind.truncate) {
      file.change({ sequence, size: length });
    } else {
      const endOf = (end, change) => change.size ?? Math.max(end, change.offset + change.data.length);
      const size = file.pending.reduce(endOf, file.size);
      if (offset + length > size) file.change({ sequence, size: offset + length });
    }
  }

  /// Names of files that a program may change through a writable map, but for LMDB's lock files.
  mappedFiles(folder = this.root, prefix = '') {
    const found = [];
    for (const [name, entry] of folder.entries) {
      if (entry instanceof Folder) found.push(...this.mappedFiles(entry, `${prefix}${name}/`));
      else if (entry.mapped && name !== 'lock.mdb') found.push(prefix + name);
    }
    return found;
  }

  /// One possible state after the record with this sequence: a tree of Maps and Buffers. `next`, the record that
  /// follows, was on its way: if it is a write, it may be there, too, whole or in part.
  image(random, sequence, next) {
    const fate = new Fate(random, sequence);
    const extra = next?.kind === Kind.write ? this.#handles.get(next.handle) : undefined;
    const inFlight = { sequence: next?.sequence, offset: next?.offset, data: next?.payload, certain: false };
    const contents = (file) => this.#fileImage(file, fate, file === extra ? [...file.pending, inFlight] : file.pending);
    const build = (folder) => new Map([...this.#folderImage(folder, fate)].map(([name, entry]) =>
      [name, entry instanceof Folder ? build(entry) : contents(entry)]));
    return { mode: fate.mode, tree: build(this.root) };
  }

  #folderImage(folder, fate) {
    const entries = new Map(folder.certain);
    // What comes after a lost change of the same name cannot be there without it.
    const lost = new Set();
    for (const { sequence, changes } of folder.pending) {
      if (!changes.some(([name]) => lost.has(name)) && fate.keeps(sequence)) {
        for (const [name, entry] of changes) Folder.apply(entries, name, entry);
      } else {
        for (const [name] of changes) lost.add(name);
      }
    }
    return entries;
  }

  #fileImage(file, fate, pending) {
    const { random } = fate;
    if (file.mapped) return random.chance(0.3) ? Buffer.alloc(0) : random.bytes(random.pick([100, 8192, 32896]));
    const image = { bytes: Buffer.from(file.bytes.subarray(0, file.size)), size: file.size };
    let sizeIfAll = image.size;
    for (const change of pending) {
      if (change.data === undefined) {
        if (fate.keeps(change.sequence)) File.apply(image, change);
        sizeIfAll = change.size;
        continue;
      }
      sizeIfAll = Math.max(sizeIfAll, change.offset + change.data.length);
      if (change.certain) {
        File.apply(image, change);
        continue;
      }
      for (let at = 0; at < change.data.length;) {
        const end = Math.min(change.data.length, at + fate.blockBytes - ((change.offset + at) % fate.blockBytes));
        if (fate.keeps(change.sequence)) {
          File.apply(image, { offset: change.offset + at, data: change.data.subarray(at, end) });
        }
        at = end;
      }
    }
    // The file may have grown although what was written there is lost: zeros then.
    if (sizeIfAll > image.size && fate.mode === 'subset' && random.chance(0.5)) File.apply(image, { size: sizeIfAll });
    return image.bytes.subarray(0, image.size);
  }
}

/// Writes an image to a new folder.
export function writeImage(tree, folder) {
  fs.mkdirSync(folder, { recursive: true });
  for (const [name, entry] of tree) {
    if (entry instanceof Map) writeImage(entry, path.join(folder, name));
    else fs.writeFileSync(path.join(folder, name), entry);
  }
}
