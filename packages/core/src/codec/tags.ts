/**
 * The byte format of values.
 *
 * A value is one tag byte and the data that the tag defines. Tags from 0x80 on are the whole numbers 0 to 127
 * themselves. Lengths are varints: seven bits a byte, lowest first.
 *
 *   int        zigzag varint                      double, date   8 bytes, little endian
 *   ascii      length, bytes                      utf8, utf16    byte length, bytes
 *   pieces     count, that many strings           bigint         sign byte, hexadecimal as ascii
 *   array      length, values                     set            size, values
 *   hole       one place of an array without a value; holes: their number, two or more places
 *   map        size, key and value in turn        binary         kind, byte length, padding to 8, bytes
 *   shape      number of keys, keys, values: an object whose list of keys gets the next number
 *   object     number of a list of keys seen before, values
 *   dictionary number of keys, key and value in turn: an object with too many keys to remember them
 *
 * Why a format of our own: `v8.serialize` and `JSON.stringify` cannot pause, and 300,000 nodes cost
 * them 100 to 300 ms on the loop. Why not the thread: getting the value there is the same work.
 * There is no tag for code, and none for an object with a prototype, so reading a cache folder that
 * another program has written can produce wrong data but never behaviour.
 *
 * The number of the format is part of the name of a cache directory: change `formatVersion` when a tag gets another
 * meaning. A new tag leaves it as it is: a reader that does not know the tag refuses the value (docs/decisions/0180).
 */
export const formatVersion = 1

export const Tag = {
  undefined: 0,
  null: 1,
  false: 2,
  true: 3,
  hole: 4,
  int: 5,
  double: 6,
  bigint: 7,
  ascii: 8,
  utf8: 9,
  utf16: 10,
  pieces: 11,
  date: 12,
  array: 13,
  shape: 14,
  object: 15,
  dictionary: 16,
  map: 17,
  set: 18,
  binary: 19,
  /** Used since decision 0180. */
  holes: 20,
} as const

/** Tags from here on carry a small whole number. */
export const smallInt = 0x80

/** Lists of keys that are worth a number: longer ones, and more of them, are dictionaries. */
export const maxShapeKeys = 64
export const maxShapes = 4096

/**
 * Strings longer than this are cut into pieces of this many characters: at most 3 ms each. Pieces of
 * this size lie where the collector does not copy them.
 */
export const pieceLength = 2 ** 19

/** Binary data is copied in pieces of this many bytes: 0.2 to 1 ms each. */
export const copyLength = 2 ** 20

/** The kinds of binary data, by number. Appended to, never reordered. */
export const binaryKinds = [
  Uint8Array,
  ArrayBuffer,
  DataView,
  Int8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
] as const
