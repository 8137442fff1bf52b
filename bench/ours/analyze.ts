import { analyze, compileLightly } from '@heddle/analyze'
import type { Sources } from '../suites/analyze/sources.ts'

// Both compile lightly, as the command line does: their process is for nothing else.

export async function typed(sources: Sources): Promise<number> {
  compileLightly()
  const { findings, stats } = await analyze({ ...sources, types: 'auto' })
  if (stats.types === 'none') throw new Error('the types were lost')
  return findings.length
}

export async function untyped(sources: Sources): Promise<number> {
  compileLightly()
  const { findings } = await analyze({ ...sources, types: 'none' })
  return findings.length
}
