import type { Row } from '../../harness/row.ts'
import { needs } from './needs.ts'

export const watchRow: Row = {
  name: 'watch, one file edited',
  measure: 'latency',
  unit: 'ms',
  size: 41_000,
  quickSize: 2_000,
  warmUps: 0,
  warmUpSize: 0,
  rounds: 1,
  children: 3,
  note: 'From the save to the findings, without the 50 ms in which a save settles. No other tool analyses a whole program again.',
  entrants: {
    heddle: {
      role: 'ours',
      load: async () => (await import('../../ours/watch.ts')).contender,
      needs: [needs.corpus],
    },
  },
  also: [
    { name: 'a declaration edited', measure: 'latency', unit: 'ms' },
    { name: 'memory', measure: 'latency', unit: 'MB' },
  ],
}
