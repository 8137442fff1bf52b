import { analyze } from '@heddle/analyze'
import type { Sources } from '../suites/analyze/sources.ts'

// As the command line does it: the process is for nothing else.

export async function typed(sources: Sources): Promise<number> {
  const { findings, stats } = await analyze({ ...sources, types: 'auto', ownsProcess: true })
  if (stats.types === 'none') throw new Error('the types were lost')
  return findings.length
}

export async function untyped(sources: Sources): Promise<number> {
  const { findings } = await analyze({ ...sources, types: 'none', ownsProcess: true })
  return findings.length
}
