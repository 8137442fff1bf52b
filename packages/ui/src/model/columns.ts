/** Typed arrays that grow: a run of 100,000 nodes is a dozen of them, not 100,000 objects. */

type Numbers = Uint8Array | Int32Array | Float64Array

/** Returns the array, or a copy with room for `count` entries. Doubles, so that adding one at a time is cheap. */
export function grow<A extends Numbers>(array: A, count: number): A {
  if (array.length >= count) return array
  const Maker = array.constructor as new (length: number) => A
  const larger = new Maker(Math.max(64, count, array.length * 2))
  larger.set(array)
  return larger
}
