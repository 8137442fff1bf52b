import type { Suite } from '../../harness/row.ts'
import { faults, makespans } from './conditions.ts'
import { faultRow } from './fault-row.ts'
import { makespanRow } from './makespan/makespan-row.ts'
import { speedRow } from './speed/speed-row.ts'

export const suite: Suite = {
  name: 'release',
  summary: 'publishing a workspace while the registry misbehaves, and how long a release takes',
  rows: [...faults.map(faultRow), speedRow, ...makespans.map(makespanRow)],
  // Loaded by the bench alone: the children, which load this file too, start nothing.
  surround: async (needs, options) => (await import('./surround.ts')).surround(needs, options),
}
