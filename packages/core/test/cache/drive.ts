/** Orders in which calls of the cache and operations of the tier can follow each other. */
import type { HeldTier } from './held-tier.ts'

/** Chooses one of this many possibilities; -1 stops. */
export type Choose = (count: number) => number

export interface DriveOptions {
  /** The tier may refuse operations. */
  readonly failures?: boolean
  /** The next step may come before all reactions to the last one have run. */
  readonly impatient?: boolean
}

export interface Call {
  readonly name: string
  readonly make: () => void
}

/** Lets every reaction run that can run without the tier. */
export async function react(turns = 40): Promise<void> {
  for (let i = 0; i < turns; i++) await Promise.resolve()
}

/**
 * Makes the calls in order, and between them lets the tier's operations happen and be answered, as
 * chosen. Returns the chosen names.
 */
export async function drive(
  tier: HeldTier,
  calls: readonly Call[],
  choose: Choose,
  options: DriveOptions = {},
): Promise<string[]> {
  const trace: string[] = []
  const waiting = [...calls]
  for (;;) {
    if (waiting.length + tier.held.length === 0) await react()
    const moves: Call[] = []
    const next = waiting[0]
    if (next !== undefined) {
      moves.push({ name: next.name, make: () => waiting.shift()!.make() })
    }
    for (const held of tier.held) {
      const name = `${held.type} ${held.key}`
      if (held.hasHappened) {
        moves.push({ name: `${name} is answered`, make: () => held.answer() })
        continue
      }
      moves.push({ name: `${name} happens`, make: () => held.happen() })
      if (options.failures === true && held.type !== 'compute') {
        moves.push({ name: `${name} fails`, make: () => held.fail(new Error('disk')) })
      }
    }
    if (moves.length === 0) return trace
    const move = moves[choose(moves.length)]
    if (move === undefined) return trace
    trace.push(move.name)
    move.make()
    await react(options.impatient === true && choose(2) === 1 ? 1 : 40)
  }
}

/** Every order there is: each run takes the next branch of the tree of choices. Gives their number. */
export async function everyOrder(run: (choose: Choose) => Promise<unknown>): Promise<number> {
  const path: { taken: number; count: number }[] = []
  let runs = 0
  do {
    let depth = 0
    await run((count) => {
      path[depth] ??= { taken: 0, count }
      return path[depth++]!.taken
    })
    runs++
    while (path.length > 0 && path.at(-1)!.taken + 1 >= path.at(-1)!.count) path.pop()
    if (path.length > 0) path.at(-1)!.taken++
  } while (path.length > 0)
  return runs
}

/** Turns a list of numbers into choices; the first possibility when they are used up. */
export function chooseBy(picks: readonly number[]): Choose {
  let at = 0
  return (count) => (picks[at++] ?? 0) % count
}
