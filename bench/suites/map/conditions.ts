/** Elements of a map, and how many are under way at once. */
export const elements = 1_000_000
export const window = 100

/** How many elements libraries that write each step on its own play: about half a minute. */
export const slowPeerElements = 10_000

export function* numbers(size: number): Generator<number, void, undefined> {
  for (let n = 0; n < size; n++) yield n
}
