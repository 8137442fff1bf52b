/** The graphs of the engine suite: the same nodes and edges for every entrant. */

export interface Shape {
  readonly names: readonly string[]
  /** For each node the indices of its dependencies, all smaller than its own. */
  readonly after: readonly (readonly number[])[]
}

/** Every node waits for the one before it: nothing can overlap. */
export function chain(size: number): Shape {
  return shapeOf(size, (index) => (index === 0 ? [] : [index - 1]))
}

/** One node, then all others at once. */
export function fan(size: number): Shape {
  return shapeOf(size, (index) => (index === 0 ? [] : [0]))
}

/** No node waits for another. */
export function loose(size: number): Shape {
  return shapeOf(size, () => [])
}

/** Three different earlier nodes for each node, as far as there are three. */
export function random(size: number): Shape {
  const next = generator(1)
  return shapeOf(size, (index) => {
    if (index <= 3) return Array.from({ length: index }, (_, earlier) => earlier)
    const chosen = new Set<number>()
    while (chosen.size < 3) chosen.add(Math.floor(next() * index))
    return [...chosen]
  })
}

function shapeOf(size: number, after: (index: number) => number[]): Shape {
  return {
    names: Array.from({ length: size }, (_, index) => `n${index}`),
    after: Array.from({ length: size }, (_, index) => after(index)),
  }
}

/** Park and Miller's minimal standard generator: the same graph in every child. */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}
