import type { Contender, Role, Round, Row } from '../../harness/row.ts'

/** The timed part of a round. Resolves when the work has ended and its outcome has been checked. */
export type Play = () => Promise<void>

/** Makes everything that is not the work itself, such as the input, and returns the work. */
export type Prepare = (size: number) => Promise<Play> | Play

function contenderOf(prepare: Prepare): Contender {
  return {
    async prepare(size): Promise<Round> {
      const play = await prepare(size)
      return () => play()
    },
  }
}

/**
 * A row whose figure is `loopGapMs`. `unit` is the unit of its seconds.
 *
 * The floor does the same work with nothing but Node: its gap shows the machine and the
 * collector.
 */
export function gapRow(
  name: string,
  unit: string,
  size: number,
  ours: () => Promise<Prepare>,
  floor?: () => Promise<Prepare>,
): Row {
  const entrant = (role: Role, load: () => Promise<Prepare>) => ({
    role,
    load: async () => contenderOf(await load()),
  })
  return {
    name,
    measure: 'rate',
    unit,
    size,
    quickSize: Math.min(size, 1000),
    warmUps: 1,
    warmUpSize: size,
    rounds: 3,
    children: 3,
    note: 'the gap of the loop is the figure',
    entrants: {
      heddle: entrant('ours', ours),
      ...(floor !== undefined && { floor: entrant('floor', floor) }),
    },
  }
}
