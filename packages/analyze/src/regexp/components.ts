/** Strongly connected components of an automaton (Tarjan), without recursion. */
import type { Automaton } from './automaton.ts'

export interface Components {
  /** Indexed by state. Components are numbered against the direction of the edges. */
  readonly of: readonly number[]
  /** Indexed by component: its states. */
  readonly states: readonly (readonly number[])[]
  /** Indexed by component: whether it has an inner edge, so that a path can go round in it. */
  readonly isCyclic: readonly boolean[]
}

export function componentsOf({ size, next }: Automaton): Components {
  const of = Array.from({ length: size }, () => -1)
  const index = Array.from({ length: size }, () => -1)
  const low = Array.from({ length: size }, () => 0)
  const open: number[] = []
  const states: number[][] = []
  let counter = 0
  for (let root = 0; root < size; root += 1) {
    if (index[root] !== -1) continue
    const work: { state: number; edges: Iterator<number> }[] = []
    const enter = (state: number): void => {
      index[state] = counter
      low[state] = counter
      counter += 1
      open.push(state)
      work.push({ state, edges: (next[state] as ReadonlyMap<number, number>).keys() })
    }
    enter(root)
    while (work.length > 0) {
      const { state, edges } = work.at(-1) as { state: number; edges: Iterator<number> }
      const edge = edges.next()
      if (edge.done !== true) {
        const to = edge.value
        if (index[to] === -1) enter(to)
        else if (of[to] === -1) low[state] = Math.min(low[state] as number, index[to] as number)
        continue
      }
      work.pop()
      const parent = work.at(-1)
      if (parent !== undefined) {
        low[parent.state] = Math.min(low[parent.state] as number, low[state] as number)
      }
      if (low[state] !== index[state]) continue
      const members = open.splice(open.indexOf(state))
      for (const member of members) of[member] = states.length
      states.push(members)
    }
  }
  const isCyclic = states.map((members) =>
    members.some((state) =>
      [...(next[state] as ReadonlyMap<number, number>).keys()].some((to) => of[to] === of[state]),
    ),
  )
  return { of, states, isCyclic }
}
