import type { Proposer } from './campaign-parts.ts'
import { Spsa, type SpsaOptions } from './statistics/spsa.ts'

/** Proposes parameters by SPSA. A step is a unit of the campaign, so nothing of a draw has to be remembered (P8). */
export function spsaProposer(campaign: string, options: SpsaOptions, kept: unknown): Proposer {
  const spsa = new Spsa(options, kept === null ? undefined : (kept as { theta: number[] }).theta)
  const seedOf = (lease: number, unit: number): string => `${campaign} ${lease} ${unit}`
  return {
    propose: (lease, unit) => spsa.draw(Math.min(unit, options.steps - 1), seedOf(lease, unit)),
    learn: (lease, unit, result) =>
      spsa.learn(
        Math.min(unit, options.steps - 1),
        seedOf(lease, unit),
        scoreOf(result as number[]),
      ),
    state: () => ({ theta: spsa.theta }),
    describe: () => ({
      kind: 'spsa',
      parameters: options.parameters.map(({ name, start, min, max }, index) => ({
        name,
        start,
        min,
        max,
        value: spsa.theta[index],
      })),
    }),
  }
}

/** Wins minus losses, in games. */
function scoreOf(counts: readonly number[]): number {
  const middle = (counts.length - 1) / 2
  return counts.reduce((sum, count, index) => sum + count * (index - middle), 0)
}
