/**
 * What happened to something with a state, and whether one order of it explains every answer.
 *
 * The search is the one of Wing and Gong: of the operations that may come next (none that has ended
 * before them is left), take each in turn. Small histories only.
 */

/** One operation. States are distinguished by their text. */
export interface Step<S> {
  name: string
  readonly start: number
  /** Infinity when it never ended. */
  end: number
  /** Possible states afterwards; none when the answer does not fit the state it finds. */
  after: (state: S) => readonly S[]
  /** It may also have had no effect at all: it failed, or never ended. */
  isOptional: boolean
  /** Comes after this one, whatever the times say. */
  readonly afterStep?: Step<S>
}

/** The order found, or undefined when there is none. */
export function explain<S>(steps: readonly Step<S>[], initial: S): string[] | undefined {
  const seen = new Set<string>()
  const search = (done: number, state: S): string[] | undefined => {
    if (done === 2 ** steps.length - 1) return []
    const position = `${done} ${JSON.stringify(state)}`
    if (seen.has(position)) return undefined
    seen.add(position)
    const left = steps.filter((_step, index) => (done & (1 << index)) === 0)
    const horizon = Math.min(...left.map((step) => step.end))
    const isDone = (step: Step<S>): boolean => (done & (1 << steps.indexOf(step))) !== 0
    for (const [index, step] of steps.entries()) {
      if (isDone(step) || step.start > horizon) continue
      if (step.afterStep !== undefined && !isDone(step.afterStep)) continue
      const next = done | (1 << index)
      for (const after of step.after(state)) {
        const rest = search(next, after)
        if (rest !== undefined) return [step.name, ...rest]
      }
      if (step.isOptional) {
        const rest = search(next, state)
        if (rest !== undefined) return [`(${step.name})`, ...rest]
      }
    }
    return undefined
  }
  return search(0, initial)
}

/** Fails with the history when no order explains it. */
export function assertExplained<S>(what: string, steps: readonly Step<S>[], initial: S): void {
  if (explain(steps, initial) !== undefined) return
  const told = steps.map((step) => `  ${step.start}–${step.end} ${step.name}`)
  throw new Error(`No order explains what happened to ${what}:\n${told.join('\n')}`)
}
