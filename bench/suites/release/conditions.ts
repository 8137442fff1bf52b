/** The workspace that every tool publishes, the faults, and the model of a registry. */
import type { FaultRule } from '@heddle/release/testing'

/** a ◀─ b ◀─ c and d ◀─ e, by letter. */
export const workspace: Readonly<Record<string, readonly string[]>> = {
  a: [],
  b: ['a'],
  c: ['b'],
  d: [],
  e: ['d'],
}

export const version = '1.0.0'

/** What goes wrong in the first run, or before it. The second run has no fault. */
export interface Fault {
  readonly name: string
  /** What happens to the upload of b. */
  readonly rule?: Omit<FaultRule, 'method' | 'package'>
  /** What happens to the archive of b when it is fetched. */
  readonly archive?: Pick<FaultRule, 'status' | 'body' | 'times'>
  /** Ctrl+C while the first upload is under way. */
  readonly interrupts?: true
  /** How the repository is found. */
  readonly before?: 'published-by-another-tool' | 'dirty'
  /** The second run is in another clone, and builds give other bytes each time. */
  readonly secondClone?: true
}

/** The version of b after another tool has released everything. */
export const nextVersion = '1.1.0'

/** Milliseconds that the registry takes for the upload that is interrupted. */
export const slowUpload = 5_000

export const faults: readonly Fault[] = [
  { name: 'none' },
  { name: '500 forever on b', rule: { status: 500 } },
  {
    name: '409 once on b',
    rule: {
      status: 409,
      times: 1,
      body: { error: 'Failed to save packument. A common cause is publishing too fast.' },
    },
  },
  { name: '504 after the registry took b', rule: { status: 504, afterCommit: true, times: 1 } },
  {
    name: '429 once on b',
    rule: { status: 429, headers: { 'retry-after': '1' }, times: 1 },
  },
  {
    name: 'SIGINT while b is uploaded',
    rule: { delay: slowUpload, times: 1 },
    interrupts: true,
  },
  { name: '201 for b and nothing stored', rule: { status: 201, body: { ok: true }, times: 1 } },
  { name: 'no archive of b during the first run', archive: { status: 404 } },
  { name: 'other bytes in the archive of b', archive: { status: 200, body: 'other bytes' } },
  { name: 'published by another tool', before: 'published-by-another-tool' },
  {
    name: 'b fails, then a fresh clone with other build output',
    rule: { status: 500 },
    secondClone: true,
  },
  { name: 'a dirty work tree', before: 'dirty' },
]

/** Milliseconds that one command of a tool may take. Ours keeps looking for a minute after each 500. */
export const commandLimit = 300_000

/** Milliseconds for all commands of one tool in one case. */
export const caseLimit = 3 * commandLimit

/** Releases in virtual time: packages, and milliseconds until a version shows (median). */
export const makespans = [
  { packages: 60, visibility: 10_000 },
  { packages: 300, visibility: 120_000 },
] as const

/** Milliseconds, median and exact. */
export const buildTime = 10_000
export const uploadTime = 2_000
export const concurrency = 5
/** Each a graph, builds and registry of its own; the same for every entrant. */
export const seeds = 20

/** Packages that are published without a fault and without builds, to see how long it takes. */
export const manyPackages = 150

/** A tree with four dependents for each package, and some that need a second one: five levels deep. */
export function manyNeeds(): Record<string, string[]> {
  const nameOf = (index: number): string => `p${String(index).padStart(3, '0')}`
  const needs = (index: number): number[] => [
    ...(index > 0 ? [(index - 1) >> 2] : []),
    ...(index > 4 && index % 3 === 0 ? [(index - 4) >> 3] : []),
  ]
  return Object.fromEntries(
    Array.from({ length: manyPackages }, (_, index) => [
      nameOf(index),
      [...new Set(needs(index))].map(nameOf),
    ]),
  )
}
