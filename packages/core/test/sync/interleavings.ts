/**
 * Plays every order in which the steps of a small concurrent program can happen.
 *
 * The program stops at named steps (`world.step('close 1')`). When nothing runs any more, the
 * explorer lets exactly one of the waiting steps continue, and so on until none waits. Then it restarts
 * the program and takes the next alternative at the last place where there was one, until all
 * are taken: depth-first search by re-execution, so the program itself needs no snapshots.
 *
 * With `sameTurn` it may also let the next step continue before the reactions to the last one have run,
 * as it happens when two callbacks come in one turn of the event loop.
 *
 * Not covered: other orders of the promise reactions inside one turn, which the language fixes.
 */
import assert from 'node:assert/strict'
import { turn } from './support.ts'

interface Choice {
  readonly label: string
  readonly take: () => void
}

/** What a program sees of the explorer. */
export class World {
  readonly #waiting: Choice[] = []
  readonly trace: string[] = []

  /** Waits for the explorer. With several outcomes each of them is played. */
  step<O extends string = 'ok'>(label: string, outcomes?: readonly O[]): Promise<O> {
    return this.optional(label, outcomes).promise
  }

  /** A step that may be taken back when it has become pointless. */
  optional<O extends string = 'ok'>(
    label: string,
    outcomes: readonly O[] = ['ok' as O],
  ): { promise: Promise<O>; withdraw: () => void } {
    const { promise, resolve } = Promise.withResolvers<O>()
    const choices = outcomes.map((outcome): Choice => ({
      label: outcomes.length === 1 ? label : `${label}: ${outcome}`,
      take: () => {
        withdraw()
        resolve(outcome)
      },
    }))
    const withdraw = (): void => {
      for (const choice of choices) {
        const index = this.#waiting.indexOf(choice)
        if (index >= 0) this.#waiting.splice(index, 1)
      }
    }
    this.#waiting.push(...choices)
    return { promise, withdraw }
  }

  get choices(): readonly Choice[] {
    return this.#waiting
  }
}

/** A program: started in a new world; `check` after every step, `end` when no step waits. */
export interface Program {
  check?: () => void
  end: () => void
}

export interface ExploreOptions {
  /** Gives up, with an error, after this many orders: a test must not grow without notice. */
  readonly bound: number
  readonly sameTurn?: boolean
}

export interface Exploration {
  readonly schedules: number
  /** The first order in which a check failed. */
  readonly failure: { readonly trace: readonly string[]; readonly error: unknown } | undefined
}

interface Decision {
  readonly labels: readonly string[]
  taken: number
}

const settle: Choice = { label: '…', take: () => {} }

async function play(
  start: (world: World) => Program,
  decisions: Decision[],
  sameTurn: boolean,
): Promise<{ trace: string[]; error?: unknown }> {
  const world = new World()
  const { trace } = world
  try {
    const program = start(world)
    await turn()
    let settled = true
    for (let depth = 0; ; depth++) {
      program.check?.()
      const choices: Choice[] = settled ? [...world.choices] : [settle, ...world.choices]
      if (choices.length === 0) break
      const labels = choices.map((choice) => choice.label)
      let decision = decisions[depth]
      if (decision === undefined) decisions.push((decision = { labels, taken: 0 }))
      else assert.deepEqual(labels, decision.labels, 'the program is not deterministic')
      const choice: Choice = choices[decision.taken]!
      trace.push(choice.label)
      choice.take()
      settled = choice === settle || !sameTurn
      if (settled) await turn()
    }
    program.end()
    return { trace }
  } catch (error) {
    return { trace, error }
  }
}

/** Plays all orders, up to the first that fails. */
export async function explore(
  start: (world: World) => Program,
  { bound, sameTurn = false }: ExploreOptions,
): Promise<Exploration> {
  const decisions: Decision[] = []
  for (let schedules = 1; ; schedules++) {
    assert.ok(schedules <= bound, `more than ${bound} orders`)
    const played = await play(start, decisions, sameTurn)
    if ('error' in played)
      return { schedules, failure: { trace: played.trace, error: played.error } }
    let last = decisions.pop()
    while (last !== undefined && last.taken + 1 >= last.labels.length) last = decisions.pop()
    if (last === undefined) return { schedules, failure: undefined }
    last.taken++
    decisions.push(last)
  }
}
