import type { Entrant, Row, Suite } from '../../harness/row.ts'

/** Answers one after the other; the figure is the slowest. */
function entrant(role: Entrant['role'], isBeside: boolean): Entrant {
  return {
    role,
    load: async () => {
      const { quickJob } = await import('../../ours/served-attempts.ts')
      return {
        prepare: async (size) => {
          const measure = await quickJob(isBeside, size)
          return async () => {
            const times = await measure()
            return () => ({ value: Math.max(...times), also: {} })
          }
        },
      }
    },
  }
}

const row: Row = {
  name: 'quick job beside one in back-off',
  measure: 'latency',
  unit: 'ms',
  size: 3,
  quickSize: 1,
  warmUps: 1,
  warmUpSize: 1,
  rounds: 3,
  children: 2,
  note: 'one slot, over HTTP, the slowest of three; the other job waits 2,000 ms for its next attempt',
  entrants: { heddle: entrant('ours', true), alone: entrant('floor', false) },
}

export const suite: Suite = {
  name: 'attempts',
  summary: 'what a served job that waits for its next attempt costs the job beside it',
  rows: [row],
}
