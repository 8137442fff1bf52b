import type { Row } from '../../harness/row.ts'
import { lintContender, memoryFigure } from './lint-contender.ts'
import { needs } from './needs.ts'
import { onePackageSources, typedSources, untypedSources } from './sources.ts'
import type { Sources } from './sources.ts'

const common = {
  measure: 'rate',
  unit: 'lines/s',
  // Every child is cold: that is how a pipeline runs it.
  warmUps: 0,
  warmUpSize: 0,
  rounds: 1,
  also: [{ name: memoryFigure, measure: 'latency', unit: 'MB' }],
} as const satisfies Partial<Row>

export const typedRow: Row = {
  ...common,
  name: 'typed, cold',
  size: 41_000,
  quickSize: 2_000,
  children: 5,
  entrants: {
    heddle: {
      role: 'ours',
      load: async () => lintContender((await import('../../ours/analyze.ts')).typed, typedSources),
      needs: [needs.corpus],
    },
    eslint: {
      role: 'peer',
      load: async () => lintContender((await import('./peers/eslint.ts')).typed, typedSources),
      needs: [needs.corpus, needs.peers],
      children: 3,
      note: 'require-atomic-updates and the typed promise rules of typescript-eslint, TypeScript 6',
    },
    oxlint: {
      role: 'peer',
      load: async () => lintContender((await import('./peers/oxlint.ts')).typed, typedSources),
      needs: [needs.corpus],
      note: '--type-aware, the typed promise rules; it has no rule for races',
    },
  },
}

/** The correctness rules that need no types, on the same sources. */
function untyped(sourcesOf: (lines: number) => Sources): Row['entrants'] {
  return {
    heddle: {
      role: 'ours',
      load: async () => lintContender((await import('../../ours/analyze.ts')).untyped, sourcesOf),
      needs: [needs.corpus],
    },
    oxlint: {
      role: 'peer',
      load: async () => lintContender((await import('./peers/oxlint.ts')).untyped, sourcesOf),
      needs: [needs.corpus],
      note: 'its correctness rules, each of which looks at one file at a time',
    },
  }
}

export const untypedRow: Row = {
  ...common,
  name: 'no types, cold',
  size: 2_000_000,
  quickSize: 2_000,
  children: 3,
  entrants: {
    ...untyped(untypedSources),
    eslint: {
      role: 'peer',
      load: async () => lintContender((await import('./peers/eslint.ts')).untyped, untypedSources),
      needs: [needs.corpus, needs.peers],
      children: 2,
      note: 'require-atomic-updates only',
    },
  },
}

export const onePackageRow: Row = {
  ...common,
  name: 'no types, one package, cold',
  size: 400_000,
  quickSize: 2_000,
  children: 3,
  entrants: untyped(onePackageSources),
}
