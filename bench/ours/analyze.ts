import { analyze } from '@heddle/analyze'
import type { Sources } from '../suites/analyze/sources.ts'

// Does what the command line does: the process has no other use.

export async function typed(sources: Sources): Promise<number> {
  const { findings, stats } = await analyze({ ...sources, types: 'auto', ownsProcess: true })
  if (stats.types === 'none') throw new Error('the types were lost')
  return findings.length
}

export async function untyped(sources: Sources): Promise<number> {
  const { findings } = await analyze({ ...sources, types: 'none', ownsProcess: true })
  return findings.length
}
