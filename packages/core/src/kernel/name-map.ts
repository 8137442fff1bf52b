import { PieceList } from './piece-list.ts'

/** Names up to here are in a native map: a table of numbers is not worth making for them. */
export const mostInNative = 512

/** Slots of a full table that are moved into the next one with each name that is added: about 10 µs. */
export const movedAtOnce = 1024

/** How many slots are probed for one name. In a half full table one of a million names is further away. */
export const longestProbe = 64

/** How many names may have one hash: more of them would all be compared. */
const mostOfOneHash = 4

const notFound = -1

// Fields of a slot.
const hash = 0
/** Where the item stands in the order of addition, counted from 1; 0 in a free slot. */
const place = 1
const slotSize = 2

/**
 * A growing map of named things, in the order in which they were added.
 *
 * ```
 *   name ──hashOf──▶ slot { hash, place } ──▶ item in the order of addition
 *                      │ taken by another name: the next slot, and so on
 *                      ▼ too many are taken
 *                    native map
 * ```
 *
 * Slots are numbers, at most half of them taken. A native map holds references: the collector visits all of
 * them again and again, and a map that doubles its table moves all entries at once, which holds the loop for
 * 60 ms at half a million names. Here a full table is kept and emptied into the next one, some slots with
 * each name that is added (docs/decisions/0153).
 *
 *  N1  A name that was added is in the table, in the full one that is being emptied, or in the native map.
 *  N2  For a name no more than `longestProbe` slots of a table are probed, and no more than `mostOfOneHash`
 *      names compared, whatever the names are. Names that do not fit are in the native map.
 *  N3  No add() moves more than `movedAtOnce` slots.
 */
export class NameMap<T extends { readonly name: string }> {
  readonly #inOrder = new PieceList<T>()
  // A list of their own: names are compared without reading the items, which are seldom in the processor's cache.
  readonly #names = new PieceList<string>()
  /** All names of a small map; later those for which the table has no slot, which is hardly ever. */
  #native: Map<string, number> | undefined = new Map()
  #slots: Int32Array | undefined
  /** The table before, until all its slots are moved. */
  #full: Int32Array | undefined
  #moved = 0
  // A name is looked up before it is added: its hash is computed once.
  #lastName = ''
  #lastHash = 0

  get size(): number {
    return this.#inOrder.size
  }

  /** The item that was added as number `index`, counted from 0. */
  at(index: number): T | undefined {
    return this.#inOrder.at(index)
  }

  get(name: string): T | undefined {
    const index = this.indexOf(name)
    return index === notFound ? undefined : this.#inOrder.at(index)
  }

  /** The number of the item with this name; -1 when there is none. */
  indexOf(name: string): number {
    const slots = this.#slots
    if (slots === undefined) return this.#native!.get(name) ?? notFound
    const wanted = hashOf(name)
    this.#lastName = name
    this.#lastHash = wanted
    const found = this.#find(slots, name, wanted)
    return found === notFound ? this.#findElsewhere(name, wanted) : found
  }

  has(name: string): boolean {
    return this.indexOf(name) !== notFound
  }

  /** The name must not be in the map. */
  add(item: T): void {
    const { name } = item
    const count = this.#inOrder.push(item)
    this.#names.push(name)
    const slots = this.#slots
    if (slots === undefined) return this.#addNative(name, count)
    const itsHash = name === this.#lastName ? this.#lastHash : hashOf(name)
    if (2 * slotSize * count > slots.length) this.#grow(slots)
    if (this.#full !== undefined) this.#moveSome(this.#full)
    this.#put(this.#slots!, itsHash, count)
  }

  /** In the order of add(), including items that are added during the iteration. */
  values(): IterableIterator<T> {
    return this.#inOrder[Symbol.iterator]()
  }

  keys(): IterableIterator<string> {
    return this.#names[Symbol.iterator]()
  }

  #find(slots: Int32Array, name: string, wanted: number): number {
    const mask = slots.length - 1
    let slot = (wanted << 1) & mask
    let compared = 0
    for (let looked = 0; looked < longestProbe; looked++) {
      const found = slots[slot + place]!
      if (found === 0) return notFound
      if (slots[slot + hash] === wanted) {
        if (this.#names.at(found - 1) === name) return found - 1
        if (++compared === mostOfOneHash) return notFound
      }
      slot = (slot + slotSize) & mask
    }
    return notFound
  }

  #findElsewhere(name: string, wanted: number): number {
    const found = this.#full === undefined ? notFound : this.#find(this.#full, name, wanted)
    return found === notFound ? (this.#native?.get(name) ?? notFound) : found
  }

  #put(slots: Int32Array, itsHash: number, itsPlace: number): void {
    const mask = slots.length - 1
    let slot = (itsHash << 1) & mask
    let same = 0
    for (let looked = 0; slots[slot + place] !== 0; looked++) {
      if (slots[slot + hash] === itsHash) same++
      if (looked === longestProbe - 1 || same === mostOfOneHash) return this.#putNative(itsPlace)
      slot = (slot + slotSize) & mask
    }
    slots[slot + hash] = itsHash
    slots[slot + place] = itsPlace
  }

  #putNative(itsPlace: number): void {
    this.#native ??= new Map()
    this.#native.set(this.#names.at(itsPlace - 1)!, itsPlace - 1)
  }

  #addNative(name: string, count: number): void {
    this.#native!.set(name, count - 1)
    if (count < mostInNative) return
    const slots = new Int32Array(4 * slotSize * mostInNative)
    this.#slots = slots
    this.#native = undefined
    let known = 0
    for (const other of this.#names) this.#put(slots, hashOf(other), ++known)
  }

  /** The table before is empty by now: one is emptied much faster than the next one is filled. */
  #grow(slots: Int32Array): void {
    this.#full = slots
    this.#moved = 0
    this.#slots = new Int32Array(slots.length * 2)
  }

  #moveSome(full: Int32Array): void {
    const slots = this.#slots!
    const end = Math.min(full.length, this.#moved + movedAtOnce * slotSize)
    for (let slot = this.#moved; slot < end; slot += slotSize) {
      const itsPlace = full[slot + place]!
      if (itsPlace !== 0) this.#put(slots, full[slot + hash]!, itsPlace)
    }
    this.#moved = end
    if (end === full.length) this.#full = undefined
  }
}

/** Above this length not every character is hashed. */
const mostHashed = 24
const lastHashed = 12
const othersHashed = 8

/**
 * FNV-1a of all characters, or, of a long name, of the last ones and some before them: reading a character costs
 * as much as looking into a slot. The native map distinguishes names that differ only elsewhere.
 */
function hashOf(name: string): number {
  const { length } = name
  let mixed = length
  let index = 0
  if (length > mostHashed) {
    const rest = length - lastHashed
    const step = (rest / othersHashed) | 0
    for (index = rest - step * othersHashed; index < rest; index += step) {
      mixed = Math.imul(mixed ^ name.charCodeAt(index), 0x01000193)
    }
    index = rest
  }
  for (; index < length; index++) mixed = Math.imul(mixed ^ name.charCodeAt(index), 0x01000193)
  // Spreads what differs over all bits: slots are chosen by the last ones.
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d)
  return mixed ^ (mixed >>> 13)
}
