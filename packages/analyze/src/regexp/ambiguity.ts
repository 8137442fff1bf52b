/**
 * Candidates for super-linear backtracking: words that the automaton can read in many ways.
 *
 * Exponential: a state p with two different ways from p to p over one word. Each repetition of the
 * word doubles the ways. Polynomial: two states p and q with p → p, p → q and q → q over one word:
 * where the run changes from p to q is free, so n repetitions have n ways. (Weber and Seidl's
 * criteria, on edges that carry a count.) Both are searched breadth first in a product of the
 * automaton with itself, so the word found is a shortest one.
 *
 * I1  The search is bounded in product states, not in time: the same pattern always gives the same
 *     answer.
 */
import type { Automaton } from './automaton.ts'
import { componentsOf } from './components.ts'
import type { Components } from './components.ts'
import { commonLetter } from './partition.ts'

export interface Candidate {
  readonly kind: 'exponential' | 'polynomial'
  /** Leads from the start to the loop. */
  readonly prefix: string
  /** Repeating this text costs time. */
  readonly pump: string
}

/** The product was too large to be searched to its end. */
export class OutOfBudget extends Error {}

interface Step {
  readonly from: Step | undefined
  readonly states: readonly number[]
  readonly letter: number
  readonly isSplit: boolean
}

export class AmbiguitySearch {
  readonly #automaton: Automaton
  readonly #components: Components
  readonly #reachable: Uint8Array[] = []
  #budget: number

  constructor(automaton: Automaton, budget: number) {
    this.#automaton = automaton
    this.#components = componentsOf(automaton)
    this.#budget = budget
  }

  /** Exponential ones first. Throws {@link OutOfBudget} when it could not check everything. */
  *candidates(): Generator<Candidate> {
    const { states, isCyclic } = this.#components
    for (const [component, members] of states.entries()) {
      if (!(isCyclic[component] as boolean)) continue
      for (const state of members) {
        const pump = this.#exponential(state)
        if (pump === undefined) continue
        yield { kind: 'exponential', prefix: this.#prefix(state), pump }
        // The other states of the component have the same word, turned round.
        break
      }
    }
    for (const [p, q] of this.#loopPairs()) {
      const pump = this.#polynomial(p, q)
      if (pump !== undefined) yield { kind: 'polynomial', prefix: this.#prefix(p), pump }
    }
  }

  *#loopPairs(): Generator<readonly [number, number]> {
    const { states, isCyclic, of } = this.#components
    const cyclic = states.flatMap((members, component) =>
      (isCyclic[component] as boolean) ? members : [],
    )
    for (const p of cyclic.toSorted((a, b) => a - b)) {
      for (const q of cyclic) {
        if (of[p] !== of[q] && this.#canReach(p, q)) yield [p, q]
      }
    }
  }

  /** A word with two ways from the state to itself. */
  #exponential(state: number): string | undefined {
    const component = this.#components.of[state]
    return this.#search(
      [state, state],
      (to) => this.#components.of[to] === component,
      (step) => step.isSplit && step.states[0] === state && step.states[1] === state,
    )
  }

  /** A word with the ways p → p, p → q and q → q. */
  #polynomial(p: number, q: number): string | undefined {
    const { of } = this.#components
    return this.#search(
      [p, p, q],
      (to, track) => {
        if (track === 0) return of[to] === of[p]
        if (track === 2) return of[to] === of[q]
        return this.#canReach(p, to) && this.#canReach(to, q)
      },
      ({ states }) => states[0] === p && states[1] === q && states[2] === q,
    )
  }

  #search(
    start: readonly number[],
    mayEnter: (state: number, track: number) => boolean,
    isGoal: (step: Step) => boolean,
  ): string | undefined {
    const { next, alphabet } = this.#automaton
    const seen = new Set<string>()
    let frontier: Step[] = [{ from: undefined, states: start, letter: -1, isSplit: false }]
    while (frontier.length > 0) {
      const following: Step[] = []
      for (const step of frontier) {
        const options = step.states.map((state, track) =>
          [...(next[state] as ReadonlyMap<number, number>).keys()].filter((to) =>
            mayEnter(to, track),
          ),
        )
        for (const states of product(options)) {
          this.#budget -= 1
          if (this.#budget < 0) throw new OutOfBudget()
          const letter = commonLetter(states.map((to) => alphabet.masks[to] as Uint32Array))
          if (letter < 0) continue
          const isSplit = step.isSplit || this.#splits(step.states, states)
          const key = `${states.join()}${isSplit ? '!' : ''}`
          if (seen.has(key)) continue
          seen.add(key)
          const reached: Step = { from: step, states, letter, isSplit }
          if (isGoal(reached)) return this.#word(reached)
          following.push(reached)
        }
      }
      frontier = following
    }
    return undefined
  }

  /** The two runs are no longer the same one. */
  #splits(from: readonly number[], to: readonly number[]): boolean {
    if (to[0] !== to[1]) return true
    return (this.#automaton.next[from[0] as number]?.get(to[0] as number) ?? 0) > 1
  }

  #word(last: Step): string {
    const letters: number[] = []
    for (let step: Step | undefined = last; step?.from !== undefined; step = step.from) {
      letters.push(step.letter)
    }
    return this.#text(letters.toReversed())
  }

  #text(letters: readonly number[]): string {
    const { samples } = this.#automaton.alphabet
    return letters.map((letter) => String.fromCodePoint(samples[letter] as number)).join('')
  }

  /** A shortest word from the start to the state. */
  #prefix(state: number): string {
    if (state === 0) return ''
    const { next, alphabet } = this.#automaton
    const cameFrom = new Map<number, number>([[0, -1]])
    const queue = [0]
    for (const at of queue) {
      if (at === state) break
      for (const to of (next[at] as ReadonlyMap<number, number>).keys()) {
        if (cameFrom.has(to) || commonLetter([alphabet.masks[to] as Uint32Array]) < 0) continue
        cameFrom.set(to, at)
        queue.push(to)
      }
    }
    const letters: number[] = []
    for (let at = state; at > 0; at = cameFrom.get(at) ?? 0) {
      letters.push(commonLetter([alphabet.masks[at] as Uint32Array]))
    }
    return this.#text(letters.toReversed())
  }

  #canReach(from: number, to: number): boolean {
    let row = this.#reachable[from]
    if (row === undefined) {
      row = new Uint8Array(this.#automaton.size)
      row[from] = 1
      const queue = [from]
      for (const at of queue) {
        for (const following of (this.#automaton.next[at] as ReadonlyMap<number, number>).keys()) {
          if (row[following] === 1) continue
          row[following] = 1
          queue.push(following)
        }
      }
      this.#reachable[from] = row
    }
    return row[to] === 1
  }
}

function* product(options: readonly (readonly number[])[]): Generator<readonly number[]> {
  const [first, ...rest] = options
  if (first === undefined) {
    yield []
    return
  }
  for (const tail of product(rest)) for (const head of first) yield [head, ...tail]
}
